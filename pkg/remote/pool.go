package remote

import (
	"context"
	"sync"
	"time"
)

// Pool shares one connection per VNFC. It closes idle connections after some time. The zero value is not usable; use
// NewPool.
type Pool struct {
	opts Options
	idle time.Duration

	mu     sync.Mutex
	conns  map[Machine]*pooled
	closed bool
}

type pooled struct {
	target Target
	dialed chan struct{} // closed when client and err are set
	client *Client
	err    error
	users  int
	timer  *time.Timer // closes the connection when it has been idle for long
}

// NewPool returns a pool that closes connections after this idle time; 0 means one minute.
func NewPool(o Options, idle time.Duration) *Pool {
	if idle <= 0 {
		idle = time.Minute
	}
	return &Pool{opts: o, idle: idle, conns: map[Machine]*pooled{}}
}

// Get returns the connection to a VNFC's machine. It connects if there is no connection, or if address or credentials
// have changed. The caller calls release once after use, and never closes the client itself. Errors are those of Dial.
func (p *Pool) Get(ctx context.Context, t Target) (c *Client, release func(), err error) {
	p.mu.Lock()
	e := p.conns[t.machine()]
	if e != nil && (!e.target.same(t) || e.isBroken()) {
		p.dropConnection(t.machine(), e)
		e = nil
	}
	dial := e == nil
	if dial {
		e = &pooled{target: t, dialed: make(chan struct{})}
		p.conns[t.machine()] = e
	}
	e.users++
	if e.timer != nil {
		e.timer.Stop()
	}
	p.mu.Unlock()

	if dial {
		e.client, e.err = Dial(ctx, t, p.opts)
		close(e.dialed)
	}
	select {
	case <-e.dialed:
	case <-ctx.Done():
		p.release(t.machine(), e)
		return nil, nil, context.Cause(ctx)
	}
	if e.err != nil {
		p.mu.Lock()
		p.dropConnection(t.machine(), e)
		p.mu.Unlock()
		p.release(t.machine(), e)
		if !dial && ctx.Err() == nil && KindOf(e.err) == "" {
			// The context of the caller that dialled has ended; this caller dials again.
			return p.Get(ctx, t)
		}
		return nil, nil, e.err
	}
	return e.client, sync.OnceFunc(func() { p.release(t.machine(), e) }), nil
}

func (e *pooled) isBroken() bool {
	select {
	case <-e.dialed:
	default:
		return false
	}
	if e.err != nil {
		return true
	}
	select {
	case <-e.client.Done():
		return true
	default:
		return false
	}
}

// dropConnection removes a connection from the pool; it is closed when its last user releases it. The caller holds the
// lock.
func (p *Pool) dropConnection(key Machine, e *pooled) {
	if p.conns[key] == e {
		delete(p.conns, key)
	}
	if e.users == 0 && e.client != nil {
		_ = e.client.Close()
	}
}

func (p *Pool) release(key Machine, e *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.users--
	if e.users > 0 || e.client == nil {
		return
	}
	if p.conns[key] != e || p.closed {
		_ = e.client.Close()
		return
	}
	e.timer = time.AfterFunc(p.idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if e.users == 0 {
			p.dropConnection(key, e)
		}
	})
}

// Close closes all idle connections, and the others when their users release them. The pool may still be used: each
// connection is then closed after its use.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for key, e := range p.conns {
		if e.timer != nil {
			e.timer.Stop()
		}
		p.dropConnection(key, e)
	}
}
