package openstack

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

// stub is a Keystone whose catalogue points at handlers that a test brings. What a real cloud does is tested against the simulated
// one; this one is for answers that no healthy cloud gives.
type stub struct {
	*httptest.Server
	logins atomic.Int64
	life   time.Duration // of tokens; 0 = an hour

	mu     sync.Mutex
	token  string // the only one that is valid
	login  http.HandlerFunc
	routes http.ServeMux
}

func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/identity/v3/auth/tokens" {
		n := s.logins.Add(1)
		s.mu.Lock()
		login := s.login
		s.token = fmt.Sprintf("token-%d", n)
		token := s.token
		s.mu.Unlock()
		if login != nil {
			login(w, r)
			return
		}
		w.Header().Set("X-Subject-Token", token)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(s.body())
		return
	}
	s.mu.Lock()
	valid := r.Header.Get("X-Auth-Token") == s.token
	s.mu.Unlock()
	if !valid {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// expire makes the present token invalid.
func (s *stub) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = "none"
}

func (s *stub) body() any {
	life := s.life
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
			endpoint("orchestration", "/heat/v1/p1"), endpoint("compute", "/compute/v2.1"), endpoint("network", ""), endpoint("image", "/image"),
		},
	}}
}

// vim is a connection to the stub.
func (s *stub) vim() sol.VimConnectionInfo { return vimAt(s.URL + "/identity/v3") }

func vimAt(endpoint string) sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimType: VimType, InterfaceInfo: sol.KeyValuePairs{"endpoint": endpoint},
		AccessInfo: sol.KeyValuePairs{
			"username": "nfv_user", "password": "s3cret-word", "project": "nfv", "region": "RegionOne",
			"userDomain": "Default", "projectDomain": "Default",
		},
	}
}

// secretFree fails when a text that users see has the password.
func secretFree(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "s3cret-word") {
		t.Fatalf("the password shows in %q", text)
	}
}
