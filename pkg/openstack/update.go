package openstack

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// effort is the checkpoint of a step that updates a stack. It is durable before Heat is told anything.
type effort struct {
	// Token is the tag that the stack carries as soon as Heat has accepted the update: who finds it knows that it was sent.
	Token string `json:"token,omitempty"`
	// Try is the operation's try that the token belongs to: a failure of an earlier one is no reason to stop.
	Try int `json:"try,omitempty"`
	// Since is when it was sent; it sets the pace of looking.
	Since time.Time `json:"since,omitzero"`
	// Twice is set before it is sent again, because nothing was seen of it: Heat may yet have got it twice.
	Twice bool `json:"twice,omitempty"`
	// Zones are those that were chosen because the granted ones had no room.
	Zones zoneChoice `json:"zones,omitzero"`
}

// cutOff is what Heat says of an update of a nested stack that another update of the stack around it has overtaken.
var cutOff = regexp.MustCompile(`(?i)update cancelled`)

// overtaken says whether the stack has failed only because Heat had the same update twice: the second cancels what the first does in nested
// stacks, which now and then is taken for a failure of the second. One more update finds nothing under way.
func (e effort) overtaken(st *stack) bool {
	return e.Twice && st.failed() && cutOff.MatchString(st.Reason)
}

// wanted makes the stack that a step leads to; it is called anew for every request.
type wanted func(context.Context) (*userdata.Stack, error)

// in is what is wanted, in the zones that were chosen.
func (w wanted) in(ctx context.Context, z zoneChoice) (*userdata.Stack, error) {
	s, err := w(ctx)
	if err != nil {
		return nil, err
	}
	z.apply(s)
	return s, nil
}

// nextEffort is one more update, by which the operation's present try is told from earlier ones.
func (j *job) nextEffort(z zoneChoice) effort {
	return effort{Token: strings.ToLower(rand.Text()[:12]), Try: j.w.Op.Tries, Since: j.w.Clock.Now(), Zones: z}
}

// afterFailure is what the step does about a stack that failed in this try of the operation: one more update when other zones may have
// room, or else the error.
func (j *job) afterFailure(ctx context.Context, s *lcm.Step, action string, st *stack, e effort, want wanted) (effort, error) {
	if err := j.confirmed(st); err != nil {
		return e, err
	}
	failure := j.stackFailure(ctx, action, st)
	sent, err := want.in(ctx, e.Zones)
	if err != nil {
		return e, err
	}
	zones, again, err := j.otherZone(ctx, s, st, failure, sent, e.Zones)
	if err != nil {
		return e, err
	}
	if !again {
		return e, failure
	}
	return j.nextEffort(zones), nil
}

// stackUpdated brings the instance's stack to what want returns, as a durable step of the phase; target tells several such steps of
// one phase apart. before is called just before each request to Heat and has to be idempotent; nil is allowed.
//
// The step can be left at any point. Whoever comes next looks at the stack: the token in its tags says whether the update has
// reached Heat, its status what has become of it.
func (j *job) stackUpdated(ctx context.Context, target string, want wanted, before func(context.Context) error) error {
	return j.w.Step(ctx, "update stack", target, func(ctx context.Context, s *lcm.Step) error {
		var e effort
		if _, err := s.Load(&e); err != nil {
			return fmt.Errorf("read the step's checkpoint: %w", err)
		}
		st, err := j.presentStack(ctx)
		if err != nil {
			return err
		}
		sent, retried := e.sentTo(st), e.Try != j.w.Op.Tries
		stuck := sent && j.stuckStack(st, e)
		switch {
		case stuck && !retried:
			return j.overdue(st)
		case st.inProgress() && !stuck:
			return j.underWay(ctx, st, sent, e.Since)
		case sent && st.complete():
			s.Detail(strings.TrimSuffix("stack "+st.ref()+", "+e.Zones.String(), ", "))
			return nil
		case retried:
			e = j.nextEffort(e.Zones.again())
		case sent && e.overtaken(st):
			e = j.nextEffort(e.Zones)
		case sent:
			if e, err = j.afterFailure(ctx, s, "update", st, e, want); err != nil {
				return err
			}
		}
		if again := !retried && !sent; !again || !e.Twice {
			e.Twice = again
			if err := s.Save(ctx, e); err != nil {
				return err
			}
		}
		return j.update(ctx, st, e, want, before)
	})
}

// overrun is how much longer than its own limit Heat may be under way before it is believed to have forgotten the stack, as it does when its engine dies.
const overrun = 5 * time.Minute

// stuckStack says whether an update is under way for longer than Heat's limit for it.
func (j *job) stuckStack(st *stack, e effort) bool {
	return st.inProgress() && !e.Since.IsZero() && j.w.Clock.Now().Sub(e.Since) > j.cfg.StackTimeout+overrun
}

// overdue is the failure of a stack that is stuck. A retry sends the update again, and Heat begins anew.
func (j *job) overdue(st *stack) error {
	return &lcm.Error{
		Code: lcm.CodeTimeout, Title: "Stack is stuck",
		Detail: fmt.Sprintf("stack %s is %s for longer than the %s that Heat may take; it seems that Heat does not work on it any more", st.ref(), st.Status, j.cfg.StackTimeout),
		Hint:   "check that Heat's engines run; " + lcm.WaysOut(j.w.Op),
	}
}

