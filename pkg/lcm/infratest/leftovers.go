package infratest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// leftovers asks the driver for leftovers, which changes nothing.
func (v *vnf) leftovers() *lcm.Leftovers {
	v.t.Helper()
	changes := v.node.changesMade()
	i, _ := v.read()
	l, err := v.driver.Leftovers(v.t.Context(), &i, v.existingSnapshots())
	require.NoError(v.t, err)
	require.Equal(v.t, changes, v.node.changesMade())
	return l
}

// removeLeftovers removes all leftovers of the instance.
func (v *vnf) removeLeftovers() {
	v.t.Helper()
	found := v.leftovers()
	require.NotEmpty(v.t, found.Extra)
	i, _ := v.read()
	left, err := v.driver.RemoveLeftovers(v.t.Context(), &i, v.existingSnapshots(), found.Extra)
	require.NoError(v.t, err)
	require.Empty(v.t, left)
	require.Empty(v.t, v.leftovers().Extra)
}

// testLeftovers: a resource with the instance's name that the inventory does not have is listed and can be removed; one
// that is in the inventory and not in the VIM is listed as missing.
func testLeftovers(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.instantiate()
	l := v.leftovers()
	require.Empty(t, l.Extra, "the instance's own resources are not leftovers")
	require.Empty(t, l.Missing)

	contents := v.vim.Contents()
	id := v.vim.Leave(v.instance.ID)
	l = v.leftovers()
	require.Len(t, l.Extra, 1)
	require.Equal(t, id, l.Extra[0].ID)
	require.NotEmpty(t, l.Extra[0].Type)
	require.NotEmpty(t, l.Extra[0].Why, "a leftover says how it was recognised")
	require.Empty(t, newVNFLike(v).leftovers().Extra, "it does not belong to another instance")
	v.removeLeftovers()
	require.ElementsMatch(t, contents, v.vim.Contents())

	machine := v.machine(v.instance.Instantiated.VnfcInfo[0].ID)
	v.vim.Lose(machine)
	l = v.leftovers()
	require.Empty(t, l.Extra)
	require.Len(t, l.Missing, 1)
	require.Equal(t, machine.ID, l.Missing[0].ID)
}

// newVNFLike returns another instance in the same VIM, which has no resources.
func newVNFLike(v *vnf) *vnf {
	other := newVNF(v.t, v.Harness, v.vim)
	other.instance.VimConnections = v.vim.Connections()
	return other
}
