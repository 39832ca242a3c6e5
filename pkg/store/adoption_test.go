package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// adoption is an instance of another VNFM that is a cluster.
func adoption(t *testing.T, b *bundle) lcm.Adoption {
	t.Helper()
	i := b.newInstance(t)
	i.ID = uuid.NewString()
	i.State, i.HoldsResources, i.PrimaryResource = sol.InstantiationStateInstantiated, true, "vnflcm_"+i.ID
	vim := newVim("cluster")
	vim.Owner = i.ID
	return lcm.Adoption{
		Instance: i, Vim: &vim, HostKeys: map[string]lcm.HostKey{"c1": {Type: "ssh-ed25519", Key: []byte("key")}},
	}
}

func TestAnAdoptedInstanceIsStoredWithItsClusterAndKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := adoption(t, b)
	require.NoError(t, b.AdoptInstance(t.Context(), a))
	i, err := b.Instance(t.Context(), a.Instance.ID)
	require.NoError(t, err)
	require.Equal(t, "vnflcm_"+i.ID, i.PrimaryResource)
	require.Equal(t, sol.InstantiationStateInstantiated, i.State)
	v, err := b.Vim(t.Context(), a.Vim.ID)
	require.NoError(t, err)
	require.Equal(t, i.ID, v.Owner)
	k, err := b.LookupHostKey(t.Context(), i.ID, "c1")
	require.NoError(t, err)
	require.Equal(t, []byte("key"), k.Key)
	requireCode(t, lcm.CodeConflict, b.AdoptInstance(t.Context(), adoptionOf(a.Instance)))
}

func adoptionOf(i *lcm.Instance) lcm.Adoption { return lcm.Adoption{Instance: i} }

func TestAnAdoptionThatFailsStoresNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, spoil := range map[string]func(*lcm.Adoption){
		"its package is gone": func(a *lcm.Adoption) { a.Instance.VnfPkgID = uuid.NewString() },
		// the last statement of the transaction
		"its message exists": func(a *lcm.Adoption) {
			a.Messages = []lcm.Message{{ID: uuid.NewString(), Kind: "k", InstanceID: a.Instance.ID, Body: []byte(`{}`)}}
			a.Messages = append(a.Messages, a.Messages[0])
		},
	} {
		a := adoption(t, b)
		spoil(&a)
		require.Error(t, b.AdoptInstance(t.Context(), a), name)
		_, err := b.Instance(t.Context(), a.Instance.ID)
		requireCode(t, lcm.CodeNotFound, err)
		_, err = b.Vim(t.Context(), a.Vim.ID)
		requireCode(t, lcm.CodeNotFound, err)
		k, err := b.LookupHostKey(t.Context(), a.Instance.ID, "c1")
		require.NoError(t, err)
		require.Nil(t, k, name)
		require.Zero(t, b.count(t, "SELECT count(*) FROM event WHERE instance_id = '"+a.Instance.ID+"'"), name)
	}
}