// sentTo says whether the update has reached the stack.
func (e effort) sentTo(st *stack) bool { return e.Token != "" && slices.Contains(st.Tags, e.Token) }

// lostHint is what helps an instance whose stack somebody has deleted.
const lostHint = "mark the operation failed and heal the whole VNF with additionalParams.all, or terminate it"

// presentStack finds the instance's stack; it is an error when there is none.
func (j *job) presentStack(ctx context.Context) (*stack, error) {
	name := j.stackName()
	st, err := j.findStack(ctx, name)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, &lcm.Error{
			Code: lcm.CodeUpstream, Title: "Stack not found",
			Detail: fmt.Sprintf("the stack %s is not in the VIM %s any more", name, j.conn.base),
			Hint:   lostHint,
		}
	}
	if !j.belongs(st) && !j.known(st) {
		return nil, j.inTheWay(st)
	}
	return st, nil
}

// known says whether the stack is the one that the instance was last seen with, whatever has become of its tags.
func (j *job) known(st *stack) bool {
	i := j.before().Instantiated
	return i != nil && i.Metadata["stack_id"] == st.ID
}

// update sends the stack to Heat. A reply that is lost does not matter: the next look finds the token.
func (j *job) update(ctx context.Context, st *stack, e effort, want wanted, before func(context.Context) error) error {
	desired, err := want.in(ctx, e.Zones)
	if err != nil {
		return err
	}
	if err := j.failedServersDeleted(ctx, st); err != nil {
		return err
	}
	if before != nil {
		err = before(ctx)
	}
	if err == nil {
		err = j.patchStack(ctx, st, desired, e.Token)
	}
	if conflict(err) {
		return lcm.Wait(200*time.Millisecond, "stack "+st.Name+" is busy; looking at it")
	}
	if err != nil {
		return err
	}
	return lcm.Wait(pace(0), "stack UPDATE_IN_PROGRESS")
}

// failedServersDeleted deletes the servers of a failed stack that Nova could not make. Heat would make others in their place first, and that fails as long as
// the volumes of a server that never ran, its place in a group or its part of a quota are taken.
func (j *job) failedServersDeleted(ctx context.Context, st *stack) error {
	if !st.failed() {
		return nil
	}
	all, err := j.listResources(ctx, st)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r resource) bool {
		return r.Type != typeServer || r.Status != "CREATE_FAILED" || r.PhysicalID == ""
	})
	return lcm.Each(ctx, 8, all, func(ctx context.Context, r resource) error {
		sv, err := j.readServer(ctx, r.PhysicalID)
		if notFound(err) || err == nil && sv.Status != "ERROR" {
			return nil
		}
		if err == nil && sv.Task != "deleting" {
			err = j.do(ctx, call{what: "delete server " + sv.ID, service: nova, method: http.MethodDelete, path: "/servers/" + segment(sv.ID)})
		}
		if err != nil && !notFound(err) {
			return err
		}
		return lcm.Wait(pace(0), "deleting server "+r.PhysicalID+", which could not be made")
	})
}

// mark tells Heat that a resource is broken, or no longer is. A broken one is replaced by the next update, or taken away before others. One that is gone is
// a reason to look again.
func (j *job) mark(ctx context.Context, r resource, unhealthy bool, why string) error {
	in := r.owner()
	err := j.do(ctx, call{
		what: "mark " + r.Name + " of stack " + in.Name, service: heat, method: http.MethodPatch,
		path: "/stacks/" + segment(in.Name) + "/" + segment(in.ID) + "/resources/" + segment(r.Name),
		in:   map[string]any{"mark_unhealthy": unhealthy, "resource_status_reason": why},
	})
	if conflict(err) { // Heat still works in this nested stack, after an update that was cancelled
		return lcm.Wait(time.Second, "stack "+in.Name+" is busy")
	}
	if notFound(err) { // it has been replaced since it was listed; the next list tells
		again := *lcm.AsError(err)
		again.Class = lcm.Transient
		return &again
	}
	return err
}

// From countFrom on the resources of a stack are counted, and again every countEvery: more often would be no small part of the calls.
const (
	countFrom  = 30 * time.Second
	countEvery = 15 * time.Second
)

// underWay waits for Heat and says how far it is.
func (j *job) underWay(ctx context.Context, st *stack, ours bool, since time.Time) error {
	elapsed := j.w.Clock.Now().Sub(since)
	wait := pace(elapsed)
	is := "stack " + st.Status
	switch {
	case !ours:
		return lcm.Wait(max(wait, 500*time.Millisecond), "waiting for an earlier action: "+is)
	case elapsed < countFrom:
		return lcm.Wait(wait, is)
	case elapsed/countEvery == (elapsed-wait)/countEvery && strings.HasPrefix(j.w.Op.Waiting, is+", "): // what was counted last still says enough
		return lcm.Wait(wait, j.w.Op.Waiting)
	}
	all, err := j.listResources(ctx, st)
	if err != nil {
		return err
	}
	done, total := 0, 0
	for _, r := range all {
		if r.container() {
			continue
		}
		total++
		if strings.HasSuffix(r.Status, "_COMPLETE") {
			done++
		}
	}
	return lcm.Wait(wait, fmt.Sprintf("%s, %d of %d resources complete", is, done, total))
}
