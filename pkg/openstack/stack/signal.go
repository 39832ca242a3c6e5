package stack

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

// Packages in the style of SOL003's first API have groups of a constant size, and scaling policies for them. Such a
// group is scaled as its package means it, by signals. Heat answers a signal alike whether it obeys or not, and forgets
// what it does not obey; so a signal is sent once, to a group at rest of which it is known what it will do, and what
// comes of it is looked at. Whatever is left, everything if need be, is done by the update that follows, which also
// makes the new size that of the template.

// signalling is the checkpoint of the step that signals a policy; it is durable before each signal.
type signalling struct {
	Try   int       `json:"try"`   // the operation's try that signals; a later one leaves it to the update
	Size  int       `json:"size"`  // members when the last signal was sent
	Since time.Time `json:"since"` // when that was
	Sent  int       `json:"sent"`  // signals, the last included
	// Seen is when the last signal was first seen to be obeyed.
	Seen time.Time `json:"seen,omitzero"`
}

// ignoredAfter is how long a group may stay as it is before a signal counts as ignored.
const ignoredAfter = 10 * time.Second

// Signal scales a group by signals to its policy, as far as that goes, as a durable step of the phase. victims are the
// names of the members that are to go.
func (w *Worker) Signal(ctx context.Context, p hot.Policy, size int, victims map[string]bool) error {
	return w.Execution.Step(ctx, "signal scaling policy", p.Name, func(ctx context.Context, s *lcm.Step) error {
		return w.signal(ctx, s, p, size, victims)
	})
}

// observation is the group of a policy as it is, with the size that it is to have and the members that are to go.
type observation struct {
	policy     hot.Policy
	size       int
	victims    map[string]bool
	top, group *cloud.Stack
	members    []cloud.Resource
	last       signalling
	since      time.Duration // since the last signal
}

func (o *observation) String() string {
	return fmt.Sprintf("group %s has %d of %d members", o.policy.Group, len(o.members), o.size)
}

func (o *observation) busy() bool { return o.top.InProgress() || o.group.InProgress() }

func (o *observation) complete() bool { return len(o.members) == o.size && !o.group.Failed() }

// unanswered says that the group is as it was when the last signal was sent.
func (o *observation) unanswered() bool {
	return o.last.Sent > 0 && len(o.members) == o.last.Size
}

// decide returns how long to wait and for what, or why the rest is left to the update; zero values mean that a signal
// is sent.
func (o *observation) decide(try int, limit time.Duration) (wait time.Duration, what, leave string) {
	retried := o.last.Try != 0 && o.last.Try != try
	switch {
	case o.busy() && (o.last.Sent == 0 || o.since < limit):
		return max(cloud.Pace(o.since), cloud.ShortLook), o.String() + ", " + o.group.Status, ""
	case o.busy():
		return 0, "", "Heat seems to have forgotten it"
	case retried:
		return 0, "", "the operation was retried"
	case o.unanswered() && o.since < ignoredAfter:
		return cloud.ShortLook, "waiting for Heat to obey the signal to " + o.policy.Name, ""
	case o.unanswered():
		return 0, "", "Heat has ignored the signal to " + o.policy.Name
	case o.last.Sent > 0 && o.policy.Cooldown:
		return 0, "", o.policy.Name + " has a cooldown"
	}
	return 0, "", o.unfit()
}

// signal observes the group of a policy that is to have size members, and sends a signal where that is right.
func (w *Worker) signal(ctx context.Context, s *lcm.Step, p hot.Policy, size int, victims map[string]bool) error {
	var cp signalling
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	top, err := w.Present(ctx)
	if err != nil {
		return err
	}
	group, members, err := w.group(ctx, top, p.Group)
	if err != nil {
		return err
	}

	now := w.now()
	o := &observation{
		policy: p, size: size, victims: victims, top: top, group: group, members: members, last: cp,
		since: now.Sub(cp.Since),
	}
	try := w.Execution.Op.Try
	if !o.busy() && (cp.Try == 0 || cp.Try == try) && o.complete() {
		s.Detail(o.String())
		return nil
	}
	wait, what, leave := o.decide(try, w.Timeout+Overrun)
	if wait > 0 {
		return lcm.Wait(wait, what)
	}
	if leave != "" {
		s.Detail(o.String() + "; the rest is for the update: " + leave)
		return nil
	}

	if cp.Sent > 0 && cp.Seen.IsZero() {
		cp.Seen = now
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	if rest := SignalRest - now.Sub(cp.Seen); cp.Sent > 0 && rest > 0 {
		return lcm.Wait(rest, o.String())
	}
	return w.sendSignal(ctx, s, o)
}

// sendSignal sends one signal. It is recorded before that, because Heat's answer does not show whether it obeys.
func (w *Worker) sendSignal(ctx context.Context, s *lcm.Step, o *observation) error {
	err := s.Save(ctx, signalling{Try: w.Execution.Op.Try, Size: len(o.members), Since: w.now(), Sent: o.last.Sent + 1})
	if err != nil {
		return err
	}
	err = w.Cloud.SignalResource(ctx, o.top, o.policy.Name)
	// the role may not signal, or the policy was removed: no retry would help
	if cloud.Refused(err) || cloud.NotFound(err) || cloud.Conflict(err) {
		s.Logf(ctx, lcm.AsError(err).Detail)
		s.Detail(o.String() + "; the rest is for the update: Heat refuses the signal to " + o.policy.Name)
		return nil
	}
	if err != nil {
		return err
	}
	return lcm.Wait(cloud.Pace(0), "signalled "+o.policy.Name)
}

// unfit says why a signal would not do what the operation wants; "" when it would.
func (o *observation) unfit() string {
	left := o.size - len(o.members)
	step := o.policy.Adjustment
	switch {
	case o.group.ID == "":
		return "the stack has no such group"
	case o.top.Failed() || o.group.Failed():
		return "the stack has failed before"
	case slices.ContainsFunc(o.members, cloud.Resource.Failed): // it would not be counted, and be the first to go
		return "a member has failed"
	case left%step != 0 || left/step < 0:
		return fmt.Sprintf("%s adds %d", o.policy.Name, step)
	}
	for _, m := range o.members[:max(-step, 0)] {
		if !o.victims[m.Name] {
			return "Heat would take " + m.Name
		}
	}
	return ""
}

// group reads the stack of the members of a scaling group, and its members in the order in which Heat takes away those
// that have not failed: the oldest first. The stack's ID is "" when there is no such group.
func (w *Worker) group(ctx context.Context, top *cloud.Stack, name string) (*cloud.Stack, []cloud.Resource, error) {
	all, err := w.Cloud.ListResources(ctx, top)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(
		all, func(r cloud.Resource) bool { return r.Name == name && r.Owner().ID == top.ID && r.Nested().ID != "" },
	)
	if at < 0 {
		return &cloud.Stack{}, nil, nil
	}
	in := all[at].Nested()
	members := slices.DeleteFunc(
		all, func(r cloud.Resource) bool { return r.Owner().ID != in.ID || r.Status == "DELETE_COMPLETE" },
	)
	slices.SortFunc(members, cloud.RemovedFirst)
	st, err := w.Cloud.ReadStack(ctx, in)
	return st, members, err
}
