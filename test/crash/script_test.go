package crash_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacktemplates"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// register is where scripts of a package say that they begin and end.
type register struct {
	*httptest.Server
	mu   sync.Mutex
	said []string // "begin" or "end", the script, and its word
}

func newRegister(t *testing.T) *register {
	t.Helper()
	r := &register{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		said, _ := io.ReadAll(io.LimitReader(req.Body, 1000))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, string(said))
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns what was said about a script since the last call, in its order.
func (r *register) take(script string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	r.said = slices.DeleteFunc(r.said, func(s string) bool {
		words := strings.Fields(s)
		if words[1] == script {
			out = append(out, words[0]+" "+words[2])
		}
		return words[1] == script
	})
	return out
}

// registering is code of a script that says what it does.
const registering = `
import urllib.request, uuid

def tell(what, script, word):
    request = urllib.request.Request("REGISTER", data=("%s %s %s" % (what, script, word)).encode())
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60).read()
`

// driverScript is a mgmt driver script.
const driverScript = `
import os, pickle, sys
v = pickle.load(sys.stdin.buffer)
word = str(uuid.uuid4())
tell("begin", v["operation"], word)
inst = v["vnf_instance"]
inst["metadata"] = {"word": word}
tell("end", v["operation"], word)
pickle.dump({"vnf_instance": inst}, sys.stdout.buffer)
sys.stdout.flush()
os._exit(0)
`

// scriptedPackage is the package plain with a mgmt driver script, and with a user-data class that makes another stack
// in each run.
func scriptedPackage(t *testing.T, url string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "scripted")
	require.NoError(t, os.CopyFS(dir, os.DirFS(plainSource)))
	edit := func(name, old, replacement string) {
		t.Helper()
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), old, name)
		text = []byte(strings.Replace(string(text), old, replacement, 1))
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	tell := strings.Replace(registering, "REGISTER", url, 1)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "Scripts"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Scripts", "driver.py"), []byte(tell+driverScript), 0o600))
	edit("UserData/site.py", "LOG = logging", tell+"\nLOG = logging")
	edit("UserData/site.py", "    machines(top, count)\n", `    machines(top, count)
    top["description"] = str(uuid.uuid4())
    tell("begin", "class", top["description"])
`)
	edit("UserData/site.py", `{"resources": changed, "outputs": top["outputs"]}`,
		`{"resources": changed, "outputs": top["outputs"], "description": top["description"]}`)
	edit("Definitions/plain_df_default.yaml", "        flavour_description: plain virtual machines\n",
		`        flavour_description: plain virtual machines
      interfaces:
        Vnflcm:
          instantiate_end: { implementation: driver }
          scale_start: { implementation: driver }
      artifacts:
        driver: { type: tosca.artifacts.Implementation.Python, file: ../Scripts/driver.py }
`)
	return dir
}

// TestDeathAroundScripts: a node dies at writes of operations whose stack a class of the package makes and at
// which a mgmt driver script runs. The class runs again only if its result was not stored, and the stack is that of one
// run. The script of the mgmt driver runs at least once, never twice at the same time, and the instance has what its
// last run has returned.
func TestDeathAroundScripts(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, true)
	reg := newRegister(t)
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	l := &lane{world: w, env: []string{
		"GYBE_SCRIPTS_PYTHON=" + python, "GYBE_SCRIPTS_NETWORK=host", "GYBE_AUTH_NONE=true",
	}}
	l.node = spawn(t, database, w.data, l.env...)
	vnfd := l.onboard(l.node.api, scriptedPackage(t, reg.URL))
	params := l.plain()
	params["additionalParams"] = map[string]any{
		"lcm-operation-user-data": "./UserData/site.py", "lcm-operation-user-data-class": "SiteUserData",
	}
	jobs := []*job{
		{typ: sol.LcmOperationInstantiate, do: l.instantiate(params), phases: []string{
			"grant", "infra", "inventory", "instantiate_end",
		}},
		{typ: sol.LcmOperationScale, do: func(api *client.Client, instance string) (string, error) {
			return api.Start(t.Context(), instance, sol.LcmOperationScale, stack.Scale(sol.ScaleTypeOut, 1))
		}, phases: []string{"grant", "scale_start", "infra", "inventory"}},
	}
	end, every := l.terminate(), 3
	if full() {
		every = 1
	}
	for n := 1; slices.ContainsFunc(jobs, func(j *job) bool { return !j.survived }); n += every {
		id := l.create(l.node.api, vnfd)
		for _, j := range jobs {
			deaths := l.deaths
			l.run(j, id, death{Nth: n, After: n%2 == 0})
			at := fmt.Sprintf("%s, write %d", j.typ, n)
			died := l.deaths - deaths
			l.oneStack(id)

			made := reg.take("class")
			require.NotEmpty(t, made, at)
			require.LessOrEqual(t, len(made), 1+died, "%s: %v", at, made)
			require.Contains(t, made, "begin "+l.description(id), at)

			ran := reg.take(map[sol.LcmOperationType]string{
				sol.LcmOperationInstantiate: "instantiate_end", sol.LcmOperationScale: "scale_start",
			}[j.typ])
			require.NotEmpty(t, ran, at)
			begun := slices.DeleteFunc(slices.Clone(ran), func(s string) bool { return !strings.HasPrefix(s, "begin") })
			require.LessOrEqual(t, len(begun), 1+died, "%s: %v", at, ran)
			last := strings.TrimPrefix(begun[len(begun)-1], "begin ")
			require.Equal(t, "end "+last, ran[len(ran)-1], "a run begins when the one before it has ended: %v", ran)
			i, err := l.node.api.Instance(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, sol.KeyValuePairs{"word": last}, i.Metadata)
		}
		op, err := end(l.node.api, id)
		require.NoError(t, err)
		l.completed(l.node.api, op)
		l.gone()
		require.NoError(t, l.node.api.DeleteInstance(t.Context(), id))
	}
	require.Greater(t, l.deaths, 20/every, "the test has to kill")
	t.Logf("%d deaths", l.deaths)
}

// description is that of the template that Heat has for the instance.
func (w *world) description(instance string) string {
	w.t.Helper()
	ctx := w.t.Context()
	provider, err := simcloud.Login(ctx, w.cloud.AuthOptions())
	require.NoError(w.t, err)
	defer provider.HTTPClient.CloseIdleConnections()
	heat, err := openstack.NewOrchestrationV1(provider, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(w.t, err)
	found, err := stacks.Find(ctx, heat, "vnf-"+instance).Extract()
	require.NoError(w.t, err)
	raw, err := stacktemplates.Get(ctx, heat, found.Name, found.ID).Extract()
	require.NoError(w.t, err)
	var template struct {
		Description string `json:"description"`
	}
	require.NoError(w.t, json.Unmarshal(raw, &template))
	return template.Description
}
