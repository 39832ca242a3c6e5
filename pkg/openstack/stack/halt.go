package stack

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// settleTime is how long a stopped stack may go on with work that was begun in the stacks nested in it.
const settleTime = 30 * time.Second

// Halt waits for the stack of a cancelled operation, or stops it, in one tick of a step. It is done when Heat does
// nothing more, or when its work cannot be stopped. groups are the scaling groups that the operation may have
// signalled.
func (w *Worker) Halt(ctx context.Context, s *lcm.Step, mode sol.CancelModeType, groups []string) error {
	a, err := load(s)
	if err != nil {
		return err
	}
	stacks, err := w.haltedStacks(ctx, groups)
	if err != nil {
		return err
	}
	if a.Since.IsZero() && len(stacks) > 0 {
		a.Since = w.now()
		if err := s.Save(ctx, a); err != nil {
			return err
		}
	}

	sit := w.situation(halt)
	sit.forced, sit.signals = mode == sol.CancelModeForceful, len(groups) > 0
	do := next(stacks, a, w.now(), sit)
	if len(stacks) == 0 {
		s.Detail("there is no stack")
		return nil
	}
	return w.halting(ctx, s, do, &stacks[0], a)
}

// halting does what next decides about a stack that exists.
func (w *Worker) halting(ctx context.Context, s *lcm.Step, do action, st *cloud.Stack, a Attempt) error {
	elapsed := w.now().Sub(a.Since)
	switch do {
	case waitSignal:
		return lcm.Wait(SignalRest, "looking whether Heat obeys a signal")
	case finish:
		s.Detail("stack " + st.Ref() + " is " + st.Status)
		return nil
	case waitNested:
		s.Detail("stack " + st.Ref() + " is " + st.Status)
		return w.settled(ctx, s, st, elapsed)
	case leave:
		s.Detail("stack " + st.Ref() + " is being deleted, which cannot be stopped; a retry asks for it again")
		return nil
	case stop:
		return w.stop(ctx, s, st, a)
	case deleteHalf:
		if err := w.Cloud.DeleteStack(ctx, st); err != nil {
			return err
		}
	default: // Heat is busy
	}
	return lcm.Wait(cloud.Pace(elapsed), "waiting for the stack, "+st.Status)
}

// haltedStacks finds the stack that Heat may work on: that of the instance, or of a group in it, which is changed while
// the stack around it is at rest.
func (w *Worker) haltedStacks(ctx context.Context, groups []string) ([]cloud.Stack, error) {
	st, err := w.Find(ctx)
	if err != nil || st == nil {
		return nil, err
	}
	if st.InProgress() {
		return []cloud.Stack{*st}, nil
	}
	for _, name := range groups {
		group, _, err := w.group(ctx, st, name)
		if err != nil {
			return nil, err
		}
		if group.InProgress() {
			return []cloud.Stack{*group}, nil
		}
	}
	return []cloud.Stack{*st}, nil
}

// stop asks Heat to leave the stack as it is now. The rollback that a cancelled update would otherwise do is the user's
// decision.
func (w *Worker) stop(ctx context.Context, s *lcm.Step, st *cloud.Stack, a Attempt) error {
	err := w.Cloud.StopStack(ctx, st)
	a.Asked, a.Refused = true, cloud.Refused(err)
	if a.Refused { // it has ended since, or this Heat cannot stop it: the next tick shows that
		s.Logf(ctx, lcm.AsError(err).Detail)
	} else if err != nil {
		return err
	}
	if err := s.Save(ctx, a); err != nil {
		return err
	}
	return lcm.Wait(cloud.Pace(0), "stopping the stack, "+st.Status)
}

// settled waits for the work that a stopped stack still does in nested stacks: requests to Nova go on for a while, and
// a retry would find it busy. Heat's own waiting may last; it is not a reason to hold the user up.
func (w *Worker) settled(ctx context.Context, s *lcm.Step, st *cloud.Stack, elapsed time.Duration) error {
	all, err := w.Cloud.ListResources(ctx, st)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(
		all, func(r cloud.Resource) bool { return strings.HasSuffix(r.Status, "_IN_PROGRESS") && !r.IsStack() },
	)
	if at < 0 {
		return nil
	}
	busy := pathOf(all[at], all) + " " + all[at].Status
	if elapsed < settleTime {
		return lcm.Wait(cloud.Pace(elapsed), "waiting for what is under way: "+busy)
	}
	s.Detail("stack " + st.Ref() + " is " + st.Status + "; Heat still shows " + busy)
	return nil
}
