package k8s_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// TestUpgrade: an upgrade to the next Kubernetes upgrades every node, and the cluster and its pods stay available.
func TestUpgrade(t *testing.T) {
	w := start(t, "complex")
	if len(kubeboxes) < 2 {
		t.Skip("there is only one version of Kubernetes; GYBE_LAB_KUBEBOX can name several")
	}
	old, now := version(w, kubeboxes[1]), version(w, kubeboxes[0])
	w.kubebox = kubeboxes[1]
	id := w.up()
	w.versions(id, old)
	w.kubectl(id, "create", "deployment", "web", "--image=registry.k8s.io/pause:3.10", "--replicas=4")
	w.kubectl(id, "rollout", "status", "deployment", "web", "--timeout=60s")

	next := w.nextPackage()
	longest := w.watch(id, func() {
		op, err := w.api.ChangePackage(t.Context(), id, sol.ChangeCurrentVnfPkgRequest{
			VnfdID: next,
			AdditionalParams: sol.KeyValuePairs{"k8s_cluster_installation_param": map[string]any{
				"kubernetes_version": now[1:strings.LastIndex(now, ".")],
			}},
		})
		w.completed("upgrade from "+old+" to "+now, op, err)
	})
	spent.add(w.flavour, "    longest time without an answer of the API during the upgrade", longest)
	require.Less(t, longest, 30*time.Second, "the API was away during the upgrade")
	w.ready(id)
	w.versions(id, now)
	w.etcd(id)
	w.kubectl(id, "rollout", "status", "deployment", "web", "--timeout=60s")

	w.scale(id, sol.ScaleTypeOut, 1)
	w.versions(id, now)
	w.down(id)
}

// version is that of a kubebox, such as v1.36.4.
func version(w *world, box string) string { return w.run(box, "kubeadm", "version", "-o", "short") }

// versions wants every node to run a version.
func (w *world) versions(id, want string) {
	w.t.Helper()
	for _, n := range w.nodes(id) {
		require.Equal(w.t, want, n.Status.NodeInfo.KubeletVersion, n.Metadata.Name)
	}
	var seen struct{ GitVersion string }
	for _, m := range w.vnfcs(id, masters) {
		raw := w.host(m.server, "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "--server",
			"https://"+w.address(m)+":6443",
			"get", "--raw", "/version")
		require.NoError(w.t, json.Unmarshal([]byte(raw), &seen))
		require.Equal(w.t, want, seen.GitVersion, "the API server of %s", m.id)
	}
}

func (w *world) address(c vnfc) string {
	w.t.Helper()
	for line := range strings.Lines(w.run(hosts, "list")) {
		if f := strings.Fields(line); f[0] == c.server {
			return f[1]
		}
	}
	w.t.Fatalf("no host %s", c.server)
	return ""
}

// nextPackage onboards the sample package as another one.
func (w *world) nextPackage() string { return w.variant("d34ac189-5376-493f-828f-224dd5fe7394") }

// variant onboards the sample package as another one, with pairs of old and new texts in its definitions.
func (w *world) variant(vnfd string, replace ...string) string {
	w.t.Helper()
	const own = "d34ac189-5376-493f-828f-224dd5fe7393"
	change := strings.NewReplacer(append(replace, own, vnfd)...)
	dir := filepath.Join(w.dir, vnfd)
	require.NoError(w.t, os.CopyFS(dir, os.DirFS(pkgDir)))
	require.NoError(w.t, filepath.WalkDir(filepath.Join(dir, "Definitions"),
		func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, []byte(change.Replace(string(raw))), 0o600)
		}))
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), dir, dir+".zip"))
	got, err := stack.Onboard(w.t.Context(), w.api, dir+".zip")
	require.NoError(w.t, err)
	require.Equal(w.t, vnfd, got)
	return got
}

// watch asks the cluster's API again and again while fn runs, and returns the longest time in which it gave no answer.
func (w *world) watch(id string, fn func()) time.Duration {
	w.t.Helper()
	config := filepath.Join(w.dir, "watched")
	require.NoError(w.t, os.WriteFile(config, []byte(w.kubeconfigText(id)), 0o600))
	var asking sync.WaitGroup
	over := make(chan struct{})
	var longest time.Duration
	asking.Go(func() {
		answered := time.Now()
		for {
			select {
			case <-over:
				return
			case <-time.After(200 * time.Millisecond):
			}
			if _, err := w.output(kubeboxes[0], "kubectl", "--kubeconfig", config, "--request-timeout", "2s", "get",
				"--raw", "/readyz"); err == nil {
				answered = time.Now()
			}
			longest = max(longest, time.Since(answered))
		}
	})
	fn()
	close(over)
	asking.Wait()
	return longest
}
