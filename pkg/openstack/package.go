package openstack

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// A change of package is a rolling update: unit by unit the stack becomes what the new package says, one update of Heat each, and after each the
// coordination server is asked whether to go on; a last update brings what belongs to no unit. A rollback goes back through the units in the
// opposite order. A unit that is the same in both packages, and about which nobody is asked, needs no update of its own. The units are the
// VNFCs: the VDUs in the order of vdu_params (or of the VNFD), the VNFCs of a VDU in that of vnfcInfo, the highest index first. VNFCs that share
// a resource of the template, as the members of a group do, are one unit; Heat rolls its members by the group's own policy.

// changePackage brings the instance to the new package.
func (j *job) changePackage(ctx context.Context) error {
	p, err := packageParamsOf(j.w.Op.Params)
	if err != nil {
		return err
	}
	if err := j.provide(ctx, changedImages(j.w, p)); err != nil {
		return err
	}
	r, err := j.rollout(j.w, p)
	if err != nil {
		return err
	}
	for i, u := range r.units {
		if r.mix.Untouched(u.resources) && !u.params.New.coordinates() { // the last update says so much to Heat as one of its own would
			continue
		}
		if err := j.rolled(ctx, r, i, i+1, wayOn); err != nil {
			return err
		}
		if err := j.coordinated(ctx, u, u.params.New, false); err != nil {
			return err
		}
	}
	if err := j.stackUpdated(ctx, j.stackName(), j.noted(r, r.next, note{way: wayOn, n: len(r.units) + 1}), nil); err != nil {
		return err
	}
	return j.pruned(ctx, r.next)
}

// restorePackage brings the instance back to the package that it had.
func (j *job) restorePackage(ctx context.Context) error {
	p, err := packageParamsOf(j.w.Op.Params)
	if err != nil {
		return err
	}
	r, err := j.rollout(j.w, p)
	if err != nil {
		return err
	}
	st, err := j.presentStack(ctx)
	if err != nil {
		return err
	}
	was := noteOf(st, j.w.Op.ID)
	from, way := was.progress(len(r.units)), was.back()
	if st.failed() && way == wayBack && was.try != j.w.Op.Tries { // the user has been told why it failed, and goes on
		if r.shrunk, err = j.madeAnew(ctx); err != nil {
			return err
		}
		if len(r.shrunk) > 0 {
			way = wayAnew
		}
	}
	if from == 0 {
		err = j.stackUpdated(ctx, j.stackName(), j.noted(r, r.old, note{way: wayNone}), nil)
	}
	for i := from - 1; i >= 0 && err == nil; i-- {
		if way, err = j.rolledBack(ctx, r, i, way); err == nil {
			err = j.coordinated(ctx, r.units[i], r.units[i].params.Old, true)
		}
	}
	if err != nil {
		return err
	}
	return j.pruned(ctx, r.old)
}

// rolledBack takes unit i back, and returns the way of the next one.
func (j *job) rolledBack(ctx context.Context, r *rollout, i int, way string) (next string, err error) {
	err = j.rolled(ctx, r, i, i, way)
	if again := r.anew(r.units[i], way, shrinking(ctx, err)); again != "" {
		if r.shrunk, err = j.madeAnew(ctx); err != nil {
			return way, err
		}
		way = again
		err = j.rolled(ctx, r, i, i, way)
	}
	if err != nil {
		if way == wayBack && shrinking(ctx, err) != "" {
			err = lcm.AsError(err).WithHint("nothing is made smaller in place: roll the operation back once more, and what cannot be made smaller is made anew, without what is stored on it")
		}
		return way, err
	}
	r.shrunk = nil
	switch way {
	case wayAnew:
		return wayTold, nil
	case wayDisk:
		return wayBack, nil
	}
	return way, nil
}

// rollout is what a change of package goes through.
type rollout struct {
	goal      goal
	old, next *userdata.Stack
	mix       *userdata.Mix
	units     []unit
	// shrunk are what a rollback makes anew, because it cannot be made smaller.
	shrunk []patient
}

// unit is what is changed by one update.
type unit struct {
	params vduParams
	// name is that of the template's resource or, for VNFCs that share some, of the VDU.
	name string
	// vnfcs are the vnfcInfo ids that its VNFCs had before the operation.
	vnfcs []string
	// resources are the top-level resources of the template.
	resources []string
}

// rollout computes the two ends and the units between. It depends on the operation alone, not on how far it is.
func (d *Driver) rollout(w *lcm.Work, p packageParams) (*rollout, error) {
	g, err := d.goalOf(w)
	if err != nil {
		return nil, err
	}
	r := rollout{goal: g}
	if r.next, err = d.build(g); err != nil {
		return nil, err
	}
	former, err := d.formerGoal(w)
	if err != nil {
		return nil, err
	}
	if r.old, err = d.build(former); err != nil {
		return nil, err
	}
	if r.mix, err = userdata.NewMix(r.old, r.next); err != nil {
		return nil, g.packageFault(err)
	}
	before := w.Instance
	if w.Op.Before != nil {
		before = w.Op.Before
	}
	for _, t := range p.targets(g.flavour) {
		r.units = append(r.units, r.unitsOf(before, t)...)
	}
	return &r, nil
}

