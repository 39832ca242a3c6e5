package vnfpackages_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
)

var clusterKubespray = sample{dir: "kubernetes-cluster-kubespray", prefix: "sample_kubernetes_"}

func TestKubernetesClusterKubesprayMetaListsEveryFile(t *testing.T) {
	clusterKubespray.metaListsEveryFile(t)
}

// The package passes the checks of an upload, and names the hooks that the driver has something to do at.
func TestKubernetesClusterKubesprayIsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := clusterKubespray.good(t)
	require.Equal(t, "b1db0ce7-ebca-2fb7-95ed-4840d70a1163", v.ID)
	known := map[string]bool{}
	for _, h := range k8scluster.NewKubespray(k8scluster.Options{}).Hooks() {
		known[string(h.Hook)] = h.Run != nil
	}
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3} {
		f := v.Flavour(flavour)
		require.NotNil(t, f)
		for level, workers := range map[string]int{"instantiation_level_1": 2, "instantiation_level_2": 4} {
			counts, ok := f.Counts(level)
			require.True(t, ok)
			require.Equal(t, map[string]int{"masterNode": masters, "workerNode": workers, "externalLB": 1}, counts)
		}
		named := map[string]bool{}
		for hook, impl := range f.LCM {
			require.Equal(t, k8scluster.KubesprayName, impl.Name)
			named[hook] = true
		}
		for hook, acts := range known {
			require.Equal(t, acts, named[hook], "%s of flavour %s", hook, flavour)
		}
	}
}

// healed has the VNFC that the parameter files name.
type healed struct{}

func (healed) VNFC(id string) (string, bool) {
	return "w1", id == "f8829938-d57e-4b96-b383-cf3783651822"
}

func (healed) CpConfig(string) (string, bool)   { return "", false }
func (healed) CpConfigOf(string) (string, bool) { return "", false }

// The parameter files are requests of version 1 that the driver accepts, on an instance that was made with the first of
// them.
func TestKubernetesClusterKubesprayParameterFiles(t *testing.T) {
	t.Parallel()
	d := k8scluster.NewKubespray(k8scluster.Options{})
	f := clusterKubespray.good(t).Flavour("simple")
	additional := func(raw json.RawMessage) map[string]any {
		var req struct {
			AdditionalParams map[string]any `json:"additionalParams"`
		}
		require.NoError(t, json.Unmarshal(raw, &req))
		return req.AdditionalParams
	}
	remembered := additional(clusterKubespray.read(t, "params/simple_kubernetes_param_file.json"))
	i := &lcm.Instance{ID: "i", Instantiated: &sol.InstantiatedVnfInfo{VnfcInfo: []sol.VnfcInfo{
		{ID: "m1", VduID: "masterNode", VnfcState: sol.VnfOperationalStateStarted},
		{ID: "w1", VduID: "workerNode", VnfcState: sol.VnfOperationalStateStarted},
	}}}
	out, in := lcm.Scope{Add: map[string]int{"workerNode": 1}}, lcm.Scope{Remove: []string{"w1"}}
	one, all := lcm.Scope{VNFCs: []string{"w1"}}, lcm.Scope{VNFCs: []string{"m1", "w1"}, Whole: true}
	for name, tt := range map[string]struct {
		typ   sol.LcmOperationType
		scope lcm.Scope
		want  map[string]any // of the body in version 2
	}{
		"scale_out":           {sol.LcmOperationScale, out, map[string]any{"numberOfSteps": 1.0}},
		"scale_out_new_login": {sol.LcmOperationScale, out, map[string]any{"numberOfSteps": 1.0}},
		"scale_in":            {sol.LcmOperationScale, in, map[string]any{"numberOfSteps": 1.0}},
		"scale_in_new_login":  {sol.LcmOperationScale, in, map[string]any{"numberOfSteps": 1.0}},
		"heal_node":           {sol.LcmOperationHeal, one, map[string]any{"vnfcInstanceId": []any{"w1"}}},
		"heal_node_new_login": {sol.LcmOperationHeal, one, map[string]any{"vnfcInstanceId": []any{"w1"}}},
		"heal_cluster":        {sol.LcmOperationHeal, all, map[string]any{}},
		"terminate":           {sol.LcmOperationTerminate, lcm.Scope{}, map[string]any{"terminationType": "GRACEFUL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := v1.Request(clusterKubespray.read(t, "params/"+name+".json"), healed{})
			require.NoError(t, err)
			var body map[string]any
			require.NoError(t, json.Unmarshal(request.Body, &body))
			for member, want := range tt.want {
				require.Equal(t, want, body[member])
			}
			merged, _ := lcm.MergePatch(remembered, additional(request.Body)).(map[string]any)
			require.NoError(t, d.Validate(t.Context(), lcm.Request{
				Type: tt.typ, Instance: i, Flavour: f, Package: os.DirFS(clusterKubespray.dir), Params: request.Body,
				AdditionalParams: merged, Scope: &tt.scope,
			}))
		})
	}
}
