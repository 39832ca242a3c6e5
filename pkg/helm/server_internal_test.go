package helm

import (
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// asked notes the paths of requests that ask an API server for its version and kinds.
type asked struct {
	next http.RoundTripper

	mu    sync.Mutex
	paths []string
}

// RoundTrip implements http.RoundTripper.
func (a *asked) RoundTrip(req *http.Request) (*http.Response, error) {
	path := req.URL.Path
	if slices.Contains([]string{"/version", "/api/v1", "/apis"}, path) {
		a.mu.Lock()
		a.paths = append(a.paths, path)
		a.mu.Unlock()
	}
	return a.next.RoundTrip(req)
}

// count returns how often a path was asked for, and forgets it.
func (a *asked) count(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.paths)
	a.paths = slices.DeleteFunc(a.paths, func(p string) bool { return p == path })
	return before - len(a.paths)
}

// kindsWorld is a driver with a clock of its own and a simulated cluster.
type kindsWorld struct {
	*Driver
	t       *testing.T
	sim     *kubeapi.Cluster
	url     string
	asked   *asked
	clock   sync.Mutex
	present time.Time
}

func newKindsWorld(t *testing.T) *kindsWorld {
	t.Helper()
	w := &kindsWorld{t: t, asked: &asked{}, present: time.Unix(1_800_000_000, 0)}
	w.sim, w.url = kubeapi.StartTest(t)
	w.Driver = New(Config{
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			w.asked.next = next
			return w.asked
		},
		now: func() time.Time {
			w.clock.Lock()
			defer w.clock.Unlock()
			return w.present
		},
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(w.Close)
	return w
}

func (w *kindsWorld) later(d time.Duration) {
	w.clock.Lock()
	defer w.clock.Unlock()
	w.present = w.present.Add(d)
}

// vim is a connection of a user.
func (w *kindsWorld) vim(user string) sol.VimConnectionInfo {
	w.t.Helper()
	cred, err := w.sim.IssueClient(user, "system:masters")
	require.NoError(w.t, err)
	vim := kubernetes.Access{
		Endpoint: w.url, CA: w.sim.CAPEM(), Certificate: cred.Certificate, Key: cred.Key,
	}.Vim()
	vim.VimType = VimType
	return vim
}

// find looks for a kind in a session of its own.
func (w *kindsWorld) find(vim sol.VimConnectionInfo, gvk schema.GroupVersionKind) error {
	w.t.Helper()
	s, err := w.open(w.t.Context(), vim, "default", nil)
	require.NoError(w.t, err)
	defer s.close()
	_, err = s.client(gvk, "")
	return err
}

func TestSessionsShareTheKindsOfACluster(t *testing.T) {
	t.Parallel()
	w := newKindsWorld(t)
	vim := w.vim("admin")
	for range 3 {
		require.NoError(t, w.find(vim, podKind))
	}
	require.Equal(t, 1, w.asked.count("/api/v1"))

	other := w.vim("other") // what one user may see is not told to another one
	require.NoError(t, w.find(other, podKind))
	require.Equal(t, 1, w.asked.count("/api/v1"))

	w.later(kindsAge)
	require.NoError(t, w.find(vim, podKind))
	require.Equal(t, 0, w.asked.count("/api/v1"))
	w.later(time.Second)
	for range 2 {
		require.NoError(t, w.find(vim, podKind))
	}
	require.Equal(t, 1, w.asked.count("/api/v1"))
}

func TestUnknownKindIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newKindsWorld(t)
	vim, gvk := w.vim("admin"), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	require.True(t, meta.IsNoMatchError(w.find(vim, gvk)))
	require.Equal(t, 1, w.asked.count("/apis"))
	require.True(t, meta.IsNoMatchError(w.find(vim, gvk)))
	require.Equal(t, 0, w.asked.count("/apis"), "the answers are not older than a second")
	_, err := w.sim.Store().Create(kubeapi.Kind("CustomResourceDefinition"), "", kubeapi.Object{
		"metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": "Widget", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	})
	require.NoError(t, err)
	w.later(2 * time.Second)
	require.Eventually(t, func() bool {
		w.later(2 * time.Second)
		return w.find(vim, gvk) == nil
	}, 20*time.Second, 10*time.Millisecond)
	w.asked.count("/apis")
	require.NoError(t, w.find(vim, gvk))
	require.Equal(t, 0, w.asked.count("/apis"))
}

// TestTemplatesSeeKindsOfTheMoment: a chart can ask for kinds that were installed just before it.
func TestTemplatesSeeKindsOfTheMoment(t *testing.T) {
	t.Parallel()
	w := newKindsWorld(t)
	s, err := w.open(t.Context(), w.vim("admin"), "default", nil)
	require.NoError(t, err)
	defer s.close()
	read := func() {
		t.Helper()
		s.kinds.notOlder(kindsFresh)
		_, err := s.kinds.ServerVersion()
		require.NoError(t, err)
		_, _, err = s.kinds.ServerGroupsAndResources()
		require.NoError(t, err)
	}
	read()
	read()
	require.Equal(t, 1, w.asked.count("/version"))
	require.Equal(t, 1, w.asked.count("/apis"))
	w.later(kindsFresh + time.Millisecond)
	read()
	require.Equal(t, 1, w.asked.count("/version"))
	require.Equal(t, 1, w.asked.count("/apis"))
}
