package stack

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Update brings the instance's stack to the desired state, as a durable step of the phase; target tells several such
// steps of one phase apart. before is called just before each request to Heat and must be idempotent; nil is allowed.
func (w *Worker) Update(ctx context.Context, target string, desired Desired, before func(context.Context) error) error {
	return w.Execution.Step(ctx, "update stack", target, func(ctx context.Context, s *lcm.Step) error {
		a, err := load(s)
		if err != nil {
			return err
		}
		st, err := w.Present(ctx)
		if err != nil {
			return err
		}

		do := next([]cloud.Stack{*st}, a, w.now(), w.situation(update))
		if do == finish {
			return finished(s, st, a.Zones)
		}
		return w.proceed(ctx, s, do, step{"update", st, a, desired, before})
	})
}

// step is an update of a stack in one tick; action is its name in failures.
type step struct {
	action  string
	st      *cloud.Stack
	a       Attempt
	desired Desired
	before  func(context.Context) error
}

// proceed does what next decides about a stack that exists: it waits, fails, or sends an update.
func (w *Worker) proceed(ctx context.Context, s *lcm.Step, do action, u step) error {
	switch do {
	case waitBusy:
		return w.busy(ctx, u.st, u.action == "create" || u.a.sentTo(u.st), u.a.Since)
	case failStuck:
		return w.overdue(u.st)
	case send, sendStopped:
		id := u.a.ID
		u.a = w.again(u.a)
		u.a.ID, u.a.Stopped = id, do == sendStopped
	case handleFailure:
		next, err := w.afterFailure(ctx, s, u)
		if err != nil {
			return err
		}
		u.a = next
	case resend:
		if u.a.Resent {
			return w.send(ctx, u)
		}
		u.a.Resent = u.action == "update"
	default: // the others are not for a stack that exists
	}
	if err := s.Save(ctx, u.a); err != nil {
		return err
	}
	return w.send(ctx, u)
}

// afterFailure decides about a stack that failed in this try of the operation: one more update when other zones may
// have room, or else the error.
func (w *Worker) afterFailure(ctx context.Context, s *lcm.Step, u step) (Attempt, error) {
	if err := w.Doubts.confirmed(w.now(), w.DoubtPause, w.Execution.Op.ID, u.st); err != nil {
		return u.a, err
	}
	failure := w.Failure(ctx, u.action, u.st)
	sent, err := u.desired.in(ctx, u.a.Zones)
	if err != nil {
		return u.a, err
	}
	zones, again, err := w.otherZones(ctx, s, u.st, failure, sent, u.a.Zones)
	if err != nil {
		return u.a, err
	}
	if !again {
		return u.a, failure
	}
	a := w.newAttempt(zones)
	a.ID = u.a.ID
	return a, nil
}

// send sends the stack to Heat. A reply that is lost does not matter: the next observation finds the token.
func (w *Worker) send(ctx context.Context, u step) error {
	content, err := u.desired.in(ctx, u.a.Zones)
	if err != nil {
		return err
	}
	if err := w.recovered(ctx, u.st, content); err != nil {
		return err
	}
	if u.before != nil {
		err = u.before(ctx)
	}
	if err == nil {
		err = w.Cloud.UpdateStack(ctx, u.st, w.content(content, u.a.Token))
	}
	if cloud.Conflict(err) {
		return lcm.Wait(200*time.Millisecond, "stack "+u.st.Name+" is busy; looking at it")
	}
	if err != nil {
		return w.refused(err)
	}
	return lcm.Wait(cloud.Pace(0), "stack UPDATE_IN_PROGRESS")
}

// recovered prepares an update of a stack that has failed, or that an operation changes back. It changes content.
func (w *Worker) recovered(ctx context.Context, st *cloud.Stack, content *userdata.Stack) error {
	op := w.Execution.Op
	if !st.Failed() && op.State != sol.LcmOperationStateRollingBack {
		return nil
	}
	var there []cloud.Resource
	if st.Failed() {
		var err error
		if there, err = w.Cloud.ListResources(ctx, st); err != nil {
			return err
		}
	}
	if err := w.failedServersDeleted(ctx, there); err != nil {
		return err
	}
	// The word differs between tries: a retry may undo what a rollback has done, and the next rollback does it again.
	return content.Renew(fmt.Sprintf("%s-%d", op.ID, op.Try), membersOf(st, there))
}

// failedServersDeleted deletes the servers of a failed stack that Nova could not create. Heat would create others in
// their place first, and that fails as long as the volumes of a server that never ran, its place in a group or its part
// of a quota are taken.
func (w *Worker) failedServersDeleted(ctx context.Context, all []cloud.Resource) error {
	all = slices.DeleteFunc(slices.Clone(all), func(r cloud.Resource) bool {
		return r.Type != cloud.TypeServer || r.Status != "CREATE_FAILED" || r.PhysicalID == ""
	})
	return lcm.Each(ctx, 8, all, func(ctx context.Context, r cloud.Resource) error {
		sv, err := w.Cloud.ReadServer(ctx, r.PhysicalID)
		if cloud.NotFound(err) || err == nil && sv.Status != cloud.ServerError {
			return nil
		}
		if err == nil && sv.Task != "deleting" {
			err = w.Cloud.DeleteServer(ctx, sv.ID)
		}
		if err != nil && !cloud.NotFound(err) {
			return err
		}
		return lcm.Wait(cloud.Pace(0), "deleting server "+r.PhysicalID+", which could not be made")
	})
}

// membersOf counts the members of a stack's scaling groups. Groups of one name in several nested stacks count as the
// largest of them.
func membersOf(st *cloud.Stack, all []cloud.Resource) map[hot.Place]hot.Members {
	out := map[hot.Place]hot.Members{}
	for _, group := range all {
		if group.Type != cloud.TypeScalingGroup || group.PhysicalID == "" {
			continue
		}
		var n hot.Members
		for _, r := range all {
			if r.Owner().ID != group.PhysicalID {
				continue
			}
			n.All++
			if r.Failed() {
				n.Failed++
			}
		}
		place := hot.Place{Nested: group.Owner().ID != st.ID, Group: group.Name}
		was := out[place]
		out[place] = hot.Members{All: max(was.All, n.All), Failed: max(was.Failed, n.Failed)}
	}
	return out
}
