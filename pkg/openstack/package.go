package openstack

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/coordination"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// A change of package is a rolling update: unit by unit the stack becomes what the new package says, one update of Heat
// each, and after each the coordination server is asked whether to go on; a last update brings what belongs to no unit.
// A rollback goes back through the units in the opposite order. A unit that is the same in both packages, and needs no
// coordination, needs no update of its own. The units are the VNFCs: the VDUs in the order of vdu_params (or of the
// VNFD), the VNFCs of a VDU in that of vnfcInfo, the highest index first. VNFCs that share a resource of the template,
// as the members of a group do, are one unit; Heat rolls its members by the group's own policy.

// changePackage brings a stack to the new package, and returns it.
func (t *tick) changePackage(ctx context.Context) (stack.Desired, error) {
	p, err := coordination.ParamsOf(t.w.Op.Params)
	if err != nil {
		return nil, err
	}
	if err := t.images().Provide(ctx, changedImages(t.w, p)); err != nil {
		return nil, err
	}
	if err := t.assemble(ctx); err != nil {
		return nil, err
	}
	r, err := t.rollout(&t.part, p)
	if err != nil {
		return nil, err
	}
	for i, u := range r.units {
		// the last update says so much to Heat as one of its own would
		if r.mix.Untouched(u.resources) && !u.params.New.Coordinates() {
			continue
		}
		if err := t.updateUnit(ctx, r, i, i+1, modeChange); err != nil {
			return nil, err
		}
		if err := t.coordinator().Coordinate(ctx, u.coordinated(), u.params.New, false); err != nil {
			return nil, err
		}
	}
	last := t.marked(r, r.next, marker{mode: modeChange, units: len(r.units) + 1})
	return always(r.next), t.stack.Update(ctx, t.stack.Name(), last, nil)
}

// restorePackage brings a stack back to the package that it had, and returns it.
func (t *tick) restorePackage(ctx context.Context) (stack.Desired, error) {
	p, err := coordination.ParamsOf(t.w.Op.Params)
	if err != nil {
		return nil, err
	}
	r, err := t.rollout(&t.part, p)
	if err != nil {
		return nil, err
	}
	st, err := t.stack.Present(ctx)
	if err != nil {
		return nil, err
	}
	was := markerOf(st, t.w.Op.ID)
	from, way := was.progress(len(r.units)), was.back()
	if st.Failed() && way == modeRollback && was.try != t.w.Op.Try { // the user knows why it failed, and goes on
		if r.recreate, err = t.recreated(ctx); err != nil {
			return nil, err
		}
		if len(r.recreate) > 0 {
			way = modeRecreate
		}
	}
	if from == 0 {
		err = t.stack.Update(ctx, t.stack.Name(), t.marked(r, r.old, marker{mode: modeUndo}), nil)
	}
	for i := from - 1; i >= 0 && err == nil; i-- {
		if way, err = t.revertUnit(ctx, r, i, way); err == nil {
			err = t.coordinator().Coordinate(ctx, r.units[i].coordinated(), r.units[i].params.Old, true)
		}
	}
	return always(r.old), err
}

// always is the desired state that is this stack.
func always(s *userdata.Stack) stack.Desired {
	return func(context.Context) (*userdata.Stack, error) { return s, nil }
}

// revertUnit takes unit i back, and returns the way of the next one.
func (t *tick) revertUnit(ctx context.Context, r *rollout, i int, way string) (next string, err error) {
	err = t.updateUnit(ctx, r, i, i, way)
	if again := r.recreateMode(r.units[i], way, shrinking(ctx, err)); again != "" {
		if r.recreate, err = t.recreated(ctx); err != nil {
			return way, err
		}
		way = again
		err = t.updateUnit(ctx, r, i, i, way)
	}
	if err != nil {
		if way == modeRollback && shrinking(ctx, err) != "" {
			err = lcm.AsError(err).WithHint(
				"no resource shrinks in place: roll the operation back once more, and resources that cannot shrink " +
					"are recreated, without the data on them",
			)
		}
		return way, err
	}
	r.recreate = nil
	switch way {
	case modeRecreate:
		return modeAnnounced, nil
	case modeRecreateDisk:
		return modeRollback, nil
	}
	return way, nil
}

// rollout is what a change of package goes through.
type rollout struct {
	desired   desired // with the new package
	former    desired // with the package before
	old, next *userdata.Stack
	mix       *userdata.Mix
	units     []unit
	// recreate are the resources that a rollback recreates because they cannot shrink.
	recreate []replacement
}

// unit is what is changed by one update.
type unit struct {
	params coordination.VDUParams
	// name is that of the template's resource or, for VNFCs that share some, of the VDU.
	Name string
	// vnfcs are the vnfcInfo ids that its VNFCs had before the operation.
	VNFCs []string
	// resources are the top-level resources of the template.
	resources []string
}

// coordinated is the unit as it is coordinated.
func (u unit) coordinated() coordination.Unit {
	return coordination.Unit{Name: u.Name, VDU: u.params.VDU, VNFCs: u.VNFCs}
}

func (t *tick) coordinator() *coordination.Coordinator {
	return &coordination.Coordinator{
		Cloud: t.cloud, Execution: t.w, Stack: t.stack, Scripts: t.cfg.Scripts, Process: t.uploads.ID(),
		NodeAlive: t.cfg.NodeAlive, PublicURL: t.cfg.PublicURL, CallTimeout: t.cfg.RequestTimeout,
		Transport: t.cfg.vims().Transport,
	}
}

