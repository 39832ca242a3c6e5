package auth

import (
	"net/netip"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/source"
)

// maxAddresses bounds the addresses whose failures are counted.
const maxAddresses = 10_000

// failures limits the tokens of one address that Keystone or the provider rejects: a bucket for each address loses one
// for each failure, and is full again after a minute.
type failures struct {
	limit float64 // 0 is no limit
	mu    sync.Mutex
	spent map[netip.Prefix]*bucket
}

type bucket struct {
	used float64
	at   time.Time
}

func newFailures(limit int) *failures {
	return &failures{limit: float64(limit), spent: map[netip.Prefix]*bucket{}}
}

// exhausted says whether an address has to wait before another unknown token is checked.
func (f *failures) exhausted(remote string, now time.Time) bool {
	if f.limit == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.spent[source.OfRemote(remote)]
	return b != nil && b.drained(now, f.limit) > f.limit-1
}

// add counts a failure.
func (f *failures) add(remote string, now time.Time) {
	if f.limit == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	from := source.OfRemote(remote)
	b := f.spent[from]
	if b == nil {
		f.makeRoom(now)
		b = &bucket{at: now}
		f.spent[from] = b
	}
	b.used, b.at = b.drained(now, f.limit)+1, now
}

// makeRoom removes an address before another one is added: one that has nothing left, or any.
func (f *failures) makeRoom(now time.Time) {
	if len(f.spent) < maxAddresses {
		return
	}
	var any netip.Prefix
	for from, b := range f.spent {
		any = from
		if b.drained(now, f.limit) == 0 {
			break
		}
	}
	delete(f.spent, any)
}

// drained is the number of failures that still count.
func (b *bucket) drained(now time.Time, limit float64) float64 {
	return max(0, b.used-now.Sub(b.at).Minutes()*limit)
}
