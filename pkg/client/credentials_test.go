package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
)

// renewing are credentials with one renewal.
type renewing struct {
	token string
	next  string
	err   error
	asked []string
}

func (r *renewing) Apply(_ context.Context, h http.Header) error {
	h.Set("X-Auth-Token", r.token)
	return nil
}

func (r *renewing) Renew(_ context.Context, challenges []string) (bool, error) {
	r.asked = challenges
	r.token = r.next
	return r.next != "", r.err
}

// onlyReader hides that a stream can be set to its start.
type onlyReader struct{ io.Reader }

// content is the body of the requests.
func content() io.Reader { return strings.NewReader("the content") }

// TestRequestsAreSentAgainWithNewCredentials: once, with the same body, and only if it can be sent again.
func TestRequestsAreSentAgainWithNewCredentials(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		raw, err := io.ReadAll(r.Body)
		if err != nil || string(raw) != "the content" {
			t.Errorf("%q %v", raw, err)
		}
		if r.Header.Get("X-Auth-Token") != "good" {
			w.Header().Set("WWW-Authenticate", `Keystone uri="http://k"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	c, err := client.New(s.URL, nil)
	require.NoError(t, err)
	upload := func(cr client.Credentials, body io.Reader) error {
		return c.WithCredentials(cr).UploadPackage(t.Context(), "p", body)
	}
	for name, tt := range map[string]struct {
		credentials *renewing
		body        io.Reader
		requests    int64
		status      int
	}{
		"renewed":           {&renewing{token: "old", next: "good"}, content(), 2, 0},
		"renewed to no end": {&renewing{token: "old", next: "bad"}, content(), 2, 401},
		"no others":         {&renewing{token: "old"}, content(), 1, 401},
		"a pipe":            {&renewing{token: "old", next: "good"}, onlyReader{content()}, 1, 401},
	} {
		requests.Store(0)
		err := upload(tt.credentials, tt.body)
		require.Equal(t, tt.requests, requests.Load(), name)
		if tt.status == 0 {
			require.NoError(t, err, name)
			require.Equal(t, []string{`Keystone uri="http://k"`}, tt.credentials.asked)
			continue
		}
		answer, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, name)
		require.Equal(t, tt.status, answer.Status(), name)
		require.Equal(t, []string{`Keystone uri="http://k"`}, answer.Challenges)
	}
	broken := errors.New("Keystone is away")
	require.ErrorIs(t, upload(&renewing{token: "old", next: "x", err: broken}, content()), broken)
}

// TestTokensHaveTheirHeader: a token of Keystone is sent as X-Auth-Token, any other one as a bearer token.
func TestTokensHaveTheirHeader(t *testing.T) {
	t.Parallel()
	for token, want := range map[client.Token]string{
		"gybe_a_b": "Authorization", "eyJh.e.s": "Authorization", "gAAAAABm": "X-Auth-Token",
	} {
		h := http.Header{}
		require.NoError(t, token.Apply(t.Context(), h))
		require.Len(t, h, 1)
		require.Contains(t, h.Get(want), string(token))
		require.Equal(t, "token", token.String())
	}
}
