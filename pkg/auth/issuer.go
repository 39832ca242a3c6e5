package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// refreshKeys is the age at which the keys of the issuer are read again. A key that the issuer has removed is
	// accepted for so long.
	refreshKeys = 5 * time.Minute
	// unknownKeyPause is the shortest time between two reads because of a key that is not known: a client can invent
	// names of keys.
	unknownKeyPause = 10 * time.Second
)

// issuer reads the metadata and the keys of an OpenID provider, at the first use and again from time to time.
type issuer struct {
	url     string
	client  *http.Client
	clock   clock
	timeout time.Duration
	log     *slog.Logger

	lock  chan struct{} // held while the provider is read
	mu    sync.Mutex    // guards the rest
	state *metadata     // nil before the first success
	tried time.Time     // when the provider was read last, with or without success
	err   error         // of that time
	busy  bool          // the provider is being read in the background
}

// metadata is what a provider says about itself.
type metadata struct {
	provider      *oidc.Provider
	introspection string
	revocation    string
	endSession    string
	keys          []jose.JSONWebKey
	read          time.Time
	// verified has the JWTs that these keys have signed. Other keys get another cache: a check that ends after the keys
	// have changed leaves nothing behind.
	verified *cache
}

// get returns the metadata. Old metadata is used while it is read again, and while the provider is unreachable: the
// signature of a token does not become wrong by an outage.
func (i *issuer) get(ctx context.Context) (*metadata, error) {
	i.mu.Lock()
	m, tried, err, now := i.state, i.tried, i.err, i.clock()
	due := now.Sub(tried) >= pauseAfterOutage && (m == nil || now.Sub(m.read) >= refreshKeys)
	background := m != nil && due && !i.busy
	i.busy = i.busy || background
	i.mu.Unlock()
	switch {
	case background:
		go func() {
			_, _ = i.read(context.WithoutCancel(ctx), tried) // it logs the error
			i.mu.Lock()
			defer i.mu.Unlock()
			i.busy = false
		}()
	case m == nil && due:
		return i.read(ctx, tried)
	case m == nil:
		return nil, err
	}
	return m, nil
}

// getForKey returns metadata that may have a key which is not in the last one. It reads the provider at most once in
// unknownKeyPause.
func (i *issuer) getForKey(ctx context.Context) (*metadata, error) {
	i.mu.Lock()
	m, tried, err := i.state, i.tried, i.err
	recent := i.clock().Sub(tried) < unknownKeyPause
	i.mu.Unlock()
	if recent {
		return m, err
	}
	return i.read(ctx, tried)
}

// read reads the provider, unless another request has done so since the time that the caller knows.
func (i *issuer) read(ctx context.Context, known time.Time) (*metadata, error) {
	select {
	case i.lock <- struct{}{}:
		defer func() { <-i.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	i.mu.Lock()
	m, err, done := i.state, i.err, i.tried.After(known)
	i.mu.Unlock()
	if done {
		return m, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.timeout)
	defer cancel()
	fresh, err := i.fetch(ctx)
	if err != nil {
		i.log.WarnContext(ctx, "the OpenID provider cannot be read", "issuer", i.url, "error", shorten(err))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tried, i.err = i.clock(), err
	if err != nil {
		return i.state, err
	}
	if i.state != nil && reflect.DeepEqual(i.state.keys, fresh.keys) {
		fresh.verified = i.state.verified
	} else {
		fresh.verified = newCache()
	}
	i.state = fresh
	return fresh, nil
}

func (i *issuer) fetch(ctx context.Context) (*metadata, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.url)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Keys          string `json:"jwks_uri"`
		Introspection string `json:"introspection_endpoint"`
		Revocation    string `json:"revocation_endpoint"`
		EndSession    string `json:"end_session_endpoint"`
	}
	if err := p.Claims(&doc); err != nil {
		return nil, err
	}
	for _, address := range []string{
		doc.Keys, doc.Introspection, doc.Revocation, doc.EndSession, p.Endpoint().TokenURL, p.Endpoint().AuthURL,
	} {
		if strings.HasPrefix(i.url, "https://") && address != "" && !strings.HasPrefix(address, "https://") {
			return nil, errors.New("an address in the metadata is not https")
		}
	}
	keys, err := i.fetchKeys(ctx, doc.Keys)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	return &metadata{
		provider: p, introspection: doc.Introspection, revocation: doc.Revocation, endSession: doc.EndSession,
		keys: keys, read: i.clock(),
	}, nil
}

// fetchKeys returns the public keys that sign.
func (i *issuer) fetchKeys(ctx context.Context, address string) ([]jose.JSONWebKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or not needed
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	// Each key on its own: one of a kind that go-jose does not know must not take the others away.
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, one := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(one) == nil && k.IsPublic() && k.Valid() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no public key that signs")
	}
	return keys, nil
}

// keysFor returns the keys that a signature may have been made with.
func (m *metadata) keysFor(h jose.Header) []jose.JSONWebKey {
	var out []jose.JSONWebKey
	for _, k := range m.keys {
		if (h.KeyID == "" || k.KeyID == h.KeyID) && (k.Algorithm == "" || k.Algorithm == h.Algorithm) {
			out = append(out, k)
		}
	}
	return out
}

// shorten bounds an error that quotes a response.
func shorten(err error) string {
	const enough = 300
	s := err.Error()
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	return s
}
