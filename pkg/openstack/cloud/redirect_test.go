package cloud

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// elsewhere records the requests that reach another server than the VIM.
type elsewhere struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.seen = append(e.seen, r.Method+" "+r.URL.Path+" token="+r.Header.Get("X-Auth-Token")+" body="+string(body))
	}))
	t.Cleanup(e.Close)
	return e
}

// requireRefused checks the error of a call that the VIM redirected, and that the other server saw nothing of it.
func (e *elsewhere) requireRefused(t *testing.T, err error, from string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	require.Empty(t, e.seen)
	problem := asError(t, err)
	require.Equal(t, lcm.Permanent, problem.Class)
	require.Equal(t, lcm.CodeUpstream, problem.Code)
	require.Contains(t, problem.Detail, from+" redirects to "+e.URL+"/stolen")
	require.NotEmpty(t, problem.Hint)
	stubcloud.SecretFree(t, problem.Error())
}

// TestTokensDoNotFollowRedirects: net/http removes Authorization and Cookie when the host changes, but not
// X-Auth-Token.
func TestTokensDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			other := newElsewhere(t)
			s := stubcloud.New(t)
			s.Routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/stolen", status)
			})
			c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
			require.NoError(t, err)
			other.requireRefused(t, ping(t.Context(), c), s.URL+"/heat/v1/p1/stacks")
		})
	}
}

func TestPasswordsDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	other := newElsewhere(t)
	s := stubcloud.New(t)
	s.Login = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	}
	_, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
	other.requireRefused(t, err, s.URL+"/identity/v3/auth/tokens")
}

func TestImagesDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	other := newElsewhere(t)
	s := stubcloud.New(t)
	s.Routes.HandleFunc("PUT /image/v2/images/image-1/file", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Redirect(w, r, other.URL+"/stolen", http.StatusFound)
	})
	c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	err = c.SendImage(t.Context(), "image-1", "image", strings.NewReader("data"), 4)
	other.requireRefused(t, err, s.URL+"/image/v2/images/image-1/file")
}

// TestRedirectsWithinAServiceAreFollowed: Nova redirects to the same address with a slash at the end.
func TestRedirectsWithinAServiceAreFollowed(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.URL+"/heat/v1/p1/stacks/", http.StatusFound)
	})
	s.Routes.HandleFunc("GET /heat/v1/p1/stacks/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Auth-Token"), "token-") {
			_, _ = w.Write([]byte(`{"stacks": []}`))
		}
	})
	c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	require.NoError(t, ping(t.Context(), c))
}

// TestPasswordsDoNotLeaveTLS: a redirect from https to http is refused, also on the same host.
func TestPasswordsDoNotLeaveTLS(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		other := newElsewhere(t)
		s := httptest.NewTLSServer(http.RedirectHandler(other.URL+"/stolen", status))
		t.Cleanup(s.Close)
		v := stubcloud.VimAt(s.URL + "/identity/v3")
		v.InterfaceInfo["skipCertificateVerification"] = true
		_, err := testPool(t, Config{}).Connect(t.Context(), "v", v)
		other.requireRefused(t, err, s.URL+"/identity/v3/auth/tokens")
	}
}
