package heat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/hot"
)

const (
	statusProgress = "IN_PROGRESS"
	statusComplete = "COMPLETE"
	statusFailed   = "FAILED"
)

// start begins an action of a stack in the background; the action before it is interrupted first. Lock held.
func (s *Service) start(st *Stack, action string, run func(ctx context.Context) error, end func(err error)) {
	prev := st.running
	ctx, cancel := context.WithCancelCause(s.world.Context())
	cur := &running{cancel: cancel, done: make(chan struct{})}
	st.running = cur
	s.setStack(st, action, statusProgress, "Stack "+action+" started")
	s.world.Go(func(context.Context) {
		ctx := ctx
		defer close(cur.done)
		defer cancel(nil)
		if prev != nil {
			prev.cancel(errPreempted)
			<-prev.done
		}
		if st.TimeoutMins > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeoutCause(ctx, time.Duration(st.TimeoutMins)*s.Minute, errTimedOut)
			defer stop()
		}
		err := run(ctx)
		if err == nil {
			_, err = s.work(ctx, fault.Work{Stack: st.Name, Action: lower(action)})
		}
		s.world.Lock()
		defer s.world.Unlock()
		if st.running == cur && !errors.Is(err, errPreempted) {
			end(err)
		}
	})
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
		return map[string]string{"CREATE": "Create", "UPDATE": "Update", "DELETE": "Delete", "ROLLBACK": "Rollback"}[action] + " timed out"
	}
	if errors.Is(err, errCancelled) {
		return errCancelled.Error()
	}
	return fmt.Sprintf("Resource %s failed: %v", action, err)
}

// graph runs do for every node once all its needs are done; the first failure interrupts the others.
func graph(ctx context.Context, needs map[string][]string, do func(ctx context.Context, name string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(map[string]chan struct{}, len(needs))
	for name := range needs {
		done[name] = make(chan struct{})
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	for name, before := range needs {
		wg.Go(func() {
			for _, b := range before {
				if ch, ok := done[b]; ok {
					select {
					case <-ch:
					case <-ctx.Done():
						return
					}
				}
			}
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, name); err != nil {
				mu.Lock()
				if first == nil {
					first = err
				}
				mu.Unlock()
				cancel(errSibling)
				return
			}
			close(done[name])
		})
	}
	wg.Wait()
	if first == nil {
		first = context.Cause(ctx) // interrupted before anything could fail
	}
	if cause := context.Cause(ctx); errors.Is(cause, errTimedOut) || errors.Is(cause, errPreempted) || errors.Is(cause, errCancelled) {
		first = cause
	}
	return first
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

// createResource makes one resource.
func (s *Service) createResource(ctx context.Context, r *Resource) error {
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
	return s.world.Take(ctx, action, r.Type) //nolint:wrapcheck // the context's cause
}

// act runs one action of a resource with its states, events and faults.
func (s *Service) act(ctx context.Context, r *Resource, action string, do func(ctx context.Context) error) error {
	s.world.Lock()
	s.setResource(r, action, statusProgress, "state changed")
	s.world.Unlock()
	reason, err := s.work(ctx, fault.Work{Type: r.Type, Name: r.Name, Stack: r.stack.Name, Action: lower(action)})
	if err == nil && reason != "" {
		if r.kind.ownTime && action == "CREATE" {
			s.world.Lock()
			r.data["fail_with"] = reason // the service that makes it fails it
			s.world.Unlock()
		} else {
			err = failf("ResourceFailure", "%s", reason)
		}
	}
	if err == nil {
		err = do(ctx)
	}
	s.world.Lock()
	defer s.world.Unlock()
	switch {
	case err == nil:
		s.setResource(r, action, statusComplete, "state changed")
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		s.setResource(r, action, statusFailed, action+" aborted")
		return err
	}
	f := asFailure(err).at(r.stack, r.Name)
	s.setResource(r, action, statusFailed, f.Error())
	return f
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

// removeResource deletes one resource.
func (s *Service) removeResource(ctx context.Context, r *Resource) error {
	if r.Action == "INIT" || r.Action == "DELETE" && r.Status == statusComplete {
		return nil
	}
	return s.act(ctx, r, "DELETE", func(ctx context.Context) error {
		if r.def.DeletionPolicy == "Retain" || r.kind.remove == nil {
			return nil
		}
		if err := s.takeTime(ctx, r, "delete"); err != nil {
			return err
		}
		return r.kind.remove(ctx, job{s, r.stack.Caller, r, r.props})
	})
}

func lower(action string) string {
	switch action {
	case "CREATE":
		return "create"
	case "UPDATE":
		return "update"
	case "DELETE":
		return "delete"
	}
	return "rollback"
}
