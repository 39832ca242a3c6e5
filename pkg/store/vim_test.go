package store_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
)

func newVim(name string) lcm.Vim {
	return lcm.Vim{ID: uuid.NewString(), Name: name, Connection: connection(), Created: now(), Updated: now()}
}

func TestVimsAreUniqueByNameAndHaveOneDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := newVim("b"), newVim("a")
	one.Default = true
	require.NoError(t, b.SaveVim(t.Context(), one))
	require.NoError(t, b.SaveVim(t.Context(), two))
	clash := newVim("a")
	requireCode(t, lcm.CodeConflict, b.SaveVim(t.Context(), clash))

	two.Default, two.Description = true, "new default"
	require.NoError(t, b.SaveVim(t.Context(), two))
	vims, err := b.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, vims, 2)
	require.Equal(t, two.ID, vims[0].ID)
	require.Equal(t, password, vims[0].Connection.AccessInfo["password"])
	require.True(t, vims[0].Default)
	require.False(t, vims[1].Default)
	require.NoError(t, b.DeleteVim(t.Context(), two.ID))
	requireCode(t, lcm.CodeNotFound, b.DeleteVim(t.Context(), two.ID))

	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			v := newVim(uuid.NewString())
			v.Default = true
			if err := b.SaveVim(t.Context(), v); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM vim WHERE is_default"))
}

func TestATickThatRegistersAClusterNeverFailsForItsName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.SaveVim(t.Context(), newVim("cluster")))
	_, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n")
	mine := newVim("cluster")
	for range 2 {
		require.NoError(
			t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Effects: lcm.Effects{RegisterVims: []lcm.Vim{mine}}}),
		)
		v, err := b.Vim(t.Context(), mine.ID)
		require.NoError(t, err)
		require.Equal(t, "cluster-"+mine.ID, v.Name)
	}
}

func TestTheFirstHostKeyOfAMachineIsTheOneThatStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other := uuid.NewString(), uuid.NewString() // instances; users choose the ids of their VNFCs
	k, err := b.LookupHostKey(t.Context(), one, "workerNode-1")
	require.NoError(t, err)
	require.Nil(t, k)
	var wg sync.WaitGroup
	got := make([]store.HostKey, 10)
	for n := range got {
		wg.Go(func() {
			var err error
			if got[n], err = b.PinHostKey(
				t.Context(), one, "workerNode-1", store.HostKey{Type: "ssh-ed25519", Key: []byte{byte(n)}}, "first use",
			); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	k, err = b.LookupHostKey(t.Context(), one, "workerNode-1")
	require.NoError(t, err)
	for _, g := range got {
		require.Equal(t, *k, g)
	}
	foreign, err := b.LookupHostKey(t.Context(), other, "workerNode-1")
	require.NoError(t, err)
	require.Nil(t, foreign, "the VNFC of another instance has the same id")
	require.NoError(t, b.ForgetHostKeys(t.Context(), other, "workerNode-1"))
	keys, err := b.HostKeys(t.Context(), one, []string{"workerNode-1", "other"})
	require.NoError(t, err)
	require.Equal(t, map[string]store.HostKey{"workerNode-1": *k}, keys)
	require.NoError(t, b.ForgetHostKeys(t.Context(), one, "workerNode-1", "other"))
	k, err = b.LookupHostKey(t.Context(), one, "workerNode-1")
	require.NoError(t, err)
	require.Nil(t, k)
}

func TestRegisteredVimsAreThoseOfTheProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.of("other")
	i, _ := b.admit(t)
	theirs, _ := other.admit(t)
	one, two, elsewhere := newVim("one"), newVim("two"), newVim("one")
	one.Connection.VimID = ""
	require.NoError(t, b.SaveVim(t.Context(), one))
	require.NoError(t, b.SaveVim(t.Context(), two))
	require.NoError(t, other.SaveVim(t.Context(), elsewhere))
	ids := []string{one.ID, elsewhere.ID, uuid.NewString(), "no id"}
	found, err := b.RegisteredVims(t.Context(), i.ID, ids)
	require.NoError(t, err)
	want := one.Connection
	want.VimID = one.ID
	require.Equal(t, map[string]sol.VimConnectionInfo{one.ID: want}, found)
	found, err = b.RegisteredVims(t.Context(), theirs.ID, ids)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Contains(t, found, elsewhere.ID)
	found, err = b.RegisteredVims(t.Context(), uuid.NewString(), ids)
	require.NoError(t, err)
	require.Empty(t, found, "the instance is gone")
	require.Equal(t, []string{one.ID, elsewhere.ID}, ids[:2], "the caller's list is not changed")

	cluster, member := newVim("cluster"), i.ID
	cluster.Owner, cluster.Connection.VimID = member, cluster.ID
	cluster.Connection.Extra = sol.KeyValuePairs{lcm.ExtraOwner: member}
	require.NoError(t, b.SaveVim(t.Context(), cluster))
	another, _ := b.admit(t)
	found, err = b.RegisteredVims(t.Context(), another.ID, []string{member})
	require.NoError(t, err)
	require.Equal(t, cluster.Used(another.ID), found[member], "the id of the instance stands for its cluster")
	require.Equal(t, member, found[member].Extra[lcm.ExtraCluster])
	found, err = b.RegisteredVims(t.Context(), theirs.ID, []string{member})
	require.NoError(t, err)
	require.Empty(t, found, "it is a cluster of another project")
}
