package process

import (
	"context"
	"time"
)

// Clock is the time inside the machines. With speed 60 a simulated minute takes a real second.
type Clock struct {
	start time.Time
	speed float64
}

// NewClock starts a clock at the real time; speed ≤ 0 means 1.
func NewClock(speed float64) *Clock {
	if speed <= 0 {
		speed = 1
	}
	return &Clock{start: time.Now(), speed: speed}
}

// Now is the machines' time.
func (c *Clock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

// Real converts a simulated duration to the real one.
func (c *Clock) Real(d time.Duration) time.Duration { return time.Duration(float64(d) / c.speed) }

// Sleep waits for a simulated duration; the error is ctx's cause if that ends first.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if d = c.Real(d); d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithTimeout is context.WithTimeout for a simulated duration.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(c.Real(d), time.Millisecond))
}
