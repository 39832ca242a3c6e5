package heat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

const (
	statusProgress = "IN_PROGRESS"
	statusComplete = "COMPLETE"
	statusFailed   = "FAILED"

	// retries is how often what a conflict or a bad state has failed is tried again.
	retries = 5
)

// start begins an action of a stack in the background. What was under way ends first, but for a deletion, which
// interrupts it. Lock held.
func (s *Service) start(st *Stack, action string, run func(ctx context.Context) error, end func(err error)) {
	prev := st.running
	ctx, cancel := context.WithCancelCause(s.world.Context())
	cur := &running{cancel: cancel, done: make(chan struct{}), superseded: make(chan struct{})}
	st.running = cur
	if prev != nil {
		prev.supersede(action == "DELETE" || action == "ROLLBACK" && st.Action == "CREATE")
	}
	s.setStack(st, action, statusProgress, "Stack "+action+" started")
	minutes := st.TimeoutMins
	s.world.Go(func(context.Context) {
		ctx := context.WithValue(ctx, runKey{}, cur)
		defer close(cur.done)
		defer cancel(nil)
		if minutes > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeoutCause(ctx, time.Duration(minutes)*s.Minute, errTimedOut)
			defer stop()
		}
		err := prev.wait(ctx)
		if err == nil {
			err = run(ctx)
		}
		if err == nil {
			_, err = s.work(ctx, fault.Work{Stack: st.Name, Action: strings.ToLower(action)})
		}
		s.settle(st, cur, err, end)
		cur.stragglers.Wait()
	})
}

// settle sets how an action has ended, unless another action has taken the stack since.
func (s *Service) settle(st *Stack, cur *running, err error, end func(err error)) {
	s.engine.gate()
	s.world.Lock()
	defer s.world.Unlock()
	if st.running == cur && !cur.cancelled.Load() && !errors.Is(err, errPreempted) && !errors.Is(err, errKilled) {
		end(err)
	}
}

// finish sets the end state of an action.
func (s *Service) finish(st *Stack, action string, err error) {
	if err == nil {
		s.setStack(st, action, statusComplete, "Stack "+action+" completed successfully")
		return
	}
	s.setStack(st, action, statusFailed, reasonOf(action, err))
}

func reasonOf(action string, err error) string {
	if errors.Is(err, errTimedOut) {
		return errTimedOut.Error()
	}
	if f, ok := errors.AsType[*failure](err); ok && f.action != "" {
		action = f.action
	}
	return fmt.Sprintf("Resource %s failed: %v", action, err)
}

// newResource puts a resource of the template into the stack.
func (s *Service) newResource(st *Stack, def *hot.Resource) (*Resource, error) {
	k, typ, err := s.kindOf(st, def.Name, def.Type)
	if err != nil {
		return nil, err
	}
	if !isTemplate(typ) {
		typ = def.Type
	}
	now := s.world.Now()
	return &Resource{
		Name: def.Name, Type: typ, Action: "INIT", Status: statusComplete, Created: now, Updated: now,
		def: def, kind: k, stack: st, data: map[string]any{}, requires: def.Requires(),
	}, nil
}

// runCreate makes all resources of a stack.
func (s *Service) runCreate(ctx context.Context, st *Stack) error {
	s.world.Lock()
	needs := make(map[string][]string, len(st.resources))
	for name, r := range st.resources {
		needs[name] = r.requires
	}
	s.world.Unlock()
	return graph(ctx, needs, func(ctx context.Context, name string) error {
		s.world.Lock()
		r := st.resources[name]
		s.world.Unlock()
		return s.createResource(ctx, r)
	})
}

// createResource makes one resource. After a conflict, or when what was made is in error, it deletes what there is and
// tries again; the first failure is the one that is reported.
func (s *Service) createResource(ctx context.Context, r *Resource) error {
	first := s.createOnce(ctx, r)
	err := first
	for attempt := 1; attempt <= retries && again(err); attempt++ {
		s.locked(func() { r.retrying = true })
		if err := s.act(ctx, r, "DELETE", func(ctx context.Context) error { return s.delete(ctx, r) }); err != nil {
			return first
		}
		if err := s.pause(ctx, attempt); err != nil {
			return err
		}
		s.locked(func() { r.retrying = false })
		if err = s.createOnce(ctx, r); err == nil {
			return nil
		}
	}
	return first
}

