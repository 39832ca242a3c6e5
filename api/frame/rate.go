package frame

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/source"
)

const (
	// rateBurst is for how many seconds of requests a user may send at once.
	rateBurst = 2
	// maxRates bounds the users whose requests are counted.
	maxRates = 10_000
)

// rates limits the requests of each user of a node: one client that sends as fast as it can must not take the node's
// CPU from the others.
type rates struct {
	perSecond int // 0 is no limit
	mu        sync.Mutex
	users     map[sender]*rate.Limiter
}

// sender is whose requests are counted together: a subject in a project, or a network (package source) if the node
// does not authenticate.
type sender struct {
	project, subject string
	network          netip.Prefix
}

func newRates(perSecond int) *rates {
	return &rates{perSecond: perSecond, users: map[sender]*rate.Limiter{}}
}

// take counts a request. It returns CodeTooMany, with the time until the next request is accepted, when its sender has
// sent too many.
func (l *rates) take(r *http.Request, p Principal, now time.Time) error {
	if l.perSecond == 0 {
		return nil
	}
	wait := l.wait(senderOf(r, p), now)
	if wait == 0 {
		return nil
	}
	return &lcm.Error{
		Code: lcm.CodeTooMany, Title: "Too many requests", RetryAfter: wait,
		Detail: fmt.Sprintf("you have sent more than %d requests in a second, the limit of one user", l.perSecond),
		Hint:   "send fewer requests, or raise limits.requests of this server",
	}
}

// wait counts a request, and returns 0; or how long its sender has to wait, and counts nothing.
func (l *rates) wait(from sender, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	user := l.users[from]
	if user == nil {
		l.makeRoom(now)
		user = rate.NewLimiter(rate.Limit(l.perSecond), rateBurst*l.perSecond)
		l.users[from] = user
	}
	taken := user.ReserveN(now, 1)
	wait := taken.DelayFrom(now)
	if wait > 0 {
		taken.CancelAt(now)
	}
	return wait
}

// makeRoom removes a user before another one is added: one that has not sent anything for a time, or any.
func (l *rates) makeRoom(now time.Time) {
	if len(l.users) < maxRates {
		return
	}
	var found sender
	for from, user := range l.users {
		found = from
		if user.TokensAt(now) >= float64(rateBurst*l.perSecond) {
			break
		}
	}
	delete(l.users, found)
}

func senderOf(r *http.Request, p Principal) sender {
	if p.Subject != "" {
		return sender{project: p.Project, subject: p.Subject}
	}
	return sender{network: source.OfRemote(r.RemoteAddr)}
}
