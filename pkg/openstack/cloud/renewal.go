package cloud

import (
	"context"
	"errors"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gybe-nfv/gybe/pkg/keystonetime"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// A new token belongs to no tick, as a login does not: it is asked for in the background. A token that is about to
// expire is used until the new one is there. A caller whose token was refused waits until the new one is there or the
// VIM counts as unavailable, so for about slowLogin at most.

// retryRenewal is how long a token is used before the next one is asked for again, when that has failed.
const retryRenewal = 10 * time.Second

// noteExpiry plans the renewal of a new token at nine tenths of its life. The caller holds mu.
func (c *session) noteExpiry() {
	token := c.provider.Token()
	if token == c.token {
		return
	}
	c.token, c.renewAt = token, time.Time{}
	res, ok := c.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return
	}
	var t keystonetime.Expiry
	if err := res.ExtractInto(&t); err != nil {
		return
	}
	if life := time.Until(t.ExpiresAt.Time); life > 0 { // else our clocks differ, and a refusal will tell
		c.renewAt = time.Now().Add(life * 9 / 10)
	}
}

// renew begins to get a new token when the present one is about to expire.
func (c *session) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteExpiry()
	if c.renewAt.IsZero() || time.Now().Before(c.renewAt) || c.renewal != nil {
		return
	}
	_, _ = c.beginRenewal() // without a place, the next caller begins it
}

// awaitToken gets a new token in place of one that was refused. All callers use the login that one of them has begun.
func (c *session) awaitToken(ctx context.Context) error {
	if e := c.health.away(); e != nil {
		return e
	}
	c.mu.Lock()
	l, err := c.renewal, error(nil)
	if l == nil {
		l, err = c.beginRenewal()
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = l.wait(ctx, c.health)
	return err
}

// beginRenewal starts to get a new token. The caller holds mu.
func (c *session) beginRenewal() (*login, error) {
	if !c.pool.takeLogin(c.conn.base) {
		return nil, tooManyLogins()
	}
	l := &login{url: c.conn.base, began: time.Now(), done: make(chan struct{})}
	c.renewal = l
	c.pool.wg.Go(func() {
		defer c.pool.giveLogin(c.conn.base)
		c.performRenewal(l)
	})
	return l, nil
}

// performRenewal gets a new token. Its outcome counts for the availability of the VIM like that of a login.
func (c *session) performRenewal(l *login) {
	slow := time.AfterFunc(slowLogin, func() { c.health.suspect(c.slot.slow(), keystone) })
	defer slow.Stop()
	err := fault(c.pool.ctx, callInfo{
		what: "renew the token of " + c.conn.user(), service: keystone, url: c.conn.base + "/v3/auth/tokens",
	}, c.relogin(c.pool.ctx))
	slow.Stop()
	l.err = err
	e, _ := errors.AsType[*lcm.Error](err)
	silent := e != nil && e.Class == lcm.Transient && e.Title != titleBusy
	if silent {
		l.err = c.health.fail(e, keystone, false)
	}
	c.mu.Lock()
	c.renewal = nil
	c.noteExpiry()
	if err != nil {
		c.renewAt = time.Now().Add(retryRenewal)
	}
	c.mu.Unlock()
	close(l.done)
	if !silent && c.health.answer(keystone, time.Now()) {
		c.pool.cfg.Answers(c.health.key)
	}
}

// tooManyLogins is the error of a request that needs a login when the places for logins are taken.
func tooManyLogins() *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Too many logins", RetryAfter: time.Second,
		Detail: "too many logins to VIMs are under way",
	}
}