// pause waits before an attempt. An action that has been superseded makes none.
func (s *Service) pause(ctx context.Context, attempt int) error {
	run := runOf(ctx)
	if run.isSuperseded() {
		return errPreempted
	}
	t := time.NewTimer(s.Retry << attempt)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-run.superseded:
		return errPreempted
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func again(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.again
}

func (s *Service) createOnce(ctx context.Context, r *Resource) error {
	return s.act(ctx, r, "CREATE", func(ctx context.Context) error {
		s.world.Lock()
		p, err := s.resolve(r.stack, r.def, false)
		if err == nil && r.kind.props != nil {
			err = s.checkValues(r.stack.Caller, r, p)
		}
		r.props = p
		s.world.Unlock()
		if err != nil {
			return err
		}
		if err := s.takeTime(ctx, r, "create"); err != nil {
			return err
		}
		return r.kind.create(ctx, job{s, r.stack.Caller, r, p})
	})
}

// takeTime waits as long as the timing table says, unless another service does.
func (s *Service) takeTime(ctx context.Context, r *Resource, action string) error {
	if r.kind.ownTime || r.kind.nested {
		return nil
	}
	return s.world.Take(ctx, action, r.Type)
}

// act runs one action of a resource with its states, events and faults.
func (s *Service) act(ctx context.Context, r *Resource, action string, do func(ctx context.Context) error) error {
	s.engine.gate()
	s.locked(func() { s.setResource(r, action, statusProgress, "state changed") })
	work := fault.Work{Type: r.Type, Name: r.Name, Stack: r.stack.Name, Action: strings.ToLower(action)}
	reason, err := s.work(ctx, work)
	if err == nil && reason != "" {
		if r.kind.ownTime && action == "CREATE" {
			s.locked(func() { r.data["fail_with"] = reason }) // the service that makes it fails it
		} else {
			err = failf("ResourceFailure", "%s", reason)
		}
	}
	if err == nil {
		err = do(ctx)
	}
	s.engine.gate()
	s.world.Lock()
	defer s.world.Unlock()
	return s.ended(ctx, r, action, err)
}

// ended sets the state of a resource after an action, and returns its failure.
func (s *Service) ended(ctx context.Context, r *Resource, action string, err error) error {
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		s.setResource(r, action, statusComplete, "state changed")
		return nil
	case errors.Is(cause, errKilled) || errors.Is(err, errPreempted) && cause == nil:
		return err // it stays in progress
	case r.kind.nested && runOf(ctx).cancelled.Load() && r.Status != statusProgress:
		return err // its state is that of the cancelled stack
	case cause != nil && errors.Is(err, cause):
		reason := action + " aborted"
		if errors.Is(cause, errTimedOut) && r.stack.parent == nil && r.kind.nested {
			reason = r.abortedByTimeout(action)
		}
		s.setResource(r, action, statusFailed, reason)
		return err
	}
	f := asFailure(err).in(r, action)
	if r.data["fail_with"] != nil {
		f.again = false // a fault makes it fail
	}
	s.setResource(r, action, statusFailed, f.Error())
	return f
}

func (r *Resource) abortedByTimeout(action string) string {
	class, own := "TemplateResource", ""
	if !isTemplate(r.Type) {
		class = r.Type[len("OS::Heat::"):]
	}
	if action != "CREATE" {
		own = " [" + r.ID + "]"
	}
	task := strings.ToLower(action)
	return fmt.Sprintf("%s aborted (Task %s from %s %q%s Stack %q [%s] Timed out)",
		action, task, class, r.Name, own, r.stack.Name, r.stack.ID)
}

// runDelete deletes resources, each after those that need it.
func (s *Service) runDelete(ctx context.Context, victims []*Resource) error {
	byKey := make(map[string]*Resource, len(victims))
	key := func(r *Resource) string { return fmt.Sprintf("%p", r) }
	byName := map[string][]string{}
	for _, r := range victims {
		byKey[key(r)] = r
		byName[r.Name] = append(byName[r.Name], key(r))
	}
	needs := make(map[string][]string, len(victims))
	for _, r := range victims {
		if _, ok := needs[key(r)]; !ok {
			needs[key(r)] = nil
		}
		for _, name := range r.requires {
			for _, k := range byName[name] {
				needs[k] = append(needs[k], key(r))
			}
		}
	}
	return graph(ctx, needs, func(ctx context.Context, k string) error { return s.removeResource(ctx, byKey[k]) })
}

// removeResource deletes one resource; a conflict is waited for a while.
func (s *Service) removeResource(ctx context.Context, r *Resource) error {
	if r.Action == "INIT" || r.Action == "DELETE" && r.Status == statusComplete {
		return nil
	}
	return s.act(ctx, r, "DELETE", func(ctx context.Context) error {
		err := s.delete(ctx, r)
		for attempt := 1; attempt <= retries && err != nil && ctx.Err() == nil && asFailure(err).again; attempt++ {
			if err := s.pause(ctx, attempt); err != nil {
				return err
			}
			err = s.delete(ctx, r)
		}
		return err
	})
}

func (s *Service) delete(ctx context.Context, r *Resource) error {
	if r.def.DeletionPolicy == "Retain" || r.kind.remove == nil {
		return nil
	}
	if err := s.takeTime(ctx, r, "delete"); err != nil {
		return err
	}
	return r.kind.remove(ctx, job{s, r.stack.Caller, r, r.props})
}

// work applies the fault rules for a piece of engine work: delays and hangs, and the reason of a failure.
func (s *Service) work(ctx context.Context, w fault.Work) (reason string, err error) {
	for _, r := range s.world.Faults.Work(w) {
		switch r.Kind {
		case fault.DelayResource:
			if err := sim.Sleep(ctx, time.Duration(r.Delay)); err != nil {
				return "", err
			}
		case fault.HangResource, fault.HangStack:
			select {
			case <-r.Released():
			case <-runOf(ctx).superseded:
				return "", errPreempted
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		case fault.FailResource:
			return cmp.Or(r.Reason, "Injected failure"), nil
		default: // the others are faults of calls
		}
	}
	return "", nil
}
