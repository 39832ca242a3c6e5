// Package stubcloud is a Keystone whose catalogue points at handlers that a test brings, for answers that no healthy
// cloud gives. Tests of what a real cloud does use the simulated one.
package stubcloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Cloud is one such Keystone. Mu guards its other members while it serves.
type Cloud struct {
	*httptest.Server
	Logins atomic.Int64
	Life   time.Duration // of tokens; 0 = an hour

	Mu     sync.Mutex
	Token  string           // the only one that is valid
	Login  http.HandlerFunc // instead of a successful login
	Routes http.ServeMux
}

// New starts a cloud that ends with the test.
func New(tb testing.TB) *Cloud {
	tb.Helper()
	s := Start()
	tb.Cleanup(s.Close)
	return s
}

// Start starts a cloud. The caller must Close it.
func Start() *Cloud {
	s := &Cloud{}
	s.Server = httptest.NewServer(s)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/identity/v3/auth/tokens" {
		n := s.Logins.Add(1)
		s.Mu.Lock()
		login := s.Login
		s.Token = fmt.Sprintf("token-%d", n)
		token := s.Token
		s.Mu.Unlock()
		if login != nil {
			login(w, r)
			return
		}
		w.Header().Set("X-Subject-Token", token)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(s.Body())
		return
	}
	s.Mu.Lock()
	valid := r.Header.Get("X-Auth-Token") == s.Token
	s.Mu.Unlock()
	if !valid {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.Routes.ServeHTTP(w, r)
}

// Expire makes the present token invalid.
func (s *Cloud) Expire() {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Token = "none"
}

// Body is the answer to a login.
func (s *Cloud) Body() any {
	life := s.Life
	if life == 0 {
		life = time.Hour
	}
	endpoint := func(typ, path string) any {
		return map[string]any{"type": typ, "name": typ, "endpoints": []any{
			map[string]any{"interface": "internal", "region": "RegionOne", "url": "http://internal.invalid"},
			map[string]any{"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": s.URL + path},
		}}
	}
	return map[string]any{"token": map[string]any{
		"expires_at": time.Now().Add(life).UTC().Format(time.RFC3339Nano),
		"project":    map[string]any{"id": "p1", "name": "nfv"},
		"catalog": []any{
			endpoint("orchestration", "/heat/v1/p1"), endpoint("compute", "/compute/v2.1"), endpoint("network", ""),
			endpoint("image", "/image"),
		},
	}}
}

// Vim is a connection to the stub.
func (s *Cloud) Vim() sol.VimConnectionInfo { return VimAt(s.URL + "/identity/v3") }

// VimAt is a connection to the Keystone at an address.
func VimAt(endpoint string) sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3", InterfaceInfo: sol.KeyValuePairs{"endpoint": endpoint},
		AccessInfo: sol.KeyValuePairs{
			"username": "nfv_user", "password": "s3cret-word", "project": "nfv", "region": "RegionOne",
			"userDomain": "Default", "projectDomain": "Default",
		},
	}
}

// SecretFree fails when a text that users see has the password.
func SecretFree(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "s3cret-word") {
		t.Fatalf("the password shows in %q", text)
	}
}
