package lcm

import (
	"context"
	"errors"
	"time"
)

// Phase is one durable stage of an operation. Its Run is called once per tick until it returns nil.
//
// Run MUST be re-enterable at any point: a predecessor may have died between any two lines. It
// observes first, then acts, and uses Execution.Step for whatever must not be done twice.
//
// Run returns nil when the phase is done, the error of Wait when it has nothing to do for a while,
// and any other error when it failed; whether that is retried is the error's Class.
type Phase struct {
	Name string
	Run  func(ctx context.Context, w *Execution) error
	// ReadOnly says that Run has no effect outside of the operation and the instance. Its start is stored with its end,
	// together with the end of the phase before it.
	ReadOnly bool
}

// waitError is how a phase or step says that it waits; it is not a failure.
type waitError struct {
	after   time.Duration
	why     string
	blocked bool
}

func (e *waitError) Error() string { return "waits: " + e.why }

// Wait returns what a phase or step returns when it has to look again after a while. why is shown
// to the user ("stack CREATE_IN_PROGRESS, 3 of 5 servers"); after may be 0 for "at the next tick".
func Wait(after time.Duration, why string) error { return &waitError{after: after, why: why} }

// Blocked is Wait for a phase that could not even look: something that it shares with other operations, such as the
// login to a VIM, is not ready. The wait is not a failure, and does not end a row of failures either.
func Blocked(after time.Duration, why string) error {
	return &waitError{after: after, why: why, blocked: true}
}

// BlockedByVim is Blocked by a VIM that does not answer, while another operation tries it.
func BlockedByVim(after time.Duration, why string) error {
	return errors.Join(Blocked(after, why), ErrVimUnavailable)
}

// IsBlocked reports whether err is an error of Blocked.
func IsBlocked(err error) bool {
	w, ok := errors.AsType[*waitError](err)
	return ok && w.blocked
}

// Waiting takes Wait's error apart. When ctx has ended, because the tick's time is used up or
// the node stops, every error but ErrFenced and those that are certain is a wait of no time: the work goes on in the
// next tick. false means that err is nil or a failure.
func Waiting(ctx context.Context, err error) (after time.Duration, why string, ok bool) {
	if w, isWait := errors.AsType[*waitError](err); isWait {
		return w.after, w.why, true
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrFenced) && !certain(err) {
		return 0, "", true
	}
	return 0, "", false
}

// certain reports that err would be a failure also without a timeout: the code that created it knows that trying
// again does not help, and it does not come from the end of a context.
func certain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Class != Transient && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) &&
		!errors.Is(err, ErrTickBudget)
}

// Each runs fn for every item, at most limit at a time (0 = all at once), lets all of them finish or
// come to a wait, and merges: fenced beats failed beats waiting beats done. Of several failures the
// first item's is returned, of several waits the shortest.
func Each[T any](ctx context.Context, limit int, items []T, fn func(context.Context, T) error) error {
	if limit <= 0 || limit > len(items) {
		limit = len(items)
	}
	errs := make([]error, len(items))
	slots := make(chan struct{}, max(limit, 1))
	done := make(chan struct{})
	for i, item := range items {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots; done <- struct{}{} }()
			errs[i] = fn(ctx, item)
		}()
	}
	for range items {
		<-done
	}
	return merge(ctx, errs)
}

// merge returns the one error of several that decides: fenced beats failed beats waiting beats done.
func merge(ctx context.Context, errs []error) error {
	var wait *waitError
	var failure error
	for _, err := range errs {
		if err == nil {
			continue
		}
		if errors.Is(err, ErrFenced) {
			return err
		}
		if after, why, ok := Waiting(ctx, err); ok {
			if wait == nil || after < wait.after {
				wait = &waitError{after: after, why: why, blocked: IsBlocked(err)}
			}
			continue
		}
		if failure == nil || AsError(failure).Class == Transient && AsError(err).Class != Transient {
			failure = err
		}
	}
	if failure == nil && wait != nil {
		return wait
	}
	return failure
}
