package k8scluster

import (
	"context"
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
