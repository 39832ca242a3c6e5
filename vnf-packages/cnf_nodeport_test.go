package vnfpackages_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/nodeport"
)

var cnfNodePort = sample{dir: "cnf-nodeport", prefix: "cnf_nodeport_"}

func TestCnfNodePortMetaListsEveryFile(t *testing.T) { cnfNodePort.metaListsEveryFile(t) }

// Both parameter files name the same manifests, which exist, and are accepted by the driver.
func TestCnfNodePortParameterFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"simple_cnf_param_file.json", "simple_cnf_param_file_v2.json"} {
		var p struct {
			FlavourID        string `json:"flavourId"`
			AdditionalParams struct {
				Files []string       `json:"lcm-kubernetes-def-files"`
				LB    map[string]any `json:"lcm-kubernetes-external-lb"`
			} `json:"additionalParams"`
		}
		require.NoError(t, json.Unmarshal(cnfNodePort.read(t, "params/"+name), &p))
		require.Equal(t, "simple", p.FlavourID)
		require.Len(t, p.AdditionalParams.Files, 3)
		require.Subset(t, cnfNodePort.files(t), p.AdditionalParams.Files)
		require.Contains(t, p.AdditionalParams.LB, "external_lb_param")
	}
}

func TestCnfNodePortIsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := cnfNodePort.good(t)
	require.Equal(t, "babb0ce7-ebca-4fa7-95ed-4840d70a1177", v.ID)
	f := v.Flavour("simple")
	require.NotNil(t, f)
	require.Equal(t, 2, f.Aspect("vdu1_aspect").MaxScaleLevel)
	counts, ok := f.Counts("")
	require.True(t, ok)
	require.Equal(t, map[string]int{"VDU1": 1}, counts)
	known := map[string]bool{}
	for _, h := range nodeport.New(nodeport.Options{}).Hooks() {
		known[string(h.Hook)] = true
	}
	require.NotEmpty(t, f.LCM)
	for hook, impl := range f.LCM {
		require.Equal(t, nodeport.Name, impl.Name)
		require.True(t, known[hook], hook)
	}
}
