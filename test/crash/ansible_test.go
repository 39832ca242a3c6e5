package crash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/stack"
)

const ansibleSource = "../../vnf-packages/ansible-app"

// countingApp is the package ansible-app, whose commands count how often they run.
func countingApp(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "counting")
	require.NoError(t, os.CopyFS(dir, os.DirFS(ansibleSource)))
	file := filepath.Join(dir, "ScriptANSIBLE", "config.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	const command = "- command: mkdir -p /tmp/app"
	require.Contains(t, string(text), command)
	text = bytes.Replace(text, []byte(command), []byte(command+"; echo ran >>/tmp/app/times"), 1)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return dir
}

// TestDeathAroundPlaybooks: a node dies at writes of operations that run playbooks and commands of a package. A command
// runs once. A playbook runs at least once, and the page that it makes is there.
func TestDeathAroundPlaybooks(t *testing.T) {
	t.Parallel()
	python, playbook := sandbox.Python(t, true), sandbox.Playbook(t)
	cloud, fleet := startMachines(t)
	database := devpg.TestURL(t)
	w := newWorld(t, cloud, database, devpg.Pool(t, database))
	l := &lane{world: w, env: []string{
		"GYBE_SCRIPTS_PYTHON=" + python, "GYBE_SCRIPTS_NETWORK=host", "GYBE_ANSIBLE_PLAYBOOK=" + playbook,
		"GYBE_AUTH_NONE=true",
	}}
	l.node = spawn(t, database, w.data, l.env...)
	vnfd := l.onboard(l.node.api, countingApp(t))
	file := filepath.Join(t.TempDir(), "instantiate.json")
	require.NoError(t, stack.LocalParams(ansibleSource+"/params/instantiate.json", file, cloud.Info()))
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var params map[string]any
	require.NoError(t, json.Unmarshal(raw, &params))
	scale := func(to sol.ScaleType) task {
		return func(api *client.Client, instance string) (string, error) {
			return api.Scale(t.Context(), instance, sol.ScaleVnfRequest{
				Type: to, AspectID: "VDU1_scale", NumberOfSteps: 1,
			})
		}
	}
	jobs := []*job{
		{typ: sol.LcmOperationInstantiate, do: l.instantiate(params), phases: []string{
			"grant", "infra", "inventory", "instantiate_end",
		}},
		{typ: sol.LcmOperationScale, do: scale(sol.ScaleTypeOut), phases: []string{
			"grant", "scale_start", "infra", "inventory", "scale_end",
		}},
		{typ: sol.LcmOperationTerminate, do: l.terminate(), phases: []string{"grant", "terminate_start", "infra"}},
	}
	every := 11
	if full() {
		every = 1
	}
	for n := 1; slices.ContainsFunc(jobs, func(j *job) bool { return !j.survived }); n += every {
		id := l.create(l.node.api, vnfd)
		for _, j := range jobs {
			l.run(j, id, death{Nth: n, After: n%2 == 0})
			if j.typ == sol.LcmOperationTerminate {
				continue
			}
			i, err := l.node.api.Instance(t.Context(), id)
			require.NoError(t, err)
			for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
				name, want := "index.html", "a page by Ansible at "
				if r.VduID == "VDU2" {
					name, want = "times", "ran\n"
				}
				got, err := fleet.Machine(r.ComputeResource.ResourceID).FS().ReadFile("/tmp/app/" + name)
				at := fmt.Sprintf("%s, write %d, %s: %s", j.typ, n, r.VduID, got)
				require.NoError(t, err, at)
				require.True(t, strings.HasPrefix(string(got), want), at)
				require.Equal(t, 1, strings.Count(string(got), "\n"), at)
			}
		}
		l.gone()
		require.NoError(t, l.node.api.DeleteInstance(t.Context(), id))
	}
	require.Greater(t, l.deaths, 40/every, "the test has to kill")
	t.Logf("%d deaths", l.deaths)
}
