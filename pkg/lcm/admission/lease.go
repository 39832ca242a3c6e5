package admission

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// underLease calls work while this request has the right to work on an instance, and stores the instance as the change
// that work returns leaves it; nil changes nothing. work runs outside of any transaction. Its context ends with the
// lease. If this node dies, the lease expires, and the user can send the request again: work MUST be repeatable.
func (s *Service) underLease(
	ctx context.Context, id, purpose string,
	work func(context.Context, *lcm.Instance) (change func(*lcm.Instance), err error),
) error {
	lease, err := s.Store.Lease(ctx, id, purpose)
	if err != nil {
		return err
	}
	workCtx, cancel := context.WithCancelCause(ctx)
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		cancel(s.renew(workCtx, lease))
	}()
	change, err := work(workCtx, lease.Instance)
	if cause := context.Cause(workCtx); cause != nil && ctx.Err() == nil {
		err = cause
	}
	cancel(nil)
	<-renewing

	endCtx, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	if err != nil {
		_ = s.Store.EndLease(endCtx, lease, nil) // it expires
		return err
	}
	return s.Store.EndLease(endCtx, lease, change)
}

// endTime bounds the end of a lease, also when the client has left.
const endTime = 5 * time.Second

// renew renews a lease until ctx ends, and returns the error because of which the lease is lost. A single renewal can
// fail, for example while the database restarts.
func (s *Service) renew(ctx context.Context, l *lcm.Lease) error {
	const enough = lcm.LeaseTime * 4 / 5
	tick := time.NewTicker(lcm.LeaseTime / 5)
	defer tick.Stop()
	for renewed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		start := time.Now()
		err := s.renewUntil(ctx, l, renewed.Add(enough))
		switch {
		case err == nil:
			renewed = start
		case ctx.Err() != nil:
			return nil
		case lcm.AsError(err).Code == lcm.CodeConflict, time.Since(renewed) >= enough:
			return err
		}
	}
}

// renewUntil renews a lease once, if the database answers before a time.
func (s *Service) renewUntil(ctx context.Context, l *lcm.Lease, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return s.Store.RenewLease(ctx, l)
}
