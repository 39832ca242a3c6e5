package k8s_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// envSample names the folder of a package that is not the project's own, with its parameter files; README.md says how
// it must look.
const envSample = "GYBE_K8S_SAMPLE"

// TestSample: a package that was made for another VNFM creates a cluster with its own script and parameter files. The
// cluster scales out and in, a worker is healed, one of several masters too, then the whole VNF, and nothing is left.
func TestSample(t *testing.T) {
	if sample == "" {
		t.Skipf(
			"%s names no folder: no package from outside is tried; `make test-lab-k8s SAMPLE=FOLDER` does", envSample,
		)
	}
	requests, err := filepath.Glob(filepath.Join(sample, "params", "*", "instantiate.json"))
	require.NoError(t, err)
	require.NotEmpty(t, requests, "%s has no params/NAME/instantiate.json", sample)
	for _, file := range requests {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { newSample(t, filepath.Dir(file)).tour() })
	}
}

// sampled is a world with a package from outside, and a folder of its parameter files.
type sampled struct {
	*world
	dir     string
	version string // of the API: that of the parameter files' form
	vim     string // that the test has registered, or ""
	values  map[string]string
	request map[string]any // to instantiate
	// nodePort is the VNFD of the CNF with NodePorts, "" until it is onboarded.
	nodePort string
}

func newSample(t *testing.T, dir string) *sampled {
	t.Helper()
	return startSample(t, dir, filepath.Join(sample, "package"), "instantiate")
}

// startSample is a world with the package in pkg, and the parameter files in dir. request is the name of that for the
// instantiation; env is added to Gybe's environment.
func startSample(t *testing.T, dir, pkg, request string, env ...string) *sampled {
	t.Helper()
	s := &sampled{dir: dir, version: "v2"}
	s.world = startWith(t, "", pkg, env...)
	s.values = map[string]string{
		"AUTH_URL": authURL,
		"NET0":     s.openstack("network", "show", "net0", "-f", "value", "-c", "id"),
		"PUBLIC":   s.openstack("network", "show", "public", "-f", "value", "-c", "id"),
	}
	s.request = s.read(request)
	s.flavour, _ = s.request["flavourId"].(string)
	s.local()
	return s
}

// read reads a parameter file, in which ${NAME} is a value of this cloud. YAML's reader takes the comments and the
// commas at the end that guides have in JSON. A file that is missing is empty.
func (s *sampled) read(name string) map[string]any {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{}
	}
	require.NoError(s.t, err)
	text := os.Expand(string(raw), func(name string) string {
		value, known := s.values[name]
		require.True(s.t, known, "${%s} is no value of this cloud", name)
		return value
	})
	var out map[string]any
	require.NoError(s.t, yaml.Unmarshal([]byte(text), &out), "%s.json", name)
	return out
}

// local puts this cloud into the request: its VIM, its network for all external virtual links, and no proxy. A form of
// version 1 gets a VIM that is registered here.
func (s *sampled) local() {
	s.t.Helper()
	switch vims := s.request["vimConnectionInfo"].(type) {
	case []any:
		s.version = "v1"
		vim, err := s.api.CreateVim(s.t.Context(), gybeapi.Vim{
			Name: "sample", Type: "openstack", AuthURL: authURL, IsDefault: true,
			AuthCred: sol.KeyValuePairs{
				"username": "nfv_user", "password": "devstack", "user_domain_name": "Default",
			},
			VimProject: sol.KeyValuePairs{"name": "nfv", "project_domain_name": "Default"},
		})
		require.NoError(s.t, err)
		s.vim = vim.ID
		for _, v := range vims {
			v.(map[string]any)["vimId"] = vim.ID
		}
	case map[string]any:
		for _, v := range vims {
			vim := v.(map[string]any)
			delete(vim, "vimId") // of another VNFM
			vim["interfaceInfo"] = map[string]any{"endpoint": authURL}
		}
	}
	links, _ := s.request["extVirtualLinks"].([]any)
	for _, l := range links {
		l.(map[string]any)["resourceId"] = s.values["NET0"]
	}
	params, _ := s.request["additionalParams"].(map[string]any)
	cluster, _ := params["k8s_cluster_installation_param"].(map[string]any)
	delete(cluster, "proxy")
}