// unitsOf are the units of a VDU.
func (r *rollout) unitsOf(before *lcm.Instance, t vduParams) []unit {
	var out []unit
	shared := unit{params: t, name: t.VDU}
	for _, c := range before.Instantiated.VnfcInfo {
		if c.VduID != t.VDU {
			continue
		}
		_, res, _ := before.VNFC(c.ID)
		index, numbered := res.Metadata["vdu_idx"].(float64)
		name := fmt.Sprintf("%s-%d", t.VDU, int(index))
		if !numbered || !r.mix.Has(name) {
			shared.vnfcs = append(shared.vnfcs, c.ID)
			continue
		}
		out = append(out, unit{params: t, name: name, vnfcs: []string{c.ID}, resources: []string{name}})
	}
	if len(shared.vnfcs) > 0 {
		shared.resources = r.mix.Holding(t.VDU)
		out = append(out, shared)
	}
	return out
}

// stack is the stack in which the first n units are new.
func (r *rollout) stack(n int) (*userdata.Stack, error) {
	var resources []string
	for _, u := range r.units[:n] {
		resources = append(resources, u.resources...)
	}
	return r.mix.Stack(resources)
}

// rolled updates the stack to the state in which the first n units are new: unit i is the one that changes.
func (j *job) rolled(ctx context.Context, r *rollout, i, n int, way string) error {
	u := r.units[i]
	target := fmt.Sprintf("%s (%d of %d)", u.name, i+1, len(r.units))
	anew := way == wayAnew || way == wayDisk
	if anew {
		target += ", anew"
	}
	return j.stackUpdated(ctx, target, func(ctx context.Context) (*userdata.Stack, error) {
		s, err := r.stack(n)
		if err != nil {
			return nil, err
		}
		return j.noted(r, s, note{way: way, n: n})(ctx)
	}, func(ctx context.Context) error {
		if anew || r.mix.Remade(u.resources) { // other machines, with host keys of their own
			j.w.ForgetVNFCs(u.vnfcs...)
		}
		if len(r.shrunk) == 0 {
			return nil
		}
		return j.markUnhealthy(ctx, r.shrunk)
	})
}

// noted is a stack as it is sent: with the note by which a rollback finds out how far the operation came, and with its VNFCs in the zones to
// which an earlier update of the operation had to move them.
func (j *job) noted(r *rollout, s *userdata.Stack, n note) wanted {
	n.try = j.w.Op.Tries
	return func(ctx context.Context) (*userdata.Stack, error) {
		st, err := j.presentStack(ctx)
		if err != nil {
			return nil, err
		}
		now, _, err := j.stackParameters(ctx, st, r.goal)
		if err != nil {
			return nil, err
		}
		c := *s
		c.Note = n.String()
		moved := map[string]any{}
		for key, zone := range zonesIn(s.NFV) {
			if is := zonesIn(now)[key]; is != "" && is != zone && zone == zonesIn(r.old.NFV)[key] {
				moved[key] = map[string]any{"locationConstraints": is}
			}
		}
		c.NFV, _ = lcm.MergePatch(s.NFV, map[string]any{"VDU": moved}).(map[string]any)
		return &c, nil
	}
}

// zonesIn are the zones in nfv, by the names below nfv.VDU.
func zonesIn(nfv map[string]any) map[string]string {
	out := map[string]string{}
	vdus, _ := nfv["VDU"].(map[string]any)
	for key, e := range vdus {
		leaves, _ := e.(map[string]any)
		if zone, ok := leaves["locationConstraints"].(string); ok {
			out[key] = zone
		}
	}
	return out
}

// freshPackage says which leaves a change of package decides anew for VNFCs that are there: what the VDUs that are changed are made from, and
// what the VNFCs of others have not had; beside those of connection points.
func freshPackage(g goal, params json.RawMessage) (userdata.Fresh, error) {
	p, err := packageParamsOf(params)
	if err != nil {
		return nil, err
	}
	cps := g.fresh
	held, _ := g.nfv["VDU"].(map[string]any)
	return func(kind, name, leaf string) bool {
		if kind != "VDU" {
			return cps(kind, name, leaf)
		}
		if !userdata.IsLeaf(leaf, userdata.LeafFlavour) && !userdata.IsLeaf(leaf, userdata.LeafImage) {
			return false
		}
		leaves, _ := held[name].(map[string]any)
		if _, has := leaves[leaf]; !has {
			return true
		}
		m := trailingIndex.FindStringSubmatch(name)
		return p.targeted(g.flavour, name) || m != nil && p.targeted(g.flavour, m[1])
	}, nil
}

// badPackage finds what is wrong with how the package is to be changed.
func (d *Driver) badPackage(r lcm.Request) ([]lcm.InvalidParam, error) {
	p, err := packageParamsOf(r.Params)
	if err != nil {
		return nil, nil //nolint:nilerr // whoever assembles the stack reports it
	}
	bad := p.check(r, d.cfg.Scripts != nil)
	g, err := d.goalOf(planned(r))
	if err != nil {
		return bad, nil //nolint:nilerr // likewise
	}
	former, err := d.formerGoal(planned(r))
	if err != nil {
		return nil, err
	}
	if g.class != former.class {
		bad = append(bad, lcm.InvalidParam{Pointer: "/additionalParams/lcm-operation-user-data-class", Detail: fmt.Sprintf(
			"the VNF was made with %s; a change of the package cannot go from there to %s", former.class, g.class,
		)})
	}
	return bad, nil
}
