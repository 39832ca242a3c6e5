package heat

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// running is the background action of a stack.
type running struct {
	// cancel interrupts everything under way.
	cancel context.CancelCauseFunc
	// done is closed when nothing of the action is under way any more, which may be long after its end.
	done chan struct{}
	// superseded is closed when another action has taken the stack: what is under way ends, nothing else begins.
	superseded chan struct{}
	once       sync.Once
	// cancelled tells that a user has cancelled the action: what is under way goes on, nothing else begins.
	cancelled  atomic.Bool
	stragglers sync.WaitGroup
}

type runKey struct{}

// runOf is the action that a piece of work belongs to.
func runOf(ctx context.Context) *running {
	r, _ := ctx.Value(runKey{}).(*running)
	return r
}

// supersede lets the action end for another one; at once if hard.
func (r *running) supersede(hard bool) {
	r.once.Do(func() { close(r.superseded) })
	if hard {
		r.cancel(errPreempted)
	}
}

func (r *running) isSuperseded() bool {
	select {
	case <-r.superseded:
		return true
	default:
		return false
	}
}

// wait waits until nothing of the action is under way; there may be none.
func (r *running) wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		r.cancel(context.Cause(ctx)) // as long as the new one may wait, and no longer
		<-r.done
		return context.Cause(ctx)
	}
}

// over says why nothing more of the action may begin.
func (r *running) over() error {
	switch {
	case r.isSuperseded():
		return errPreempted
	case r.cancelled.Load():
		return errCancelled
	}
	return nil
}

// graph runs do for every node once all its needs are done. The first failure is returned at once: nothing else begins
// then, and what is under way goes on.
func graph(ctx context.Context, needs map[string][]string, do func(ctx context.Context, name string) error) error {
	run := runOf(ctx)
	done := make(map[string]chan struct{}, len(needs))
	for name := range needs {
		done[name] = make(chan struct{})
	}
	var (
		wg     sync.WaitGroup
		halt   = make(chan struct{})
		failed = sync.OnceFunc(func() { close(halt) })
		errs   = make(chan error, len(needs))
		all    = make(chan struct{})
	)
	ready := func(before []string) bool {
		for _, b := range before {
			ch, ok := done[b]
			if !ok {
				continue
			}
			select {
			case <-ch:
			case <-halt:
				return false
			case <-ctx.Done():
				return false
			}
		}
		select {
		case <-halt:
			return false
		default:
			return ctx.Err() == nil && run.over() == nil
		}
	}
	for name, before := range needs {
		wg.Add(1)
		run.stragglers.Go(func() {
			defer wg.Done()
			if !ready(before) {
				failed() // so that no other resource waits for it
				return
			}
			if err := do(ctx, name); err != nil {
				errs <- err
				failed()
				return
			}
			close(done[name])
		})
	}
	run.stragglers.Go(func() { wg.Wait(); close(all) })
	select {
	case <-all:
	case <-halt:
		if ctx.Err() != nil || run.over() != nil {
			<-all
		}
	}
	if cause := context.Cause(ctx); errors.Is(cause, errTimedOut) || errors.Is(cause, errPreempted) ||
		errors.Is(cause, errKilled) {
		<-all
		return cause
	}
	select {
	case err := <-errs:
		return err
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return run.over()
}

// cancelUpdate gives up what is in progress, in the stack and its nested ones. What is being worked on goes on.
func (s *Service) cancelUpdate(st *Stack) {
	st.running.cancelled.Store(true)
	s.giveUp(st)
}

func (s *Service) giveUp(st *Stack) {
	reason := "Stack " + st.Action + " cancelled"
	for _, name := range sortedKeys(st.resources) {
		r := st.resources[name]
		if r.nested != nil && r.Status == statusProgress {
			s.giveUp(r.nested)
			s.setResource(r, r.Action, statusFailed, "resources."+r.Name+": "+r.nested.Reason)
		}
	}
	if st.Status == statusProgress {
		s.setStack(st, st.Action, statusFailed, reason)
	}
}