// tour does with the sample what its guide does.
func (s *sampled) tour() {
	s.t.Helper()
	id := s.up()
	i, err := s.api.Instance(s.t.Context(), id)
	require.NoError(s.t, err)
	require.NotEmpty(s.t, i.InstantiatedVnfInfo.ScaleStatus, "the flavour cannot be scaled")
	steps := any(1)
	if s.version == "v1" {
		steps = "1" // as the openstack command sends it
	}
	for _, kind := range []sol.ScaleType{sol.ScaleTypeOut, sol.ScaleTypeIn} {
		body := s.read("scale")
		body["type"], body["numberOfSteps"] = kind, steps
		if body["aspectId"] == nil {
			body["aspectId"] = i.InstantiatedVnfInfo.ScaleStatus[0].AspectID
		}
		s.do(id, string(kind), "scale", body)
		s.ready(id)
	}

	s.replace(id, s.vnfcs(id, workers)[0])
	if list := s.vnfcs(id, masters); len(list) > 1 {
		s.replace(id, list[0])
		s.etcd(id)
	}
	old := s.kubeconfigText(id)
	s.do(id, "heal all", "heal", s.read("heal-all"))
	s.ready(id)
	require.NotEqual(s.t, old, s.kubeconfigText(id), "a new cluster has credentials of its own")

	body := s.read("terminate")
	if body["terminationType"] == nil {
		body["terminationType"] = sol.TerminationTypeForceful
	}
	s.do(id, "terminate", "terminate", body)
	require.NoError(s.t, s.api.DeleteInstance(s.t.Context(), id))
	require.Empty(s.t, s.run(hosts, "list"), "hosts are left over")
	require.Empty(s.t, s.openstack("stack", "list", "-f", "value", "-c", "Stack Name"), "stacks are left over")
	vims, err := s.api.Vims(s.t.Context())
	require.NoError(s.t, err)
	for _, v := range vims {
		require.Equal(s.t, s.vim, v.ID, "the VIM %s is left over", v.Name)
	}
}

// up makes the cluster.
func (s *sampled) up() string {
	s.t.Helper()
	i, err := s.api.CreateInstance(s.t.Context(), sol.CreateVnfRequest{VnfdID: s.vnfd, VnfInstanceName: s.t.Name()})
	require.NoError(s.t, err)
	s.do(i.ID, "instantiate", "instantiate", s.request)
	s.ready(i.ID)
	s.t.Log("nodes:\n" + s.kubectl(i.ID, "get", "nodes", "-o", "wide"))
	return i.ID
}

// replace heals one VNFC with the sample's parameters. It is another machine afterwards.
func (s *sampled) replace(id string, c vnfc) {
	s.t.Helper()
	body := s.read("heal")
	body["vnfcInstanceId"] = []string{c.id}
	if s.version == "v1" {
		body["vnfcInstanceId"] = []string{c.resource}
	}
	s.do(id, "heal a "+c.vdu, "heal", body)
	s.replaced(id, c)
	s.ready(id)
}

// replaced wants a VNFC to be another machine.
func (s *sampled) replaced(id string, c vnfc) {
	s.t.Helper()
	for _, other := range s.vnfcs(id, c.vdu) {
		require.NotEqual(s.t, c.server, other.server, "the machine is the same")
	}
}

// do requests a task of an instance, in the version of the sample, and waits for its success.
func (s *sampled) do(id, title, task string, body map[string]any) {
	s.t.Helper()
	s.completed(title, s.begin(id, task, body), nil)
}

// begin requests a task of an instance, and returns the operation.
func (s *sampled) begin(id, task string, body map[string]any) string {
	s.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(s.t, err)
	url := s.api.Endpoint() + "/vnflcm/" + s.version + "/vnf_instances/" + id + "/" + task
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, bytes.NewReader(raw))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Version", map[string]string{"v1": "1.3.0", "v2": "2.0.0"}[s.version])
	resp, err := s.web.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	var answer bytes.Buffer
	_, err = answer.ReadFrom(resp.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusAccepted, resp.StatusCode, "%s: %s", task, &answer)
	return path.Base(resp.Header.Get("Location"))
}
