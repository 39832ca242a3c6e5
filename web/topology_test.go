package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Pods have no zone, flavour or connection points: columns for them would be empty.
func TestColumnsWithoutATextAreNotShown(t *testing.T) {
	t.Parallel()
	w := sample()
	before := content(t, get(t, handler(w.deps()), "/ui/instances/"+cluster))
	require.Contains(t, before, "Flavour in the VIM")
	require.Contains(t, before, "From outside")
	i := w.instances[0]
	i.Inventory = []lcm.Resource{{ID: "web-5cb4b4ffc9-89zoe", Kind: lcm.KindCompute, VDU: "VDU1", VNFC: "VDU1-0"}}
	i.Instantiated = &sol.InstantiatedVnfInfo{
		FlavourID: "simple",
		VnfcResourceInfo: []sol.VnfcResourceInfo{{
			ID: "r1", VduID: "VDU1", ComputeResource: sol.ResourceHandle{ResourceID: "web-5cb4b4ffc9-89zoe"},
		}},
		VnfcInfo: []sol.VnfcInfo{{ID: "VDU1-0", VduID: "VDU1", VnfcResourceInfoID: "r1", VnfcState: "STARTED"}},
	}
	body := content(t, get(t, handler(w.deps()), "/ui/instances/"+cluster))
	require.Contains(t, body, "web-5cb4b4ffc9-89zoe")
	require.Contains(t, body, `<th scope="rowgroup" colspan="2">VDU1 `)
	for _, column := range []string{"Host and zone", "Addresses", "From outside", "Flavour in the VIM"} {
		require.NotContains(t, body, column)
	}
}
