package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/notify"
)

// serving is the work of one claim.
type serving struct {
	*Runner
	claim *notify.Claim
	began time.Time

	mu     sync.Mutex
	sure   time.Time // the claim was valid then
	failed []int64   // deliveries that failed in this page
	err    *notify.SendError
	broken error // the database does not answer, or the node stops
}

// serve delivers what a subscriber has to get, until nothing is left, it fails, its turn is over, or another node may
// have the subscriber. lost is closed when others may take over the claims of this node; nil is never.
func (r *Runner) serve(ctx context.Context, c *notify.Claim, lost <-chan struct{}) {
	s := &serving{Runner: r, claim: c, began: time.Now()}
	held, end := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(held, lost, end) })
	outcome, err := s.deliver(held)
	end(nil)
	renewing.Wait()
	if err != nil && ctx.Err() == nil && !errors.Is(err, notify.ErrLost) {
		s.Log.WarnContext(ctx, "a subscriber is left alone for a moment", "subscription_id", c.Subscription.ID,
			"error", err)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease/3)
	defer cancel()
	if err := r.Ledger.Release(last, c, outcome); err != nil { // the lease ends by itself
		s.Log.WarnContext(ctx, "a subscriber is not released", "subscription_id", c.Subscription.ID, "error", err)
	}
}

// renew keeps the lease until ctx ends. When it is lost, or may be, it ends the work.
func (s *serving) renew(ctx context.Context, lost <-chan struct{}, end context.CancelCauseFunc) {
	renewed := time.Now()
	next := time.NewTicker(lease / 4)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lost:
			end(notify.ErrLost)
			return
		case <-next.C:
		}
		asked := time.Now()
		err := s.Ledger.Renew(ctx, s.claim, lease)
		switch {
		case err == nil:
			renewed = asked
		case errors.Is(err, notify.ErrLost), time.Since(renewed) > lease*3/4:
			end(notify.ErrLost)
			return
		}
	}
}

// certain says whether the claim is valid, and asks the database if it has not said so for a moment: a process that was
// stopped in between must not send what the next owner has sent already.
func (s *serving) certain(ctx context.Context) bool {
	s.mu.Lock()
	sure := time.Since(s.sure) < certain
	s.mu.Unlock()
	if sure {
		return true
	}
	asked := time.Now()
	return s.stored(asked, s.Ledger.Renew(ctx, s.claim, lease))
}

// stored notes that the database has accepted the claim after a time, or why not.
func (s *serving) stored(asked time.Time, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.broken = err
		return false
	}
	s.sure = asked
	return true
}

func (s *serving) deliver(ctx context.Context) (notify.Outcome, error) {
	if err := s.claim.Unusable; err != nil {
		return notify.Outcome{Wait: lease, Slow: s.claim.Slow}, err
	}
	for {
		limit := page
		if s.claim.Failures > 0 {
			limit = 1
		}
		asked := time.Now()
		found, generation, err := s.Ledger.Pending(ctx, s.claim, limit)
		if !s.stored(asked, err) {
			return notify.Outcome{Wait: s.Options.RetryBase, Slow: s.claim.Slow}, err
		}
		if len(found) == 0 {
			return notify.Outcome{Generation: generation, Slow: s.claim.Slow}, nil
		}
		s.deliverPage(ctx, found)
		switch {
		case ctx.Err() != nil:
			return notify.Outcome{Wait: s.Options.RetryBase, Slow: s.claim.Slow}, context.Cause(ctx)
		case s.broken != nil:
			return notify.Outcome{Wait: s.Options.RetryBase, Slow: s.claim.Slow}, s.broken
		case s.err != nil:
			return s.fail(ctx)
		case time.Since(s.began) > turn:
			return notify.Outcome{Slow: s.claim.Slow}, nil
		}
	}
}

// deliverPage sends deliveries: those of one resource one after the other.
func (s *serving) deliverPage(ctx context.Context, found []notify.Outgoing) {
	var order []string
	of := map[string][]notify.Outgoing{}
	for _, d := range found {
		if of[d.Subject] == nil {
			order = append(order, d.Subject)
		}
		of[d.Subject] = append(of[d.Subject], d)
	}
	var all sync.WaitGroup
	running := make(chan struct{}, max(s.Options.Concurrency, 1))
	for _, subject := range order {
		running <- struct{}{}
		all.Go(func() {
			defer func() { <-running }()
			for _, d := range of[subject] {
				if !s.send(ctx, d) {
					return
				}
			}
		})
	}
	all.Wait()
}

