package auth

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// maxCached bounds the accepted tokens of a cache, and the rejected ones. An entry takes about 500 bytes.
const maxCached = 10_000

// keepRejected is how long a rejected token is remembered. It is short: a token can become valid, for example when the
// clocks differ, or when a user gets a role.
const keepRejected = 10 * time.Second

// digest is the key of a token: the cache does not hold tokens.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// entry is the result of one check.
type entry struct {
	key       digest
	principal lcm.Principal
	rejected  *rejection // nil if the token is valid
	until     time.Time  // not used from then on
	renew     time.Time  // checked again from then on, while the entry is still used
}

// cache keeps results of checks. Accepted and rejected tokens have separate room: a flood of invalid tokens evicts no
// valid one. The oldest use is evicted first.
type cache struct {
	mu       sync.Mutex
	accepted lru
	rejected lru
}

type lru struct {
	entries map[digest]*list.Element
	order   *list.List // of *entry, the last use first
}

func newCache() *cache {
	room := func() lru { return lru{map[digest]*list.Element{}, list.New()} }
	return &cache{accepted: room(), rejected: room()}
}

// get returns a copy of the entry of a token. renew says that this caller has to check the token again.
func (c *cache) get(key digest, now time.Time) (e entry, renew, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range []*lru{&c.accepted, &c.rejected} {
		at, found := l.entries[key]
		if !found {
			continue
		}
		held, _ := at.Value.(*entry) // nothing else is stored
		if !now.Before(held.until) {
			l.remove(at)
			continue
		}
		l.order.MoveToFront(at)
		if !held.renew.IsZero() && !now.Before(held.renew) {
			held.renew = now.Add(keepRejected) // the next caller, if this check fails
			renew = true
		}
		return *held, renew, true
	}
	return entry{}, false, false
}

// put stores the result of a check.
func (c *cache) put(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range []*lru{&c.accepted, &c.rejected} {
		if at, ok := l.entries[e.key]; ok {
			l.remove(at)
		}
	}
	l := &c.accepted
	if e.rejected != nil {
		l = &c.rejected
	}
	if len(l.entries) >= maxCached {
		l.remove(l.order.Back())
	}
	l.entries[e.key] = l.order.PushFront(&e)
}

// forget removes an accepted token.
func (c *cache) forget(key digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.accepted.entries[key]; at != nil {
		c.accepted.remove(at)
	}
}

func (l *lru) remove(at *list.Element) {
	e, _ := l.order.Remove(at).(*entry) // nothing else is stored
	delete(l.entries, e.key)
}
