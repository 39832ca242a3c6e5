// Package login gets tokens for the command line: from Keystone, and from OpenID providers. It keeps them in a cache of
// the user until shortly before they expire.
package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
)

// margin is how long before its expiry a token is not used any more.
const margin = time.Minute

// Token is a token with what is needed to get the next one.
type Token struct {
	Value   string    `json:"token"`
	Expires time.Time `json:"expires,omitzero"`
	Refresh string    `json:"refresh,omitempty"`
}

// String hides the token.
func (*Token) String() string { return "token" }

// valid says whether the token can be used now.
func (t *Token) valid(now time.Time) bool {
	return t != nil && t.Value != "" && (t.Expires.IsZero() || now.Add(margin).Before(t.Expires))
}

// Cache is the file of one token; "" keeps nothing.
type Cache string

// CacheFor returns the cache of a login. parts distinguish it from others: a changed setting means another token.
func CacheFor(get func(string) string, parts ...string) Cache {
	dir := get("XDG_CACHE_HOME")
	if dir == "" && get("HOME") != "" {
		dir = filepath.Join(get("HOME"), ".cache")
	}
	if dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return Cache(filepath.Join(dir, "gybe", "tokens", hex.EncodeToString(sum[:16])+".json"))
}

// Load returns the token; nil when there is none.
func (c Cache) Load() *Token {
	raw, err := os.ReadFile(string(c))
	if err != nil {
		return nil
	}
	var t Token
	if json.Unmarshal(raw, &t) != nil {
		return nil
	}
	return &t
}

// Store keeps a token.
func (c Cache) Store(t *Token) error {
	if c == "" {
		return nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return contexts.WritePrivate(string(c), raw)
}

// lock keeps other commands from renewing the token at the same time.
func (c Cache) lock(ctx context.Context) (unlock func(), err error) {
	if c == "" {
		return func() {}, nil
	}
	return contexts.Lock(ctx, string(c))
}

// Remove forgets the token.
func (c Cache) Remove() error {
	if err := os.Remove(string(c)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Session authenticates requests with a token that is renewed. It implements client.Credentials.
type Session struct {
	Cache Cache
	// Header carries the token, after Prefix.
	Header, Prefix string
	// Obtain gets a new token. had is the last one, nil if there is none.
	Obtain func(ctx context.Context, had *Token) (*Token, error)
	// Scheme is that of the challenge for which the token is meant. If it is set, the token is not obtained before a
	// server has sent this challenge: the user has not chosen this way to log in.
	Scheme string

	mu     sync.Mutex
	token  *Token
	loaded bool
}

// Apply implements client.Credentials.
func (s *Session) Apply(ctx context.Context, h http.Header) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		s.token, s.loaded = s.Cache.Load(), true
	}
	if !s.token.valid(time.Now()) {
		if s.Scheme != "" {
			return nil
		}
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	h.Set(s.Header, s.Prefix+s.token.Value)
	return nil
}

// Renew implements client.Credentials.
func (s *Session) Renew(ctx context.Context, challenges []string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Scheme != "" && !slices.ContainsFunc(challenges, func(c string) bool {
		scheme, _, _ := strings.Cut(c, " ")
		return strings.EqualFold(scheme, s.Scheme)
	}) {
		return false, nil
	}
	return true, s.renew(ctx)
}

// renew gets a new token, or takes the one that another command has got in the meantime: a refresh token is often valid
// only once, and logins of many commands at the same time load the server.
func (s *Session) renew(ctx context.Context) error {
	unlock, err := s.Cache.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if t := s.Cache.Load(); t.valid(time.Now()) && (s.token == nil || t.Value != s.token.Value) {
		s.token = t
		return nil
	}
	t, err := s.Obtain(ctx, s.token)
	if err != nil {
		return err
	}
	s.token = t
	return s.Cache.Store(t)
}

// ExpiredError says that the user has to log in again.
type ExpiredError struct{ Err error }

// Error implements error.
func (e *ExpiredError) Error() string {
	text := "there is no valid token; log in with gybe login"
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *ExpiredError) Unwrap() error { return e.Err }
