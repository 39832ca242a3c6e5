package kubernetes_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// api is an API server that knows as much as these tests ask.
type api struct {
	*httptest.Server
	mu       sync.Mutex
	made     map[string]map[string]any // path and name to object
	patches  map[string]string
	tokenIn  int // the token is there after so many looks
	failWith int
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{made: map[string]map[string]any{}, patches: map[string]string{}, tokenIn: 2}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *api) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	status := func(code int, reason string) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"the server says %s"}`, code, reason, reason)
	}
	switch {
	case a.failWith != 0:
		status(a.failWith, "InternalError")
	case r.Header.Get("Authorization") != "Bearer good":
		status(http.StatusUnauthorized, "Unauthorized")
	case r.URL.Path == "/readyz":
		_, _ = io.WriteString(w, "ok")
	case r.URL.Path == "/api/v1/nodes":
		_, _ = io.WriteString(w, nodeList)
	case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/nodes/worker9"):
		body, _ := io.ReadAll(r.Body)
		a.patches[r.Header.Get("Content-Type")] = string(body)
		_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker9"}}`)
	case r.Method == http.MethodPost:
		var o map[string]any
		_ = json.NewDecoder(r.Body).Decode(&o)
		meta, _ := o["metadata"].(map[string]any)
		key := fmt.Sprintf("%s/%v", r.URL.Path, meta["name"])
		if a.made[key] != nil {
			status(http.StatusConflict, "AlreadyExists")
			return
		}
		a.made[key] = o
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(o)
	case strings.HasSuffix(r.URL.Path, "/secrets/gybe-token") && a.made[r.URL.Path] != nil:
		o := a.made[r.URL.Path]
		if a.tokenIn--; a.tokenIn < 0 {
			o["data"] = map[string]string{
				"token":  base64.StdEncoding.EncodeToString([]byte("long-lived")),
				"ca.crt": base64.StdEncoding.EncodeToString([]byte("the ca")),
			}
		}
		_ = json.NewEncoder(w).Encode(o)
	default:
		status(http.StatusNotFound, "NotFound")
	}
}

const nodeList = `{"kind":"NodeList","apiVersion":"v1","items":[
 {"metadata":{"name":"master5","labels":{"node-role.kubernetes.io/control-plane":""}},"status":{"nodeInfo":{"kubeletVersion":"v1.34.2"},
  "addresses":[{"type":"Hostname","address":"master5"},{"type":"InternalIP","address":"10.10.0.5"}],
  "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True","message":"kubelet is posting ready status"}]}},
 {"metadata":{"name":"worker9"},"status":{"conditions":[{"type":"Ready","status":"False","reason":"KubeletNotReady","message":"network plugin returns error"}]}},
 {"metadata":{"name":"worker10"},"status":{}}]}`

func client(t *testing.T, a *api, token string) *kubernetes.Client {
	t.Helper()
	c, err := kubernetes.New(kubernetes.Access{Endpoint: a.URL, CA: a.ca(), Token: token}.Config())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestTokensDoNotFollowRedirects: client-go adds the token to every request, also to one for another host.
func TestTokensDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(other.Close)
	a := newAPI(t)
	a.Config.Handler = http.RedirectHandler(other.URL+"/stolen", http.StatusTemporaryRedirect)
	err := client(t, a, "good").Ready(t.Context())
	require.Zero(t, stolen.Load())
	e := lcm.AsError(err)
	require.Equal(t, lcm.Permanent, e.Class)
	require.Contains(t, e.Detail, a.URL+"/readyz redirects to "+other.URL+"/stolen")
	require.NotEmpty(t, e.Hint)
}

func TestNodesSayWhyTheyAreNotReady(t *testing.T) {
	t.Parallel()
	c := client(t, newAPI(t), "good")
	require.NoError(t, c.Ready(t.Context()))
	nodes, err := c.Nodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []kubernetes.Node{
		{
			Name: "master5", Ready: true, Version: "v1.34.2", InternalIP: "10.10.0.5", ControlPlane: true,
			Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""},
		},
		{Name: "worker9", Reason: "network plugin returns error"},
		{Name: "worker10", Reason: "it has not reported yet"},
	}, nodes)
}

func TestLabelIsAMergePatch(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := client(t, a, "good")
	require.NoError(t, c.Label(t.Context(), "worker9", map[string]string{"CIS-node": "compute1"}))
	require.JSONEq(t, `{"metadata":{"labels":{"CIS-node":"compute1"}}}`, a.patches["application/merge-patch+json"])
	require.Equal(t, lcm.CodeNotFound, lcm.AsError(c.Label(t.Context(), "worker8", nil)).Code)
}

