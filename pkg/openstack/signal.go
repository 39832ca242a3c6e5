package openstack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Packages in the style of SOL003's first API have groups of a constant size, and scaling policies for them. Such a group is scaled as its package means it, by
// signals. Heat answers a signal alike whether it obeys or not, and forgets what it does not obey; so a signal is sent once, to a group at rest of which
// it is known what it will do, and what comes of it is looked at. Whatever is left, everything if need be, is done by the update that follows,
// which also makes the new size that of the template.

// signalling is the checkpoint of the step that signals a policy; it is durable before each signal.
type signalling struct {
	Try   int       `json:"try"`   // the operation's try that signals; a later one leaves it to the update
	Size  int       `json:"size"`  // members when the last signal was sent
	Since time.Time `json:"since"` // when that was
	Sent  int       `json:"sent"`  // signals, the last included
	// Seen is when the last signal was first seen to be obeyed.
	Seen time.Time `json:"seen,omitzero"`
}

const (
	// ignoredAfter is how long a group may stay as it is before a signal counts as ignored.
	ignoredAfter = 10 * time.Second
	// restBetween is how long a group rests between signals: Heat goes on ignoring them for a moment after it is done.
	restBetween = 2 * time.Second
)

// policies are those by which the operation scales, by VDU.
func (j *job) policies(g goal) (map[string]*hot.Policy, error) {
	if j.w.Op.Type != sol.LcmOperationScale || g.class == userdata.Standard {
		return nil, nil
	}
	for _, p := range g.patches { // of another nfv members are made anew: the update does both at once
		if _, ok := p["nfv"]; ok {
			return nil, nil
		}
	}
	b, err := j.templates.Load(g.files, g.flavour.ID)
	if err != nil {
		return nil, g.packageFault(err)
	}
	out := map[string]*hot.Policy{}
	for _, v := range g.flavour.VDUs {
		if p := b.Policy(v.Name, g.counts[v.Name]-g.had[v.Name]); p != nil {
			out[v.Name] = p
		}
	}
	return out, nil
}

