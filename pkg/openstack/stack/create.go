package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Create creates the instance's stack, as a durable step of the phase.
//
// A stack whose creation failed stays as it is until the user decides. A retry repairs it: Heat replaces what failed
// and keeps the rest. When that fails too, the next retry deletes it and creates a new one.
func (w *Worker) Create(ctx context.Context, desired Desired) error {
	return w.Execution.Step(ctx, "create stack", w.Name(), func(ctx context.Context, s *lcm.Step) error {
		a, err := load(s)
		if err != nil {
			return err
		}

		var stacks []cloud.Stack
		if !a.Since.IsZero() { // before that it does not exist as a rule; if it does, Heat answers with a conflict
			st, err := w.Find(ctx)
			if err != nil {
				return err
			}
			if st != nil {
				stacks = append(stacks, *st)
			}
		}
		return w.creating(ctx, s, stacks, a, desired)
	})
}

// creating does what next decides about a creation.
func (w *Worker) creating(ctx context.Context, s *lcm.Step, stacks []cloud.Stack, a Attempt, desired Desired) error {
	do := next(stacks, a, w.now(), w.situation(create))
	elapsed := w.now().Sub(a.Since)
	var st *cloud.Stack
	if len(stacks) > 0 {
		st = &stacks[0]
	}
	switch do {
	case start:
		return w.start(ctx, s, a.Zones, desired)
	case waitUnlisted:
		return lcm.Wait(cloud.Pace(elapsed), "stack "+w.Name()+" is not listed yet")
	case failGone:
		return w.vanished(a)
	case failForeign:
		return Foreign(w.Cloud, st)
	case waitDeleted:
		return lcm.Wait(cloud.Pace(elapsed), "waiting until the previous stack "+st.Name+" is deleted")
	case replace:
		return w.replace(ctx, s, st, a)
	case adopt: // created by a node that died, or stopped, before it could record the id
		a = Attempt{ID: st.ID, Try: a.Try, Since: w.now(), Zones: a.Zones}
		if err := s.Save(ctx, a); err != nil {
			return err
		}
		return w.creating(ctx, s, stacks, a, desired)
	case finish:
		return finished(s, st, a.Zones)
	default:
		a.ID = st.ID
		return w.proceed(ctx, s, do, step{"create", st, a, desired, nil})
	}
}

// start creates the stack.
func (w *Worker) start(ctx context.Context, s *lcm.Step, zones Zones, desired Desired) error {
	content, err := desired.in(ctx, zones)
	if err != nil {
		return err
	}
	// A node that finds the stack without its id in the checkpoint must know whose try created it.
	if err := s.Save(ctx, Attempt{Try: w.Execution.Op.Try, Since: w.now(), Zones: zones}); err != nil {
		return err
	}

	id, err := w.Cloud.CreateStack(ctx, w.Name(), w.content(content, ""))
	// it exists although the list did not have it: a reply was lost, or Heat's list lags behind
	if cloud.Conflict(err) {
		return lcm.Wait(200*time.Millisecond, "stack "+w.Name()+" exists already; looking at it")
	}
	if err != nil {
		return w.refused(err)
	}
	sent := Attempt{ID: id, Try: w.Execution.Op.Try, Since: w.now(), Zones: zones}
	return s.SaveAndWait(ctx, sent, cloud.Pace(0), "stack CREATE_IN_PROGRESS")
}

// replace deletes the stack that has the name; the next tick finds it gone and creates a new one.
func (w *Worker) replace(ctx context.Context, s *lcm.Step, st *cloud.Stack, a Attempt) error {
	then := Attempt{Doomed: st.ID, Try: w.Execution.Op.Try, Since: w.now(), Zones: a.Zones.again()}
	if st.Status == "DELETE_FAILED" && a.Try == then.Try {
		then.Deletes = a.Deletes + 1
	}
	if then.Deletes > maxDeletes {
		then.Deletes = 0
		failure := w.Failure(ctx, "delete", st)
		if err := s.Save(ctx, then); err != nil {
			return err
		}
		return failure
	}

	if err := s.Save(ctx, then); err != nil {
		return err
	}
	if err := w.Cloud.DeleteStack(ctx, st); err != nil {
		return err
	}
	return lcm.Wait(cloud.Pace(0), "deleting the previous stack "+st.Name)
}

// vanished reports a stack that was deleted in the VIM; a retry creates it again.
func (w *Worker) vanished(a Attempt) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Stack create failed",
		Detail: fmt.Sprintf(
			"the stack %s/%s was deleted in the VIM %s while it was being created", w.Name(), a.ID, w.Cloud.URL(),
		),
		Hint: "retry the operation to create it again, or roll it back",
	}
}