// send sends one notification, and stores the result. It returns false when the page ends with it. A request that is
// running when the node stops gets its answer. One that is running when the claim is lost is cut off: the next owner
// sends the notification again, and others after it.
func (s *serving) send(ctx context.Context, d notify.Outgoing) bool {
	if s.stopped(ctx) || !s.certain(ctx) {
		return false
	}
	running, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), notify.ErrLost) {
			cut()
		}
	})()
	began := time.Now()
	err := s.post(running, d.Message)
	took := time.Since(began)
	if err != nil && errors.Is(context.Cause(ctx), notify.ErrLost) {
		return false
	}
	ctx = context.WithoutCancel(ctx)
	refused, ok := errors.AsType[*notify.SendError](err)
	switch {
	case err == nil:
		s.Observe.Notification(d.Message.API, "delivered", took)
		return s.accept(ctx, d, took)
	case ok && !refused.Permanent:
		s.Observe.Notification(d.Message.API, "failed", took)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.claim.Slow = took > slow
		s.failed = append(s.failed, d.Seq)
		if s.err == nil {
			s.err = refused
		}
		return false
	case !ok:
		refused = &notify.SendError{Reason: "internal error: " + err.Error()}
	}
	s.Observe.Notification(d.Message.API, "rejected", took)
	return s.reject(ctx, d, refused)
}

// accept stores that a notification was accepted.
func (s *serving) accept(ctx context.Context, d notify.Outgoing, took time.Duration) bool {
	s.mu.Lock()
	s.claim.Slow = took > slow
	c := *s.claim
	s.mu.Unlock()
	asked := time.Now()
	if !s.stored(asked, s.Ledger.Accept(ctx, &c, d.Seq)) {
		return false
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.FailingSince.IsZero() && !s.claim.FailingSince.IsZero() {
		s.Log.InfoContext(ctx, "a subscriber accepts notifications again", "subscription_id", c.Subscription.ID,
			"callback", host(&c), "failed_since", c.FailingSince)
		s.claim.Failures, s.claim.FailingSince = 0, time.Time{}
	}
	return true
}

// reject makes a dead letter.
func (s *serving) reject(ctx context.Context, d notify.Outgoing, refused *notify.SendError) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.claim
	if s.broken = s.Ledger.Reject(ctx, c, d.Seq, refused.Reason); s.broken != nil {
		return false
	}
	s.Observe.DeadLetters(d.Message.API, 1)
	s.Log.WarnContext(ctx, "a notification cannot be delivered", "subscription_id", c.Subscription.ID,
		"notification_id", d.Message.ID, "callback", host(c), "error", refused)
	if c.FailingSince.IsZero() {
		c.FailingSince = time.Now()
	}
	return true
}

// post makes the notification and sends it.
func (s *serving) post(ctx context.Context, m notify.Message) error {
	api := s.APIs[m.API]
	if api == nil {
		return fmt.Errorf("the interface %q is not known to this release", m.API)
	}
	body, err := api.Render(m, &s.claim.Subscription, s.Link)
	if err != nil {
		return err
	}
	return s.Sender.Send(ctx, &s.claim.Subscription, body)
}

// stopped says whether no further notification is sent in this page.
func (s *serving) stopped(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.broken != nil || ctx.Err() != nil
}

// fail stores the failure, and says when the subscriber is asked again.
func (s *serving) fail(ctx context.Context) (notify.Outcome, error) {
	c := s.claim
	dead, err := s.Ledger.Fail(ctx, c, s.failed, s.err.Reason)
	if err == nil && c.FailingSince.IsZero() {
		s.Log.WarnContext(ctx, "a subscriber does not accept notifications", "subscription_id", c.Subscription.ID,
			"callback", host(c), "error", s.err)
	}
	if dead > 0 {
		s.Observe.DeadLetters(c.Subscription.API, dead)
		s.Log.WarnContext(ctx, "notifications are given up", "subscription_id", c.Subscription.ID, "count", dead,
			"callback", host(c), "error", s.err)
	}
	wait := max(s.Options.backoff(c.Failures), s.err.RetryAfter)
	return notify.Outcome{Wait: wait, Slow: c.Slow}, err
}

// backoff is the time until the next attempt after a number of failures before the last one, between three quarters and
// five quarters of the nominal time.
func (o Options) backoff(failures int) time.Duration {
	const most = 20 // doublings
	nominal := min(o.RetryBase<<min(failures, most), o.RetryMax)
	return nominal*3/4 + rand.N(nominal/2+1) //nolint:gosec // to spread load
}

// host is where a subscriber is, for the log: the rest of the URL can hold a secret.
func host(c *notify.Claim) string {
	u, err := url.Parse(c.Subscription.Callback)
	if err != nil {
		return ""
	}
	return u.Host
}
