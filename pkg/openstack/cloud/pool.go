package cloud

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Limits of a Pool.
const (
	maxClients = 256
	clientAge  = time.Hour // after which the catalogue is read again
)

// Config tunes a Pool.
type Config struct {
	// CloudsFile is a clouds.yaml of the operator; VIM connections may name a cloud of it instead of credentials. ""
	// allows none.
	CloudsFile string
	// Timeout bounds one call with its answer, uploads excepted.
	Timeout time.Duration
	// Outbound says which addresses may be connected to; nil allows all.
	Outbound *outbound.Policy
	// AwayFirst and AwayLongest are the times for which a VIM that does not answer is left alone: after the first
	// failure, doubling, and at most. Default 5 s and 1 minute.
	AwayFirst, AwayLongest time.Duration
	// Answers is called with the lcm.VimKey of a VIM for which operations wait, when it answers (again); may be nil.
	Answers func(key string)
	// Changed is called when the availability of a VIM has changed; may be nil. It MUST return at once.
	Changed func()
	// Observe receives every call, for metrics; may be nil.
	Observe Observe
	// WrapTransport puts a layer around every HTTP call, for tests that count calls or let a node die at one; may be
	// nil.
	WrapTransport func(http.RoundTripper) http.RoundTripper
}

// Pool keeps one authenticated client per VIM identity. It is safe for concurrent use.
type Pool struct {
	cfg     Config
	log     *slog.Logger
	answers *answerBudget
	// ctx is that of logins: they outlive their callers.
	ctx   context.Context
	close context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex
	kept   map[[sha256.Size]byte]*slot
	logins map[string]int // under way, by endpoint
}

// NewPool returns a pool without clients. The caller must Close it.
func NewPool(cfg Config, log *slog.Logger) *Pool {
	if cfg.AwayFirst <= 0 {
		cfg.AwayFirst = 5 * time.Second
	}
	if cfg.AwayLongest <= 0 {
		cfg.AwayLongest = time.Minute
	}
	cfg.AwayLongest = max(cfg.AwayLongest, cfg.AwayFirst)
	if cfg.Answers == nil {
		cfg.Answers = func(string) {}
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	p := &Pool{
		cfg: cfg, log: log, answers: newAnswerBudget(defaultLimits()), kept: map[[sha256.Size]byte]*slot{},
		logins: map[string]int{},
	}
	p.ctx, p.close = context.WithCancel(context.Background())
	p.wg.Go(p.tryUnavailable)
	return p
}

const (
	tryEvery = time.Second
	// unused is the time after which a VIM that does not answer is dropped if no caller asks for it.
	unused = time.Hour
)

// tryUnavailable tries the VIMs that do not answer when their pauses are over, also if no operation waits for them:
// users see when they answer again.
func (p *Pool) tryUnavailable() {
	tick := time.NewTicker(tryEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
		}
		for _, sl := range p.unavailable() {
			_, _, _, _ = sl.enter(p) // begins a login if none is under way
		}
	}
}

// unavailable returns the places of the VIMs that do not answer, without those that were not used for long.
func (p *Pool) unavailable() []*slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*slot
	for id, sl := range p.kept {
		if sl.health.asked() == "" {
			continue
		}
		if time.Since(sl.used) > unused {
			delete(p.kept, id)
			sl.end()
			p.cfg.Changed()
			continue
		}
		out = append(out, sl)
	}
	return out
}

// Validate reports what is wrong with a VIM connection, without asking the VIM.
func (p *Pool) Validate(key string, v sol.VimConnectionInfo) []lcm.InvalidParam {
	_, bad := p.connection(key, v)
	return bad
}

// Connect returns the client for a VIM connection, for a request: it waits for a login if there is no client yet. A VIM
// that does not answer is an error at once.
func (p *Pool) Connect(ctx context.Context, key string, v sol.VimConnectionInfo) (*Client, error) {
	sl, err := p.find(key, v)
	if err != nil {
		return nil, err
	}
	c, l, _, err := sl.enter(p)
	switch {
	case lcm.IsBlocked(err):
		return nil, tooManyLogins()
	case c != nil || err != nil:
		return c, err
	}
	return l.wait(ctx, sl.health)
}

// Enter is Connect for a tick: it does not wait for the login of another caller, and not for long for the one that it
// begins, but returns lcm.Blocked.
func (p *Pool) Enter(ctx context.Context, key string, v sol.VimConnectionInfo) (*Client, error) {
	sl, err := p.find(key, v)
	if err != nil {
		return nil, err
	}
	c, l, own, err := sl.enter(p)
	if c != nil || err != nil {
		return c, err
	}
	if own {
		ctx, cancel := context.WithTimeout(ctx, ownLogin)
		defer cancel()
		return l.wait(ctx, nil)
	}
	return nil, l.blocked(sl.health)
}

func (p *Pool) find(key string, v sol.VimConnectionInfo) (*slot, error) {
	c, bad := p.connection(key, v)
	if err := lcm.Unprocessable(bad...); err != nil {
		return nil, err
	}
	return p.slot(c, lcm.VimKey(v)), nil
}

// Drop forgets a client whose credentials were refused.
func (p *Pool) Drop(c *Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.kept, c.conn.identity())
}

// Health lists what is known of the VIMs that were used last.
func (p *Pool) Health() []Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Health, 0, len(p.kept))
	for _, sl := range p.kept {
		out = append(out, sl.health.state())
	}
	return out
}

// Close ends logins and idle connections; clients that are in use go on.
func (p *Pool) Close() {
	p.close()
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sl := range p.kept {
		sl.end()
	}
	p.kept = nil
}

func (p *Pool) slot(conn connection, key string) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[[sha256.Size]byte]*slot{}
	}
	id := conn.identity()
	sl, ok := p.kept[id]
	if !ok {
		if len(p.kept) >= maxClients {
			p.evict()
		}
		sl = &slot{conn: conn, health: &health{
			key: key, url: conn.base, first: p.cfg.AwayFirst, longest: p.cfg.AwayLongest, log: p.log,
			changed: p.cfg.Changed, answered: map[Service]time.Time{},
			pending: map[Service]pending{},
		}}
		p.kept[id] = sl
	}
	sl.used = time.Now()
	return sl
}

// evict forgets the client that was used longest ago.
func (p *Pool) evict() {
	var oldest [sha256.Size]byte
	var found *slot
	for k, sl := range p.kept {
		if found == nil || sl.used.Before(found.used) {
			oldest, found = k, sl
		}
	}
	if found != nil {
		delete(p.kept, oldest)
		found.end()
		if found.health.asked() != "" {
			p.cfg.Changed()
		}
	}
}
