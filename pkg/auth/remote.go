package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// RemoteOptions limit what requests with unknown tokens can cost Keystone or an OpenID provider.
type RemoteOptions struct {
	// Keep is how long a result is used; 0 is five minutes. It is never used beyond the expiry of the token.
	Keep time.Duration
	// Checks bounds the checks at the same time; 0 is 16. Eight times as many requests may wait for one.
	Checks int
	// Failures bounds the rejected tokens of one address in a minute; 0 is no limit.
	Failures int
	// Timeout bounds a check; 0 is five seconds.
	Timeout time.Duration
	// Clock is time.Now if nil.
	Clock func() time.Time
}

func (o *RemoteOptions) defaults() {
	if o.Keep == 0 {
		o.Keep = 5 * time.Minute
	}
	if o.Checks == 0 {
		o.Checks = 16
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
}

const (
	// maxWait bounds the time that a request waits for a place.
	maxWait = 2 * time.Second
	// pauseAfterOutage is how long no token is checked after Keystone or the provider did not answer.
	pauseAfterOutage = time.Second
)

// result is what a remote check says about a valid token.
type result struct {
	principal lcm.Principal
	expires   time.Time // zero if the other side does not say
}

// remoteCheck asks the other side about a token. The error is a *rejection with reasonUnavailable if it cannot say.
type remoteCheck func(ctx context.Context, secret string) (result, error)

// remote checks tokens at another server, with a cache, one check for each token at a time, and limits.
type remote struct {
	opts     RemoteOptions
	log      *slog.Logger
	server   string // for texts, e.g. Keystone
	ask      remoteCheck
	cache    *cache
	failures *failures
	places   chan struct{}
	waiting  atomic.Int64
	outage   atomic.Int64 // Unix nanoseconds until which nothing is asked

	mu    sync.Mutex
	calls map[digest]*call
}

// call is one check, which several requests may wait for.
type call struct {
	done chan struct{}
	entry
	err error
}

func newRemote(server string, o RemoteOptions, log *slog.Logger, ask remoteCheck) *remote {
	o.defaults()
	return &remote{
		opts: o, log: log, server: server, ask: ask, cache: newCache(), failures: newFailures(o.Failures),
		places: make(chan struct{}, o.Checks), calls: map[digest]*call{},
	}
}

// check returns the principal of a token.
func (r *remote) check(ctx context.Context, secret, from string) (lcm.Principal, error) {
	key, now := digestOf(secret), r.opts.Clock()
	e, renew, ok := r.cache.get(key, now)
	if ok {
		if renew {
			r.renew(ctx, key, secret)
		}
		if e.rejected != nil {
			return lcm.Principal{}, e.rejected
		}
		return e.principal, nil
	}
	if r.failures.exhausted(from, now) {
		return lcm.Principal{}, reject(reasonLimited, lcm.CodeTooMany,
			"too many tokens from this address were rejected within a minute").later()
	}
	c, err := r.join(ctx, key, secret)
	if err != nil {
		return lcm.Principal{}, err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		return lcm.Principal{}, context.Cause(ctx)
	}
	if c.err != nil {
		return lcm.Principal{}, c.err
	}
	if c.rejected != nil {
		r.failures.add(from, now)
		return lcm.Principal{}, c.rejected
	}
	return c.principal, nil
}

// renew checks a token again while its cached result is still used, so that an outage which is shorter than the rest of
// the time does not interrupt clients. It does nothing if all places are taken.
func (r *remote) renew(ctx context.Context, key digest, secret string) {
	select {
	case r.places <- struct{}{}:
		r.start(ctx, key, secret)
	default:
	}
}

// join returns the running check of a token, or starts one.
func (r *remote) join(ctx context.Context, key digest, secret string) (*call, error) {
	r.mu.Lock()
	c := r.calls[key]
	r.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if r.opts.Clock().UnixNano() < r.outage.Load() {
		return nil, r.unavailable()
	}
	if err := r.takePlace(ctx); err != nil {
		return nil, err
	}
	return r.start(ctx, key, secret), nil
}

// takePlace waits for one of the places.
func (r *remote) takePlace(ctx context.Context) error {
	select {
	case r.places <- struct{}{}:
		return nil
	default:
	}
	defer r.waiting.Add(-1)
	busy := reject(reasonLimited, lcm.CodeUnavailable, "too many tokens are being checked at %s", r.server).
		later()
	if r.waiting.Add(1) > int64(8*r.opts.Checks) {
		return busy
	}
	patience := time.NewTimer(maxWait)
	defer patience.Stop()
	select {
	case r.places <- struct{}{}:
		return nil
	case <-patience.C:
		return busy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start runs a check in a place that the caller has taken. The check does not end with the request: others wait for it.
func (r *remote) start(ctx context.Context, key digest, secret string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[key]; c != nil { // another request was faster
		<-r.places
		return c
	}
	c := &call{done: make(chan struct{})}
	r.calls[key] = c
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.Timeout)
	go func() {
		defer cancel()
		defer func() { <-r.places }()
		c.entry, c.err = r.run(ctx, key, secret)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls[key] == c { // the token was not forgotten in the meantime
			delete(r.calls, key)
			if c.err == nil {
				r.cache.put(c.entry)
			}
		}
		close(c.done)
	}()
	return c
}

// forget removes an accepted token. A check that still runs leaves no result behind.
func (r *remote) forget(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, digestOf(secret))
	r.cache.forget(digestOf(secret))
}

// run asks the other side. The error is not cached.
func (r *remote) run(ctx context.Context, key digest, secret string) (entry, error) {
	res, err := r.ask(ctx, secret)
	now := r.opts.Clock()
	if err != nil {
		no, ok := errors.AsType[*rejection](err)
		if ok && no.reason != reasonUnavailable {
			return entry{key: key, rejected: no, until: now.Add(min(keepRejected, r.opts.Keep))}, nil
		}
		if !ok {
			no = r.unavailable()
			no.problem.Cause = err
		}
		r.outage.Store(now.Add(pauseAfterOutage).UnixNano())
		r.log.WarnContext(ctx, "tokens cannot be checked", "server", r.server, "error", causeOf(no))
		return entry{}, no
	}
	e := entry{
		key: key, principal: res.principal, until: now.Add(r.opts.Keep), renew: now.Add(r.opts.Keep / 5 * 4),
	}
	if !res.expires.IsZero() && res.expires.Before(e.until) {
		e.until, e.renew = res.expires, time.Time{}
	}
	if !now.Before(e.until) {
		e.rejected = reject(reasonExpired, lcm.CodeUnauthorized, "the token has expired").hint("log in again")
		e.until = now.Add(min(keepRejected, r.opts.Keep))
	}
	return e, nil
}

// unavailable is the answer while the other side cannot say whether a token is valid. It is never 401: a client would
// throw a good token away.
func (r *remote) unavailable() *rejection {
	return reject(reasonUnavailable, lcm.CodeUnavailable,
		"%s does not answer, so the token cannot be checked now", r.server).later()
}

func causeOf(r *rejection) string {
	if r.problem.Cause != nil {
		return r.problem.Cause.Error()
	}
	return r.problem.Detail
}
