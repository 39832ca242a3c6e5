package kubernetes_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// FuzzAdminConfig reads a kubeconfig from a node. The client that it makes reads no file, runs no program and acts for
// no other user, whatever the node writes.
func FuzzAdminConfig(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"k","cluster":{"server":"https://10.10.0.5:6443","certificate-authority":"/etc/passwd"}}],
		"users":[{"name":"u","user":{"client-certificate":"/etc/passwd","tokenFile":"/etc/passwd","exec":{"command":"/bin/sh"}}}],
		"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`))
	f.Add([]byte("apiVersion: v1\nkind: Config\ncurrent-context: x\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		cfg, err := kubernetes.AdminConfig(raw)
		if err != nil {
			if lcm.AsError(err).Code != lcm.CodeUpstream {
				t.Fatalf("%v", err)
			}
			return
		}
		if cfg.CAFile+cfg.CertFile+cfg.KeyFile+cfg.BearerTokenFile != "" || cfg.ExecProvider != nil ||
			cfg.AuthProvider != nil || cfg.Proxy != nil || cfg.Insecure || cfg.Impersonate.UserName != "" {
			t.Fatalf("%+v", cfg)
		}
	})
}

// FuzzNodes gives the answer of an API server to the list of nodes. The error does not quote a text that is not a
// Kubernetes Status.
func FuzzNodes(f *testing.F) {
	f.Add(200, "application/json", []byte(nodeList))
	f.Add(200, "application/json", []byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500}`))
	f.Add(500, "text/plain", []byte("text"))
	f.Add(403, "application/json", []byte(`{"kind": "Status", "apiVersion": "v1", "message": "m", "code": 403}`))
	type canned struct {
		status int
		media  string
		body   []byte
	}
	var now atomic.Pointer[canned]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c := now.Load()
		w.Header()["Content-Type"] = []string{c.media}
		w.WriteHeader(c.status)
		_, _ = w.Write(c.body)
	}))
	f.Cleanup(s.Close)
	c, err := kubernetes.New(kubernetes.Access{Endpoint: s.URL, Token: "t0ken-of-the-cluster"}.Config())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	f.Fuzz(func(t *testing.T, status int, media string, body []byte) {
		if status < 200 || status > 599 || status == http.StatusTooManyRequests ||
			strings.ContainsAny(media, "\r\n\x00") {
			return
		}
		now.Store(&canned{status, media, body})
		nodes, err := c.Nodes(t.Context())
		for _, n := range nodes {
			if n.Ready && n.Reason != "" {
				t.Fatalf("%+v", n)
			}
		}
		if err == nil {
			return
		}
		e := lcm.AsError(err)
		if e.Code == lcm.CodeInternal || strings.Contains(e.Error(), "t0ken-of-the-cluster") {
			t.Fatalf("%v", e)
		}
	})
}
