package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Bounds of an Availability.
const (
	maxServers   = 256              // API servers that are remembered
	probeTime    = 10 * time.Second // of one probe
	firstPause   = time.Second      // before the first probe; the pause doubles
	longestPause = time.Minute
)

// Availability notes which API servers answer to this node. It is for users only: no request is refused because of it.
// A server that does not answer is asked in the background until it does. It is safe for concurrent use.
type Availability struct {
	changed func()
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	silent  chan silentServer

	mu      sync.Mutex
	servers map[string]ServerState
}

// ServerState is the newest that is known of one API server.
type ServerState struct {
	Key   string    // of the connection, as its driver gives it to Wrap
	Since time.Time // when it stopped answering; zero while it answers
	Error string    // of the newest request without an answer
}

// Available reports whether the server answers.
func (s ServerState) Available() bool { return s.Since.IsZero() }

// NewAvailability returns an empty one. It calls changed, which must not block, when a server stops or begins to
// answer. Its probes end with ctx or Close.
func NewAvailability(ctx context.Context, changed func()) *Availability {
	a := &Availability{changed: changed, servers: map[string]ServerState{}, silent: make(chan silentServer, maxServers)}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.wg.Go(a.watch)
	return a
}

// watch starts the probes.
func (a *Availability) watch() {
	for {
		select {
		case <-a.ctx.Done():
			return
		case s := <-a.silent:
			a.wg.Go(func() { s.probe(s.at) })
		}
	}
}

// Close ends the probes.
func (a *Availability) Close() {
	a.cancel()
	a.wg.Wait()
}

// Servers lists the servers that were asked, in no order.
func (a *Availability) Servers() []ServerState {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]ServerState, 0, len(a.servers))
	for _, s := range a.servers {
		out = append(out, s)
	}
	return out
}

// Wrap observes the answers to requests of a connection. A nil Availability observes nothing.
func (a *Availability) Wrap(key string, next http.RoundTripper) http.RoundTripper {
	if a == nil {
		return next
	}
	return observed{a, key, next}
}

// observed is a transport whose answers are noted.
type observed struct {
	of   *Availability
	key  string
	next http.RoundTripper
}

// silentServer is a server that has just stopped to answer, and the address of its health check.
type silentServer struct {
	observed
	at string
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := o.next.RoundTrip(req)
	if err != nil && errors.Is(req.Context().Err(), context.Canceled) {
		return res, err // the caller gave up, which says nothing about the server
	}
	if o.of.note(o.key, failureOf(res, err)) {
		at := url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: "/readyz"}
		select {
		case o.of.silent <- silentServer{o, at.String()}:
		default: // the next request shows whether the server answers
		}
	}
	return res, err
}

// failureOf is the reason why a server does not answer, "" if it does. 503 is an answer: an API server sends it for one
// group whose own server is away.
func failureOf(res *http.Response, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusGatewayTimeout:
		return "the answer is " + res.Status
	}
	return ""
}

// note keeps the outcome of a request. It returns true if the server has just stopped to answer.
func (a *Availability) note(key, failure string) bool {
	a.mu.Lock()
	was, known := a.servers[key]
	is := ServerState{Key: key, Error: failure}
	if failure != "" {
		if is.Since = was.Since; was.Available() {
			is.Since = time.Now()
		}
	}
	if !known && !a.room() {
		a.mu.Unlock()
		return false
	}
	a.servers[key] = is
	a.mu.Unlock()
	if was.Available() != is.Available() {
		a.changed()
	}
	return was.Available() && !is.Available() && a.ctx.Err() == nil
}

// room makes room for a server, in place of one that answers. The caller holds mu.
func (a *Availability) room() bool {
	for key, s := range a.servers {
		if len(a.servers) < maxServers {
			break
		}
		if s.Available() {
			delete(a.servers, key)
		}
	}
	return len(a.servers) < maxServers
}

// probe asks a server that does not answer until it does.
func (o observed) probe(at string) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		wait := time.NewTimer(pause)
		select {
		case <-o.of.ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		err := o.ask(at)
		if o.of.ctx.Err() != nil {
			return
		}
		if err == nil {
			o.of.note(o.key, "")
			return
		}
		o.of.note(o.key, err.Error())
	}
}

// ask sends one probe. Every answer counts, also a refusal of the credentials.
func (o observed) ask(at string) error {
	ctx, cancel := context.WithTimeout(o.of.ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return err
	}
	res, err := o.next.RoundTrip(req)
	if text := failureOf(res, err); text != "" {
		err = fmt.Errorf("%s does not answer: %s", at, text)
	}
	if res != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
		_ = res.Body.Close()
	}
	return err
}
