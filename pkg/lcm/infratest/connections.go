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
	if h.SecondVDU == "" {
		rejectSelection(t, h)
		return
	}
	for name, connect := range map[string]func(VIM) sol.VimConnectionInfo{
		"to the same project": func(vim VIM) sol.VimConnectionInfo {
			_, c, _ := lcm.PrimaryVim(vim.Connections())
			return c
		},
		"to another VIM": VIM.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVNF(t, h, h.New(t))
			v.second, v.connect = h.SecondVDU, func() sol.VimConnectionInfo { return connect(v.vim) }
			v.liveWithTwo()
		})
	}
}

// rejectSelection: a driver that uses one connection rejects the selection of another one.
func rejectSelection(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.second, v.connect = h.VNFD.Flavour(h.Request.FlavourID).VDUs[0].Name, v.vim.Second
	r := v.Request
	r.VimConnectionInfo = v.connections()
	err := v.driver.Validate(t.Context(), v.request(v.admission(sol.LcmOperationInstantiate, r)))
	require.Error(t, err, "the driver would ignore the selection")
	params := lcm.AsError(err).Params
	require.NotEmpty(t, params)
	require.True(t, strings.HasPrefix(params[0].Pointer, "/vimConnectionInfo/"+secondKey), params)
}

// liveWithTwo is the life of an instance with two connections.
func (v *vnf) liveWithTwo() {
	v.t.Helper()
	empty := v.vim.Contents()
	v.instantiate()
	v.requireInventory()
	used := map[string]bool{}
	for _, r := range v.instance.Instantiated.VnfcResourceInfo {
		used[r.ComputeResource.VimConnectionID] = true
	}
	require.Len(v.t, used, 2)
	before := v.machines()

	v.scale(sol.ScaleTypeOut)
	v.requireInventory()
	for vnfc, id := range before {
		require.Equal(v.t, id, v.machines()[vnfc], "a scale out keeps the machine of %s", vnfc)
	}
	v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{})
	v.complete()
	v.requireInventory()
	l := v.leftovers()
	require.Empty(v.t, l.Extra)
	require.Empty(v.t, l.Missing)
	v.vim.Leave(v.instance.ID)
	v.removeLeftovers()
	v.scale(sol.ScaleTypeIn)
	v.requireInventory()
	v.terminate()
	require.ElementsMatch(v.t, empty, v.vim.Contents())
}

// testSeveralConnectionsSurviveDeath: a node dies at any moment of an operation that is about both VIMs.
func testSeveralConnectionsSurviveDeath(t *testing.T, h Harness) {
	t.Helper()
	if h.SecondVDU == "" {
		return
	}
	for name, admit := range map[string]func(v *vnf){
		"instantiate": func(*vnf) {},
		"heal": func(v *vnf) {
			v.complete()
			v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{})
		},
		"terminate": func(v *vnf) {
			v.complete()
			v.admitTerminate()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			surviveDeaths(t, h, func(v *vnf) {
				v.second, v.connect = h.SecondVDU, v.vim.Second
				v.admitInstantiate()
				admit(v)
			})
		})
	}
}
