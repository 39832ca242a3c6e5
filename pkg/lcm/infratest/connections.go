package infratest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// testSeveralConnections: VDUs use the connections that they select, through the whole life of an instance. A driver
// that uses one connection for all VDUs rejects the request.
func testSeveralConnections(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	empty := v.vim.Contents()
	v.second = h.SecondVDU
	if v.second == "" {
		v.second = h.VNFD.Flavour(h.Request.FlavourID).VDUs[0].Name
		r := h.Request
		r.VimConnectionInfo = v.connections()
		err := v.driver.Validate(t.Context(), v.request(v.admission(sol.LcmOperationInstantiate, r)))
		require.Error(t, err, "the driver would ignore the selection")
		params := lcm.AsError(err).Params
		require.NotEmpty(t, params)
		require.True(t, strings.HasPrefix(params[0].Pointer, "/vimConnectionInfo/"+secondKey), params)
		return
	}
	v.instantiate()
	v.requireInventory()
	used := map[string]bool{}
	for _, r := range v.instance.Instantiated.VnfcResourceInfo {
		used[r.ComputeResource.VimConnectionID] = true
	}
	require.Len(t, used, 2)
	v.scale(sol.ScaleTypeOut)
	v.requireInventory()
	v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{})
	v.complete()
	v.requireInventory()
	l := v.leftovers()
	require.Empty(t, l.Extra)
	require.Empty(t, l.Missing)
	v.terminate()
	require.ElementsMatch(t, empty, v.vim.Contents())
}