// An operation that is taken over makes the account again, and must get the token that is there.
func TestAccountIsMadeOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := client(t, a, "good")
	for range 2 {
		require.NoError(t, c.EnsureAccount(t.Context()))
		token, ca, err := c.AccountToken(t.Context())
		require.NoError(t, err)
		require.Equal(t, "long-lived", token)
		require.Equal(t, "the ca", string(ca))
	}
	secret := a.made["/api/v1/namespaces/kube-system/secrets/gybe-token"]
	require.Equal(t, "kubernetes.io/service-account-token", secret["type"])
	require.Equal(t, "Secret", secret["kind"])
	binding := a.made["/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/gybe-cluster-admin"]
	require.Equal(t, "rbac.authorization.k8s.io/v1", binding["apiVersion"])
	require.Equal(t, []any{map[string]any{"kind": "ServiceAccount", "name": "gybe", "namespace": "kube-system"}},
		binding["subjects"])
	require.Contains(t, a.made, "/api/v1/namespaces/kube-system/serviceaccounts/gybe")
}

func TestErrorsSayWhetherTryingAgainMayHelp(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	_, err := client(t, a, "bad").Nodes(t.Context())
	require.Equal(t, lcm.Auth, lcm.AsError(err).Class)

	a.failWith = http.StatusServiceUnavailable
	_, err = client(t, a, "good").Nodes(t.Context())
	require.Equal(t, lcm.Transient, lcm.AsError(err).Class)
	require.Contains(t, lcm.AsError(err).Detail, "the server says InternalError")

	c := client(t, a, "good")
	a.Close()
	e := lcm.AsError(c.Ready(t.Context()))
	require.Equal(t, lcm.Transient, e.Class)
	require.Equal(t, lcm.CodeUnavailable, e.Code)
}

func TestForgedServerIsNotTrusted(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c, err := kubernetes.New(kubernetes.Access{Endpoint: a.URL, Token: "good"}.Config())
	require.NoError(t, err)
	require.ErrorContains(t, c.Ready(t.Context()), "certificate")
}

func TestAccessSurvivesTheVimRegistryAndKubeconfig(t *testing.T) {
	t.Parallel()
	a := kubernetes.Access{
		Endpoint: "https://192.0.2.1:16443", CA: []byte("-----BEGIN CERTIFICATE-----\n"), Token: "t",
		ServerName: "10.0.0.5",
	}
	back, err := kubernetes.FromVim(a.Vim())
	require.NoError(t, err)
	require.Equal(t, a, back)
	require.NotContains(t, fmt.Sprint(redact.New().Connection(a.Vim())), "t]]")

	raw, err := a.Kubeconfig("my-cluster")
	require.NoError(t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(t, err)
	require.Equal(t, a.Endpoint, cfg.Host)
	require.Equal(t, "t", cfg.BearerToken)
	require.Equal(t, a.CA, cfg.CAData)
	require.Equal(t, a.ServerName, cfg.ServerName)

	_, err = kubernetes.FromVim(sol.VimConnectionInfo{VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"})
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
}

// What a node calls its admin.conf must not make the VNFM read its own files or run programs.
func TestAdminConfigFollowsNothing(t *testing.T) {
	t.Parallel()
	cfg, err := kubernetes.AdminConfig([]byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"k","cluster":{"server":"https://10.10.0.5:6443","certificate-authority-data":"Y2E="}}],
		"users":[{"name":"u","user":{"client-certificate-data":"Y2VydA==","client-key-data":"a2V5","tokenFile":"/etc/passwd","exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/sh"}}}],
		"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`))
	require.NoError(t, err)
	require.Equal(t, &rest.Config{
		Host:            "https://10.10.0.5:6443",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")},
	}, cfg)
	for _, bad := range []string{"", "{", "apiVersion: v1\nkind: Config\ncurrent-context: x\n"} {
		_, err := kubernetes.AdminConfig([]byte(bad))
		require.Error(t, err)
	}
}

func TestThroughReachesTheServerByAnotherWay(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	cfg := kubernetes.Access{Endpoint: "https://192.0.2.77:6443", CA: a.ca(), Token: "good"}.Config()
	var asked string
	cfg = kubernetes.Through(cfg, "example.com", func(ctx context.Context, network, addr string) (net.Conn, error) {
		asked = addr
		return (&net.Dialer{}).DialContext(ctx, network, a.Listener.Addr().String())
	})
	c, err := kubernetes.New(cfg)
	require.NoError(t, err)
	require.NoError(t, c.Ready(t.Context()))
	require.Equal(t, "192.0.2.77:6443", asked)
}
