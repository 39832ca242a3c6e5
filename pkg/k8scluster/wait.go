package k8scluster

import (
	"context"
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// backoff waits a longer time after every attempt.
type backoff struct {
	first, longest, next time.Duration
}

func (b *backoff) wait(ctx context.Context) error {
	b.next = min(max(b.first, b.next*2), b.longest)
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// waiting is how a step waits for a condition: with growing pauses, the reason shown as the step's status.
type waiting struct {
	first, longest time.Duration
	prefix         string // of the status
}

// until calls look until it returns no reason to wait. After each reason expired decides whether the time is over: its
// error ends the step.
func (w waiting) until(
	ctx context.Context, s *lcm.Step, look func(context.Context) (string, error), expired func(why string) error,
) error {
	pause := backoff{first: w.first, longest: w.longest}
	shown := ""
	for {
		why, err := look(ctx)
		if err != nil || why == "" {
			return err
		}
		if err := expired(why); err != nil {
			return err
		}
		if why != shown {
			shown = why
			if err := s.Waits(ctx, w.prefix+why); err != nil {
				return err
			}
		}
		if err := pause.wait(ctx); err != nil {
			return lcm.Wait(0, w.prefix+why)
		}
	}
}

// patience is how long a step waits for a cluster, and the error at the end.
type patience struct {
	limit               time.Duration
	title, detail, hint string
}

// await waits until look finds no problem. A failure to look is a problem as well: API servers come and go while nodes
// are upgraded or boot. A retry of the operation has the whole time again.
func (p patience) await(
	ctx context.Context, w *lcm.Execution, s *lcm.Step, look func(context.Context) (string, error),
) error {
	began := s.Started()
	if e := w.Op.StateEntered; e.After(began) {
		began = e
	}
	var cause error
	wait := waiting{first: 200 * time.Millisecond, longest: 2 * time.Second, prefix: "waits: "}
	return wait.until(ctx, s, func(ctx context.Context) (string, error) {
		why, err := look(ctx)
		if err != nil && ctx.Err() != nil {
			return "", err
		}
		if cause = err; err != nil {
			why = lcm.AsError(err).Error()
		}
		return why, nil
	}, func(why string) error {
		if w.Clock.Now().Sub(began) < p.limit {
			return nil
		}
		return &lcm.Error{
			Code: lcm.CodeTimeout, Title: p.title, Detail: fmt.Sprintf("%s (for %s): %s", p.detail, p.limit, why),
			Hint: p.hint, Cause: cause,
		}
	})
}
