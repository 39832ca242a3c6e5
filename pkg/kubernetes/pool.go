package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The bounds of a Pool.
const (
	maxPooled = 64
	maxUnused = 10 * time.Minute
)

// Pool keeps clients of clusters, so that calls of one connection share connections, tokens and what the API server has
// said about its kinds. Connections that differ in anything, also in the credentials, never share a client. With a call
// of Get, clients that have not been used for 10 minutes are closed, and while there are more than 64, those that have
// not been used for longest. It is safe for concurrent use.
type Pool[C interface{ Close() }] struct {
	connect func(sol.VimConnectionInfo) (C, error)
	now     func() time.Time

	mu  sync.Mutex
	all map[poolKey]*pooled[C]
}

// poolKey is a hash of a connection: the credentials themselves are not kept as a key.
type poolKey [sha256.Size]byte

// pooled is a client with the number of its users.
type pooled[C any] struct {
	client C
	users  int
	since  time.Time // when the last user has left
}

// NewPool returns a pool whose clients connect makes. connect must not make requests: it is called with the pool
// locked. now is the clock; nil is the system's.
func NewPool[C interface{ Close() }](connect func(sol.VimConnectionInfo) (C, error), now func() time.Time) *Pool[C] {
	if now == nil {
		now = time.Now
	}
	return &Pool[C]{connect: connect, now: now, all: map[poolKey]*pooled[C]{}}
}

// Get returns the client of a connection. release has to be called once after its use. The error is that of connect.
func (p *Pool[C]) Get(vim sol.VimConnectionInfo) (client C, release func(), err error) {
	raw, err := json.Marshal(vim)
	if err != nil {
		return client, nil, fmt.Errorf("encode a VIM connection: %w", err)
	}
	key := poolKey(sha256.Sum256(raw))
	p.mu.Lock()
	defer p.mu.Unlock()
	has := p.all[key]
	if has == nil {
		if client, err = p.connect(vim); err != nil {
			return client, nil, err
		}
		has = &pooled[C]{client: client}
		p.all[key] = has
	}
	has.users++
	p.evict()
	return has.client, sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		has.users--
		has.since = p.now()
	}), nil
}

// evict closes clients that are unused for too long, or too many. It is called with the pool locked.
func (p *Pool[C]) evict() {
	var unused []poolKey
	for key, c := range p.all {
		if c.users == 0 {
			unused = append(unused, key)
		}
	}
	slices.SortFunc(unused, func(a, b poolKey) int {
		return cmp.Compare(p.all[a].since.UnixNano(), p.all[b].since.UnixNano())
	})
	for _, key := range unused {
		c := p.all[key]
		if len(p.all) > maxPooled || p.now().Sub(c.since) > maxUnused {
			c.client.Close()
			delete(p.all, key)
		}
	}
}

// Close closes all clients, also those in use.
func (p *Pool[C]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, c := range p.all {
		c.client.Close()
		delete(p.all, key)
	}
}
