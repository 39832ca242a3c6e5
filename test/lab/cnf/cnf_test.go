package cnf_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const packages = "../../../vnf-packages/"

// manifests makes a package from the sample: its Deployment, objects of the usual kinds, and no mgmt driver. replace
// are pairs of old and new texts of its files.
func manifests(t *testing.T, replace ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(packages+"cnf-nodeport")))
	flavour := filepath.Join(dir, "Definitions", "cnf_nodeport_df_simple.yaml")
	raw, err := os.ReadFile(flavour)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(raw), "      interfaces:\n")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "    VDU1:\n")
	require.True(t, found)
	require.NoError(t, os.WriteFile(flavour, []byte(before+"    VDU1:\n"+after), 0o600))
	more, err := os.ReadFile("testdata/objects.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Files/kubernetes/objects.yaml"), more, 0o600))
	change := strings.NewReplacer(replace...)
	for _, pattern := range []string{"Definitions/*.yaml", "Files/kubernetes/*.yaml"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, name := range names {
			raw, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(name, []byte(change.Replace(string(raw))), 0o600))
		}
	}
	return dir
}

// TestManifests: objects of the usual kinds live the whole life of an instance in a real cluster.
func TestManifests(t *testing.T) {
	w := start(t)
	const next = "babb0ce7-ebca-4fa7-95ed-4840d70a1178"
	all := []string{"Files/kubernetes/deployment.yaml", "Files/kubernetes/objects.yaml"}
	id := w.create(manifests(t))
	request := w.encode(sol.InstantiateVnfRequest{
		FlavourID: "simple", VimConnectionInfo: w.vim(kubernetes.VimType),
		AdditionalParams: sol.KeyValuePairs{"lcm-kubernetes-def-files": all},
	})
	plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: request,
	})
	require.NoError(t, err)
	require.True(t, plan.Possible, "%+v", plan.Checks)
	require.False(t, w.exists("apps/v1", "Deployment", "default", "vdu1"), "a plan changes nothing")
	op, err := w.api.Instantiate(t.Context(), id, request)
	w.completed("instantiate", op, err)
	require.True(t, w.exists("lab.gybe.io/v1", "Page", "default", "front"))
	require.True(t, w.exists("v1", "PersistentVolume", "", "gybe-lab-files"))

	op, err = w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{
		Type: sol.ScaleTypeOut, AspectID: "vdu1_aspect", NumberOfSteps: 2,
	})
	w.completed("scale out", op, err)
	before := w.pods(id)
	require.Len(t, before, 3)
	op, err = w.api.Heal(t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{"VDU1-1"}})
	w.completed("heal a VNFC", op, err)
	after := w.pods(id)
	require.Equal(t, before["VDU1-0"], after["VDU1-0"])
	require.NotEqual(t, before["VDU1-1"], after["VDU1-1"])
	op, err = w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{
		Type: sol.ScaleTypeIn, AspectID: "vdu1_aspect", NumberOfSteps: 1,
	})
	w.completed("scale in", op, err)
	require.Len(t, w.pods(id), 2)

	other := manifests(t, "babb0ce7-ebca-4fa7-95ed-4840d70a1177", next, "image: nginx", "image: nginx:2")
	change := sol.ChangeCurrentVnfPkgRequest{
		VnfdID:           w.onboard(other),
		AdditionalParams: sol.KeyValuePairs{"lcm-kubernetes-def-files": all[:1]},
	}
	plan, err = w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationChangeVnfpkg, Params: w.encode(change),
	})
	require.NoError(t, err)
	t.Logf("plan of the change: %s", w.encode(plan))
	require.Len(t, plan.Change, 1)
	require.Contains(t, plan.Change[0].Detail, "image: nginx -> nginx:2")
	op, err = w.api.ChangePackage(t.Context(), id, change)
	w.completed("change the package", op, err)
	require.False(t, w.exists("apps/v1", "StatefulSet", "default", "store"), "the manifests do not have it any more")
	require.Len(t, w.pods(id), 2)

	for _, state := range []sol.VnfOperationalState{sol.VnfOperationalStateStopped, sol.VnfOperationalStateStarted} {
		op, err = w.api.Operate(t.Context(), id, sol.OperateVnfRequest{ChangeStateTo: state})
		w.completed("operate: "+string(state), op, err)
	}
	before = w.pods(id)
	op, err = w.api.Heal(t.Context(), id, sol.HealVnfRequest{})
	w.completed("heal the CNF", op, err)
	require.NotEqual(t, before, w.pods(id))
	w.terminate(id)
	require.False(t, w.exists("apps/v1", "Deployment", "default", "vdu1"))
}

// terminate deletes everything of an instance.
func (w *world) terminate(id string) {
	w.t.Helper()
	op, err := w.api.Terminate(w.t.Context(), id, sol.TerminateVnfRequest{
		TerminationType: sol.TerminationTypeForceful,
	})
	w.completed("terminate", op, err)
	require.NoError(w.t, w.api.DeleteInstance(w.t.Context(), id))
}

// TestChart: the sample package with a chart lives its whole life in a real cluster.
func TestChart(t *testing.T) {
	w := start(t)
	raw, err := os.ReadFile(packages + "cnf-web-helm/params/instantiate.json")
	require.NoError(t, err)
	var request sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(raw, &request))
	request.VimConnectionInfo = w.vim(helm.VimType)
	id := w.create(packages + "cnf-web-helm")
	op, err := w.api.Instantiate(t.Context(), id, w.encode(request))
	w.completed("instantiate", op, err)
	require.True(t, w.exists("apps/v1", "Deployment", "default", "web"))
	op, err = w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "web"})
	w.completed("scale out", op, err)
	before := w.pods(id)
	require.Len(t, before, 3)
	healed := slices.Sorted(maps.Keys(before))[0]
	op, err = w.api.Heal(t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{healed}})
	w.completed("heal a VNFC", op, err)
	require.NotEqual(t, before[healed], w.pods(id)[healed])
	w.terminate(id)
	require.False(t, w.exists("apps/v1", "Deployment", "default", "web"))
}
