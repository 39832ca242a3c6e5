package cloud

import (
	"context"
	"crypto/sha256"
	"fmt"
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

	mu   sync.Mutex
	kept map[[sha256.Size]byte]*slot
}

// NewPool returns a pool without clients. The caller must Close it.
func NewPool(cfg Config, log *slog.Logger) *Pool {
	return &Pool{cfg: cfg, log: log, answers: newAnswerBudget(defaultLimits())}
}

// Validate reports what is wrong with a VIM connection, without asking the VIM.
func (p *Pool) Validate(key string, v sol.VimConnectionInfo) []lcm.InvalidParam {
	_, bad := p.connection(key, v)
	return bad
}

// Connect returns the client for a VIM connection. It logs in when it has none yet, or an old one.
func (p *Pool) Connect(ctx context.Context, key string, v sol.VimConnectionInfo) (*Client, error) {
	c, bad := p.connection(key, v)
	if err := lcm.Unprocessable(bad...); err != nil {
		return nil, err
	}
	return p.get(ctx, c)
}

// slot is the place of one client; its lock is held during a login, so that others wait for the result.
type slot struct {
	lock chan struct{} // capacity 1
	used time.Time     // guarded by Pool.mu

	client *Client // guarded by lock
}

// get returns the client for a connection and authenticates first when it has none yet, or an old one.
func (p *Pool) get(ctx context.Context, conn connection) (*Client, error) {
	sl := p.slot(conn.identity())
	select {
	case sl.lock <- struct{}{}:
		defer func() { <-sl.lock }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a session: %w", ctx.Err())
	}
	if c := sl.client; c != nil && time.Since(c.began) < clientAge {
		return c, nil
	}

	c, err := p.authenticate(ctx, conn)
	if err != nil {
		return nil, err
	}
	if sl.client != nil {
		sl.client.transport.CloseIdleConnections()
	}
	sl.client = c
	return c, nil
}

// Drop forgets a client whose credentials were refused.
func (p *Pool) Drop(c *Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.kept, c.conn.identity())
}

// Close ends idle connections; clients that are in use go on.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sl := range p.kept {
		sl.end()
	}
	p.kept = nil
}

func (p *Pool) slot(key [sha256.Size]byte) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[[sha256.Size]byte]*slot{}
	}
	sl, ok := p.kept[key]
	if !ok {
		if len(p.kept) >= maxClients {
			p.evict()
		}
		sl = &slot{lock: make(chan struct{}, 1)}
		p.kept[key] = sl
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
	}
}

// end closes idle connections unless a login is under way.
func (sl *slot) end() {
	select {
	case sl.lock <- struct{}{}:
		if sl.client != nil {
			sl.client.transport.CloseIdleConnections()
		}
		<-sl.lock
	default:
	}
}
