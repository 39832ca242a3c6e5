package cloud

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	// ownLogin is how long a tick waits for the login that it has begun: a healthy Keystone needs less.
	ownLogin = time.Second
	// slowLogin is how long a login may take before its VIM counts as unavailable. The login goes on.
	slowLogin = 10 * time.Second
	// Logins under way at the same time, to one endpoint and to all.
	loginsOfEndpoint = 32
	loginsOfAll      = 512
	// retryCatalogue is how long a session is used before its catalogue is asked for again, when that has failed.
	retryCatalogue = 5 * time.Minute
)

// slot is the place of one identity's client.
type slot struct {
	conn   connection
	used   time.Time // guarded by Pool.mu
	health *health

	mu     sync.Mutex
	client *Client // nil until the first login
	login  *login  // under way; nil when none is
}

// login is an attempt to get a client, or to find out whether the VIM answers again.
type login struct {
	url   string
	began time.Time
	done  chan struct{} // closed when client and err are set

	client *Client
	err    error
}

// enter returns the client if it can be used now, or else the login that is under way; own says that it began with this
// call. The error is that of a VIM that is left alone.
func (sl *slot) enter(p *Pool) (c *Client, l *login, own bool, err error) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	available := sl.health.asked() == ""
	if sl.client != nil && available {
		if time.Since(sl.client.began) >= clientAge && sl.login == nil { // read the catalogue again
			_, _ = sl.begin(p) // without a place, the next caller begins it
		}
		return sl.client, nil, false, nil
	}
	if sl.login != nil {
		return nil, sl.login, false, nil
	}
	if e := sl.health.away(); e != nil {
		return nil, nil, false, e
	}
	l, err = sl.begin(p)
	return nil, l, true, err
}

// begin starts a login. The caller holds mu.
func (sl *slot) begin(p *Pool) (*login, error) {
	if !p.takeLogin(sl.conn.base) {
		return nil, lcm.Blocked(time.Second, "waits for a login to VIM "+sl.conn.base+": too many are under way")
	}
	l := &login{url: sl.conn.base, began: time.Now(), done: make(chan struct{})}
	sl.login = l
	old, svc := sl.client, sl.health.asked()
	p.wg.Go(func() {
		defer p.giveLogin(sl.conn.base)
		sl.perform(p, l, old, svc)
	})
	return l, nil
}

// perform logs in, and asks the service that did not answer, if there was one.
func (sl *slot) perform(p *Pool, l *login, old *Client, svc Service) {
	slow := time.AfterFunc(slowLogin, func() { sl.health.suspect(sl.slow(), keystone) })
	defer slow.Stop()
	c, err := p.authenticate(p.ctx, sl)
	slow.Stop()
	at := keystone
	if err == nil && svc != "" && svc != keystone {
		at = svc
		err = c.probe(p.ctx, svc)
	}
	e, _ := errors.AsType[*lcm.Error](err)
	silent := e != nil && e.Class == lcm.Transient && e.Title != titleBusy
	sl.mu.Lock()
	sl.login = nil
	switch {
	case silent && old != nil && svc == "": // the catalogue was to be read again; the session is still good
		old.began = old.began.Add(retryCatalogue)
		l.client = old
	case silent:
		l.err = sl.health.fail(e, at, true)
	default: // an error here is a refusal; a session with these credentials is not used any more
		l.client, l.err, sl.client = c, err, c
	}
	sl.mu.Unlock()
	wake := !silent && sl.health.answer(at, time.Now())
	close(l.done)
	if c != nil && old != nil && l.client == c {
		old.transport.CloseIdleConnections()
	}
	if wake {
		p.cfg.Answers(sl.health.key)
	}
}

// slow is the error of a login that has not ended for a time.
func (sl *slot) slow() *lcm.Error {
	c := callInfo{what: "log in as " + sl.conn.user(), service: keystone, url: sl.conn.base + "/v3/auth/tokens"}
	return c.unreachable(context.DeadlineExceeded)
}

// takeLogin takes one of the places for logins.
func (p *Pool) takeLogin(endpoint string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for _, n := range p.logins {
		all += n
	}
	if p.ctx.Err() != nil || all >= loginsOfAll || p.logins[endpoint] >= loginsOfEndpoint {
		return false
	}
	p.logins[endpoint]++
	return true
}

func (p *Pool) giveLogin(endpoint string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logins[endpoint]--; p.logins[endpoint] <= 0 {
		delete(p.logins, endpoint)
	}
}

// wait returns the outcome of a login. A request, which gives the VIM's health, does not wait once the VIM counts as
// unavailable.
func (l *login) wait(ctx context.Context, h *health) (*Client, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.done:
			return l.client, l.err
		case <-ctx.Done():
			if h == nil {
				return nil, lcm.Blocked(ownLogin, "waits for the login to VIM "+l.url)
			}
			return nil, ctx.Err()
		case <-tick.C:
		}
		if h != nil && time.Since(l.began) > ownLogin {
			if e := h.tried(); e != nil {
				return nil, e
			}
		}
	}
}

// blocked is the wait for the login of another caller: it looks again after as much time as the login has taken so far.
func (l *login) blocked(h *health) error {
	const soonest, latest = 20 * time.Millisecond, 10 * time.Second
	after := min(max(time.Since(l.began), soonest), latest)
	why := "waits for the login to VIM " + l.url + " that began at " + l.began.UTC().Format("15:04:05 UTC")
	if after > time.Second {
		after += h.crowd()
	}
	if e := h.tried(); e != nil {
		return lcm.BlockedByVim(after, e.Error())
	}
	return lcm.Blocked(after, why)
}

// probe asks a service for anything: every answer is one, whatever it says.
func (c *Client) probe(ctx context.Context, svc Service) error {
	base, err := c.base(svc)
	if err != nil {
		return nil //nolint:nilerr // the service is gone from the catalogue
	}
	req, err := http.NewRequestWithContext(withService(ctx, svc), http.MethodGet, base, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Auth-Token", c.provider.Token())
	res, err := c.provider.HTTPClient.Do(req)
	if err != nil {
		return callInfo{"look whether the service answers", svc, base}.unreachable(err)
	}
	return res.Body.Close()
}

// end closes idle connections.
func (sl *slot) end() {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.client != nil {
		sl.client.transport.CloseIdleConnections()
	}
}