// rollout computes the two ends and the units between. It depends on the operation alone, not on how far it is.
func (d *Driver) rollout(s *part, p coordination.Params) (*rollout, error) {
	w := s.w
	g, err := d.desiredAt(s)
	if err != nil {
		return nil, err
	}
	r := rollout{desired: g}
	if r.next, err = d.build(g); err != nil {
		return nil, err
	}
	if r.former, err = d.previousAt(s); err != nil {
		return nil, err
	}
	if r.old, err = d.build(r.former); err != nil {
		return nil, err
	}
	if r.mix, err = userdata.NewMix(r.old, r.next); err != nil {
		return nil, g.packageFault(err)
	}
	before := w.Instance
	if w.Op.Before != nil {
		before = w.Op.Before
	}
	for _, t := range p.Targets(g.flavour) {
		r.units = append(r.units, r.unitsOf(before, t)...)
	}
	return &r, nil
}

// unitsOf are the units of a VDU.
func (r *rollout) unitsOf(before *lcm.Instance, t coordination.VDUParams) []unit {
	var out []unit
	shared := unit{params: t, Name: t.VDU}
	for _, c := range before.Instantiated.VnfcInfo {
		if c.VduID != t.VDU {
			continue
		}
		_, res, _ := before.VNFC(c.ID)
		index, numbered := res.Metadata["vdu_idx"].(float64)
		name := fmt.Sprintf("%s-%d", t.VDU, int(index))
		if !numbered || !r.mix.Has(name) {
			shared.VNFCs = append(shared.VNFCs, c.ID)
			continue
		}
		out = append(out, unit{params: t, Name: name, VNFCs: []string{c.ID}, resources: []string{name}})
	}
	if len(shared.VNFCs) > 0 {
		shared.resources = r.mix.Holding(t.VDU)
		out = append(out, shared)
	}
	return out
}

// mixed is the stack in which the first n units are new.
func (r *rollout) mixed(n int) (*userdata.Stack, error) {
	var resources []string
	for _, u := range r.units[:n] {
		resources = append(resources, u.resources...)
	}
	return r.mix.Stack(resources)
}

// updateUnit updates the stack to the state in which the first n units are new: unit i is the one that changes.
func (t *tick) updateUnit(ctx context.Context, r *rollout, i, n int, mode string) error {
	u := r.units[i]
	target := fmt.Sprintf("%s (%d of %d)", u.Name, i+1, len(r.units))
	recreates := mode == modeRecreate || mode == modeRecreateDisk
	if recreates {
		target += ", anew"
	}
	return t.stack.Update(ctx, target, func(ctx context.Context) (*userdata.Stack, error) {
		s, err := r.mixed(n)
		if err != nil {
			return nil, err
		}
		return t.marked(r, s, marker{mode: mode, units: n})(ctx)
	}, func(ctx context.Context) error {
		if recreates || r.mix.Remade(u.resources) { // other machines, with host keys of their own
			t.w.ForgetVNFCs(u.VNFCs...)
		}
		if r.former.class != userdata.Standard { // members that an update which failed has added are to go
			if err := t.shrinkGroups(ctx, r.former, nil); err != nil {
				return err
			}
		}
		if len(r.recreate) == 0 {
			return nil
		}
		return t.markUnhealthy(ctx, r.recreate)
	})
}

// marked is a stack as it is sent: with the note by which a rollback finds out how far the operation came, and with its
// VNFCs in the zones to which an earlier update of the operation had to move them.
func (t *tick) marked(r *rollout, s *userdata.Stack, n marker) stack.Desired {
	n.try = t.w.Op.Try
	return func(ctx context.Context) (*userdata.Stack, error) {
		st, err := t.stack.Present(ctx)
		if err != nil {
			return nil, err
		}
		now, _, err := t.stackParameters(ctx, st, r.desired)
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

// overridableByPackage says which leaves a change of package decides again for existing VNFCs: what the VDUs that are
// changed are made from, and what the VNFCs of others have not had; beside those of connection points.
func overridableByPackage(g desired, params json.RawMessage) (userdata.Fresh, error) {
	p, err := coordination.ParamsOf(params)
	if err != nil {
		return nil, err
	}
	cps := g.overridable
	held, _ := g.nfv["VDU"].(map[string]any)
	return func(kind, name, leaf string) bool {
		if kind != "VDU" {
			return cps(kind, name, leaf)
		}
		if !userdata.IsLeaf(leaf, userdata.LeafFlavour) && !userdata.IsLeaf(leaf, userdata.LeafImage) &&
			leaf != userdata.LeafSnapshot {
			return false
		}
		leaves, _ := held[name].(map[string]any)
		if _, has := leaves[leaf]; !has {
			return true
		}
		node, _, _ := userdata.SplitIndex(name)
		return p.Targeted(g.flavour, name) || p.Targeted(g.flavour, node)
	}, nil
}

// badPackage finds what is wrong with how the package is to be changed.
func (d *Driver) badPackage(r lcm.Request) ([]lcm.InvalidParam, error) {
	p, err := coordination.ParamsOf(r.Params)
	if err != nil {
		return nil, nil //nolint:nilerr // the assembly of the stack reports it
	}
	bad := p.Check(r, d.cfg.Scripts)
	w := planned(r)
	g, err := d.desiredOf(&part{w: w, whole: w})
	if err != nil {
		return bad, nil //nolint:nilerr // likewise
	}
	former, err := d.previousOf(w)
	if err != nil {
		return nil, err
	}
	if g.choice().differs(former.choice()) {
		bad = append(
			bad, lcm.InvalidParam{Pointer: "/additionalParams/lcm-operation-user-data-class", Detail: fmt.Sprintf(
				"the VNF was made with %s; a change of the package cannot go from there to %s", former.choice(),
				g.choice(),
			)})
	}
	return bad, nil
}
