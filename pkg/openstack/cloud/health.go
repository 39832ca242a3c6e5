package cloud

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Health is what a node knows about the availability of a VIM.
type Health struct {
	Key   string    // lcm.VimKey of the connection
	Since time.Time // when it stopped answering; zero while it answers
	Error string    // why, of the newest try
	Next  time.Time // of the next try
}

// Available reports whether the VIM answers.
func (h Health) Available() bool { return h.Since.IsZero() }

// health decides whether a VIM is asked. One that does not answer is left alone for a time, which doubles with every
// try that fails: operations fail or wait without a connection, and one caller at a time tries.
type health struct {
	key, url       string
	first, longest time.Duration // pauses
	log            *slog.Logger
	changed        func()

	mu       sync.Mutex
	answered map[Service]time.Time // the newest answers, or parts of them
	pending  map[Service]pending   // requests under way
	since    time.Time             // zero: available
	cause    *lcm.Error
	service  Service // the one that does not answer
	pause    time.Duration
	next     time.Time
	waiting  int // callers that were turned away since the newest try
}

// perSecond is how many of the operations that wait for a VIM look again in a second. The others look later, so that
// ten thousand that wait cost no more than a few hundred.
const perSecond = 50

// longestTurn bounds the additional wait of an operation among many that wait for the same VIM.
const longestTurn = 5 * time.Minute

// turn is the additional wait of the caller, so that not all come back at once. The caller holds mu.
func (h *health) turn() time.Duration {
	h.waiting++
	return min(time.Duration(h.waiting)*time.Second/perSecond, longestTurn)
}

// away returns the error of a VIM that is left alone now; nil when it may be asked.
func (h *health) away() *lcm.Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := time.Until(h.next)
	if h.since.IsZero() || left <= 0 {
		return nil
	}
	e := h.unavailable(left)
	e.Backoff = left + h.turn()
	return e
}

// tried returns the error of a VIM that does not answer while it is being tried; nil for one that answers.
func (h *health) tried() *lcm.Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return nil
	}
	return h.unavailable(0)
}

// crowd is the additional wait of a caller that waits for a login, among others.
func (h *health) crowd() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turn()
}

// unavailable is the error of a VIM that does not answer. The caller holds mu.
func (h *health) unavailable(left time.Duration) *lcm.Error {
	again := "it is being tried now"
	if left > 0 {
		again = "next try in " + max(left.Round(time.Second), time.Second).String()
	}
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "VIM unavailable",
		Detail: fmt.Sprintf(
			"VIM %s does not answer since %s: %s; %s", h.url, h.since.UTC().Format("15:04:05 UTC"), h.cause.Error(),
			again,
		),
		Hint: h.cause.Hint, RetryAfter: max(left, time.Second), Cause: &awayError{h.cause},
	}
}

// awayError is lcm.ErrVimUnavailable with the failure that made the VIM unavailable. It does not wrap that failure: the
// VIM has not failed in that way again.
type awayError struct{ first *lcm.Error }

// Error implements error.
func (e *awayError) Error() string { return lcm.ErrVimUnavailable.Error() }

// Is says that the error is lcm.ErrVimUnavailable.
func (e *awayError) Is(target error) bool { return target == lcm.ErrVimUnavailable }

// fail records that a service does not answer, and returns e with the time until the next try. tried says that this was
// the try of a VIM; other failures count only when they are the first.
func (h *health) fail(e *lcm.Error, svc Service, tried bool) *lcm.Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.since.IsZero() || tried {
		h.mark(e, svc, now)
		h.pause = min(max(2*h.pause, h.first), h.longest)
		h.next, h.waiting = now.Add(h.pause), 0
	}
	out := *e
	out.Backoff = h.next.Sub(now)
	out.RetryAfter = max(out.RetryAfter, out.Backoff)
	return &out
}

// suspect records that a service does not answer, while its answer is still waited for.
func (h *health) suspect(e *lcm.Error, svc Service) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		h.mark(e, svc, time.Now())
	}
}

// mark makes the VIM unavailable. The caller holds mu.
func (h *health) mark(e *lcm.Error, svc Service, now time.Time) {
	if h.since.IsZero() {
		h.since = now
		h.log.Warn("VIM does not answer", "vim", h.url, "vim_key", h.key, "service", string(svc), "error", e)
	}
	h.cause, h.service = e, svc
	h.changed()
}

// silent says whether a service has not answered since a time.
func (h *health) silent(svc Service, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.answered[svc].After(since)
}

// pending are requests to a service under way.
type pending struct {
	requests int
	since    time.Time // the first of them was sent, or another one was answered
}

// sent records a request to a service; the caller calls ended when it has its outcome.
func (h *health) sent(svc Service) (ended func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pending[svc]
	if p.requests == 0 {
		p.since = time.Now()
	}
	p.requests++
	h.pending[svc] = p
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		p := h.pending[svc]
		p.requests--
		h.pending[svc] = p
	}
}

// silence is the longest time for which a service has left requests without an answer, and answered no other one.
func (h *health) silence() (svc Service, longest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s, p := range h.pending {
		if d := time.Since(p.since); p.requests > 0 && d > longest {
			svc, longest = s, d
		}
	}
	return svc, longest
}

// heard records that a part of a large answer has arrived. It does not end the state of a VIM that does not answer: the
// rest may not arrive.
func (h *health) heard(svc Service, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hear(svc, now)
}

// hear notes that a service is not silent. The caller holds mu.
func (h *health) hear(svc Service, now time.Time) {
	h.answered[svc] = now
	if p, ok := h.pending[svc]; ok {
		p.since = now
		h.pending[svc] = p
	}
}

// answer records an answer of a service. It returns true if callers wait for this one.
func (h *health) answer(svc Service, now time.Time) (wake bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hear(svc, now)
	if h.since.IsZero() || svc != h.service {
		return false
	}
	h.log.Info("VIM answers again", "vim", h.url, "vim_key", h.key, "after", now.Sub(h.since).Round(time.Millisecond))
	wake = h.waiting > 0
	h.changed()
	h.since, h.cause, h.service, h.pause, h.next, h.waiting = time.Time{}, nil, "", 0, time.Time{}, 0
	return wake
}

// asked is the service whose answer is missing, "" while the VIM is available.
func (h *health) asked() Service {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.service
}

func (h *health) state() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := Health{Key: h.key, Since: h.since, Next: h.next}
	if h.cause != nil {
		out.Error = strings.TrimSpace(h.cause.Error())
	}
	return out
}