// signalled scales groups by signals, as far as that goes.
func (j *job) signalled(ctx context.Context, g goal, remove []string) error {
	policies, err := j.policies(g)
	if err != nil {
		return err
	}
	for _, vdu := range slices.Sorted(maps.Keys(policies)) {
		p := policies[vdu]
		err := j.w.Step(ctx, "signal scaling policy", p.Name, func(ctx context.Context, s *lcm.Step) error {
			return j.signal(ctx, s, *p, g.counts[vdu], remove)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// signal is one look at a policy's group that shall have size members, and what follows from it.
func (j *job) signal(ctx context.Context, s *lcm.Step, p hot.Policy, size int, remove []string) error {
	var cp signalling
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	top, err := j.presentStack(ctx)
	if err != nil {
		return err
	}
	group, members, err := j.group(ctx, top, p.Group)
	if err != nil {
		return err
	}
	now := j.w.Clock.Now()
	since := now.Sub(cp.Since)
	has := fmt.Sprintf("group %s has %d of %d members", p.Group, len(members), size)
	var why string
	switch {
	case top.inProgress() || group.inProgress():
		if cp.Sent == 0 || since < j.cfg.StackTimeout+overrun {
			return lcm.Wait(max(pace(since), shortLook), has+", "+group.Status)
		}
		why = "Heat seems to have forgotten it"
	case cp.Try != 0 && cp.Try != j.w.Op.Tries:
		why = "the operation was retried"
	case len(members) == size && !group.failed():
		s.Detail(has)
		return nil
	case cp.Sent > 0 && len(members) == cp.Size && since < ignoredAfter:
		return lcm.Wait(shortLook, "waiting for Heat to obey the signal to "+p.Name)
	case cp.Sent > 0 && len(members) == cp.Size:
		why = "Heat has ignored the signal to " + p.Name
	case cp.Sent > 0 && p.Cooldown:
		why = p.Name + " has a cooldown"
	default:
		why = j.unfit(top, group, members, p, size, remove)
	}
	if why != "" {
		s.Detail(has + "; the rest is for the update: " + why)
		return nil
	}
	if cp.Sent > 0 && cp.Seen.IsZero() {
		cp.Seen = now
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	if rest := restBetween - now.Sub(cp.Seen); cp.Sent > 0 && rest > 0 {
		return lcm.Wait(rest, has)
	}
	if err := s.Save(ctx, signalling{Try: j.w.Op.Tries, Size: len(members), Since: now, Sent: cp.Sent + 1}); err != nil {
		return err
	}
	err = j.do(ctx, call{
		what: "signal " + p.Name + " of stack " + top.Name, service: heat, method: http.MethodPost,
		path: "/stacks/" + segment(top.Name) + "/" + segment(top.ID) + "/resources/" + segment(p.Name) + "/signal",
	})
	if refused(err) || notFound(err) || conflict(err) { // the role may not signal, or somebody has taken the policy away: no retry would help
		s.Logf(ctx, lcm.AsError(err).Detail)
		s.Detail(has + "; the rest is for the update: Heat refuses the signal to " + p.Name)
		return nil
	}
	if err != nil {
		return err
	}
	return lcm.Wait(pace(0), "signalled "+p.Name)
}

// unfit says why a signal would not do what the operation wants; "" when it would.
func (j *job) unfit(top, group *stack, members []resource, p hot.Policy, size int, remove []string) string {
	left := size - len(members)
	switch {
	case group.ID == "":
		return "the stack has no such group"
	case top.failed() || group.failed():
		return "the stack has failed before"
	case slices.ContainsFunc(members, resource.failed): // it would not be counted, and be the first to go
		return "a member has failed"
	case left%p.Adjustment != 0 || left/p.Adjustment < 0:
		return fmt.Sprintf("%s adds %d", p.Name, p.Adjustment)
	}
	goes := memberNames(j.before(), remove)
	for _, m := range members[:max(-p.Adjustment, 0)] {
		if !goes[m.Name] {
			return "Heat would take " + m.Name
		}
	}
	return ""
}

// group reads the stack of the members of a scaling group, and its members in the order in which Heat takes away those that have not failed: the oldest
// first. The stack's ID is "" when there is no such group.
func (j *job) group(ctx context.Context, top *stack, name string) (*stack, []resource, error) {
	all, err := j.listResources(ctx, top)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(all, func(r resource) bool { return r.Name == name && r.owner().ID == top.ID && r.nested().ID != "" })
	if at < 0 {
		return &stack{}, nil, nil
	}
	in := all[at].nested()
	members := slices.DeleteFunc(all, func(r resource) bool { return r.owner().ID != in.ID || r.Status == "DELETE_COMPLETE" })
	slices.SortFunc(members, firstToGo)
	st, err := j.readStack(ctx, in)
	return st, members, err
}

// firstToGo compares members of a scaling group, that which Heat takes away before the other first.
func firstToGo(a, b resource) int {
	return cmp.Or(a.created().Compare(b.created()), strings.Compare(a.Name, b.Name))
}

// memberNames are the names of the members of groups that VNFCs are.
func memberNames(i *lcm.Instance, vnfcs []string) map[string]bool {
	out := map[string]bool{}
	for _, id := range vnfcs {
		_, r, _ := i.VNFC(id)
		if name, ok := r.Metadata["parent_resource_name"].(string); ok {
			out[name] = true
		}
	}
	return out
}

// signalledVDUs are the VDUs whose groups are scaled in by signals. Those whose VNFCs have names of the user's are not: names go by index, and each would pass on to
// another VNFC when the oldest goes.
func (j *job) signalledVDUs(g goal) map[string]bool {
	out := map[string]bool{}
	b, err := j.templates.Load(g.files, g.flavour.ID)
	if err != nil || g.class == userdata.Standard { // a package without templates has no groups
		return out
	}
	named := vnfcIDs(j.w.Instance)
	for _, v := range g.flavour.VDUs {
		if len(named[v.Name]) == 0 && b.Policy(v.Name, -1) != nil {
			out[v.Name] = true
		}
	}
	return out
}

// signalledGroups says whether the operation may have sent signals, and finds the stack of a group that Heat works on; nil when there is none.
func (j *job) signalledGroups(ctx context.Context, top *stack) (signals bool, busy *stack, err error) {
	if j.w.Op.Type != sol.LcmOperationScale || top.inProgress() {
		return false, nil, nil
	}
	g, err := j.goalOf(j.w)
	if err != nil {
		return false, nil, err
	}
	policies, err := j.policies(g)
	for _, p := range policies {
		st, _, err := j.group(ctx, top, p.Group)
		if err != nil || st.inProgress() {
			return true, st, err
		}
	}
	return len(policies) > 0, nil, err
}
