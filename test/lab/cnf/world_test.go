package cnf_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/stack"
)

// envLab names the kubeconfig of a cluster that lab.sh has started.
const envLab = "GYBE_LAB_CNF"

// world is a compiled gybe in front of the cluster.
type world struct {
	t       *testing.T
	api     *client.Client
	dir     string
	config  *rest.Config
	cluster *objects.Cluster // asks the cluster behind Gybe's back
}

func start(t *testing.T) *world {
	t.Helper()
	file := os.Getenv(envLab)
	if file == "" {
		t.Skipf("%s names no cluster; `make test-lab-cnf` tests CNFs on a real one (root, Debian 12)", envLab)
	}
	w := &world{t: t, dir: t.TempDir()}
	var err error
	w.config, err = clientcmd.BuildConfigFromFlags("", file)
	require.NoError(t, err)
	w.cluster, err = objects.New(w.config)
	require.NoError(t, err)
	t.Cleanup(w.cluster.Close)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(w.dir, "gybe"), "./cmd/gybe")
	build.Dir = "../../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	log, err := os.Create(filepath.Join(w.dir, "gybe.log"))
	require.NoError(t, err)
	n, err := stack.StartNode(t.Context(), stack.NodeOptions{
		Bin: w.dir, ID: "node-1", Database: devpg.TestURL(t), Data: filepath.Join(w.dir, "content"), SSHPort: 22,
		Log: log,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		n.Kill()
		_ = log.Close()
	})
	w.api, err = client.New(n.URL, nil)
	require.NoError(t, err)
	return w
}

// vim is the connection to the cluster for a driver.
func (w *world) vim(vimType string) map[string]sol.VimConnectionInfo {
	c := kubernetes.Access{
		Endpoint: w.config.Host, CA: w.config.CAData, Certificate: w.config.CertData, Key: w.config.KeyData,
		Token: w.config.BearerToken,
	}.Vim()
	c.VimType = vimType
	return map[string]sol.VimConnectionInfo{"vim1": c}
}

// create onboards a folder as a package, and creates an instance.
func (w *world) create(folder string) string {
	w.t.Helper()
	i, err := w.api.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: w.onboard(folder)})
	require.NoError(w.t, err)
	return i.ID
}

func (w *world) onboard(folder string) string {
	w.t.Helper()
	archive := filepath.Join(w.dir, "package.zip")
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), folder, archive))
	id, err := stack.Onboard(w.t.Context(), w.api, archive)
	require.NoError(w.t, err)
	return id
}

func (w *world) encode(v any) json.RawMessage {
	w.t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(w.t, err)
	return raw
}

// completed waits for an operation, which must succeed, and logs its time.
func (w *world) completed(title, op string, err error) {
	w.t.Helper()
	require.NoError(w.t, err)
	took, err := stack.Await(w.t.Context(), w.api, op)
	require.NoError(w.t, err, title)
	w.t.Logf("%s: %s", title, took[0].Round(time.Millisecond))
}

// pods are the resource ids of an instance's VNFCs, by VNFC.
func (w *world) pods(id string) map[string]string {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	out := map[string]string{}
	for _, c := range i.InstantiatedVnfInfo.VnfcInfo {
		for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
			if r.ID == c.VnfcResourceInfoID {
				out[c.ID] = r.ComputeResource.ResourceID
			}
		}
	}
	return out
}

// exists says that the cluster has an object.
func (w *world) exists(apiVersion, kind, namespace, name string) bool {
	_, err := w.cluster.Get(w.t.Context(), objects.Ref{
		APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name,
	})
	return err == nil
}
