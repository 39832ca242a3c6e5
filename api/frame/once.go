package frame

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	headerRequestKey = "Idempotency-Key"
	// headerReplayed marks the answer to a repeated request.
	headerReplayed = "Idempotency-Replayed"
	// longestKey bounds a key.
	longestKey = 255
)

// RequestKeys knows the requests with an Idempotency-Key that have taken effect.
type RequestKeys interface {
	// KeptRequest returns the request with a key that has taken effect; nil if there is none.
	KeptRequest(ctx context.Context, k *lcm.RequestKey) (*lcm.KeptRequest, error)
}

// Replayer answers a repeated request as the first one was answered. id is the resource that the first one created, or
// the operation that it started or steered.
type Replayer func(w http.ResponseWriter, r *Request, id string) error

// once handles a request. One with an Idempotency-Key takes effect once: a repetition gets the answer of the first.
func (e *endpoint) once(w http.ResponseWriter, r *Request) error {
	key, err := e.requestKey(r)
	if err != nil {
		return err
	}
	if key == nil {
		return e.Handle(w, r)
	}
	end, ok := e.frame.running.begin(key)
	if !ok {
		return &lcm.Error{
			Code: lcm.CodeConflict, Title: "Request in progress", RetryAfter: time.Second,
			Detail: "another request with the same Idempotency-Key is being processed",
			Hint:   "send the request again later",
		}
	}
	defer end()
	if done, err := e.replay(w, r, key); done || err != nil {
		return err
	}
	r.Request = r.WithContext(lcm.WithRequestKey(r.Context(), key))
	failure := e.Handle(w, r)
	if rec, ok := w.(*recorder); failure == nil || ok && rec.code != 0 {
		return failure
	}
	// Another node may have handled a repetition at the same time, or the answer to the commit was lost.
	if done, err := e.replay(w, r, key); done {
		return err
	}
	return failure
}

// replay answers a request if one with its key has taken effect.
func (e *endpoint) replay(w http.ResponseWriter, r *Request, key *lcm.RequestKey) (done bool, err error) {
	kept, err := e.frame.opts.RequestKeys.KeptRequest(r.Context(), key)
	if err != nil || kept == nil {
		return false, err
	}
	if !bytes.Equal(kept.Fingerprint, key.Fingerprint) {
		return true, lcm.Errorf(
			lcm.CodeUnprocessable, "the Idempotency-Key %q was used for another request", key.Key,
		).WithHint("use a new key for each request, and the same key to repeat it")
	}
	w.Header().Set(headerReplayed, "true")
	return true, e.Replay(w, r, kept.ID)
}

// requestKey reads the key of a request; nil if it has none, or the route takes none.
func (e *endpoint) requestKey(r *Request) (*lcm.RequestKey, error) {
	given := r.Header.Values(headerRequestKey)
	if e.Replay == nil || e.frame.opts.RequestKeys == nil || len(given) == 0 {
		return nil, nil
	}
	key := strings.TrimSpace(given[0])
	if len(key) > 1 && key[0] == '"' && key[len(key)-1] == '"' { // a string of RFC 9651, as the draft of IETF has it
		key = key[1 : len(key)-1]
	}
	visible := func(c rune) bool { return c >= ' ' && c <= '~' }
	if len(given) > 1 || key == "" || len(key) > longestKey || strings.TrimFunc(key, visible) != "" {
		return nil, lcm.Errorf(
			lcm.CodeInvalid, "the Idempotency-Key is not one text of 1 to %d ASCII characters", longestKey,
		)
	}
	hash := sha256.New()
	for _, part := range []string{r.Method, r.URL.Path, string(r.Raw)} {
		sum := sha256.Sum256([]byte(part))
		hash.Write(sum[:])
	}
	return &lcm.RequestKey{Principal: r.Principal, Key: key, Fingerprint: hash.Sum(nil)}, nil
}

// runningKeys are the keys of the requests that this node is processing.
type runningKeys struct {
	mu   sync.Mutex
	keys map[runningKey]bool
}

type runningKey struct{ project, mode, subject, key string }

// begin notes a request; false if one with the same key is being processed. end MUST be called after it.
func (s *runningKeys) begin(k *lcm.RequestKey) (end func(), ok bool) {
	id := runningKey{projectName(k.Principal), k.Principal.Mode, k.Principal.Subject, k.Key}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[id] {
		return nil, false
	}
	if s.keys == nil {
		s.keys = map[runningKey]bool{}
	}
	s.keys[id] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.keys, id)
	}, true
}
