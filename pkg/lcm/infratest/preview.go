package infratest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// preview plans a task and requires that the VIM stays as it is.
func (v *vnf) preview(typ sol.LcmOperationType, body any) *lcm.Preview {
	v.t.Helper()
	before, changes := v.vim.Contents(), v.node.changesMade()
	p, err := v.driver.Preview(v.t.Context(), v.request(v.admission(typ, body)))
	require.NoError(v.t, err)
	require.Equal(v.t, changes, v.node.changesMade(), "a preview changes nothing")
	require.ElementsMatch(v.t, before, v.vim.Contents())
	require.Equal(v.t, typ, p.Operation)
	require.True(v.t, p.Possible, "%+v", p.Checks)
	for _, list := range [][]lcm.PlannedResource{p.Add, p.Remove, p.Replace, p.Change} {
		for _, r := range list {
			require.NotEmpty(v.t, r.Type)
		}
	}
	return p
}

// vnfcsIn counts the entries of VNFCs that exist.
func vnfcsIn(list []lcm.PlannedResource) map[string]int {
	out := map[string]int{}
	for _, r := range list {
		if r.VNFC != "" {
			out[r.VNFC]++
		}
	}
	return out
}

// vdusIn counts the entries by VDU.
func vdusIn(list []lcm.PlannedResource) map[string]int {
	out := map[string]int{}
	for _, r := range list {
		out[r.VDU]++
	}
	return out
}

// testPreview: a preview names the VNFCs that the operation adds, removes and replaces, and changes nothing.
func testPreview(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	request := v.Request
	request.VimConnectionInfo = v.vim.Connections()
	p := v.preview(sol.LcmOperationInstantiate, request)
	wanted, _ := h.VNFD.Flavour(request.FlavourID).Counts(request.InstantiationLevelID)
	for vdu, n := range wanted {
		require.GreaterOrEqual(t, vdusIn(p.Add)[vdu], n, "new VNFCs of %s", vdu)
	}
	v.instantiate()

	scale := sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: h.Aspect}
	p = v.preview(sol.LcmOperationScale, scale)
	for vdu, n := range v.admission(sol.LcmOperationScale, scale).Scope.Add {
		require.GreaterOrEqual(t, vdusIn(p.Add)[vdu], n, "new VNFCs of %s", vdu)
	}
	require.Empty(t, vnfcsIn(p.Remove))
	v.scale(sol.ScaleTypeOut)

	scale.Type = sol.ScaleTypeIn
	p = v.preview(sol.LcmOperationScale, scale)
	removed := v.admission(sol.LcmOperationScale, scale).Scope.Remove
	require.NotEmpty(t, removed)
	for _, vnfc := range removed {
		require.Contains(t, vnfcsIn(p.Remove), vnfc)
	}
	require.Len(t, vnfcsIn(p.Remove), len(removed))

	vnfc := v.instance.Instantiated.VnfcInfo[0].ID
	p = v.preview(sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: []string{vnfc}})
	require.Contains(t, vnfcsIn(p.Replace), vnfc)
	require.Len(t, vnfcsIn(p.Replace), 1)
}
