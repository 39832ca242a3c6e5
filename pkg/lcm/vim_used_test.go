package lcm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestClusterIsAVimOfOthers: a cluster that an instance has made can hold other instances, but not itself.
func TestClusterIsAVimOfOthers(t *testing.T) {
	t.Parallel()
	v := lcm.Vim{Owner: "i1", Connection: sol.VimConnectionInfo{
		VimID: "r1", Extra: sol.KeyValuePairs{lcm.ExtraOwner: "i1", "note": "kept"},
	}}
	for instance, primary := range map[string]bool{"i1": false, "i2": true} {
		used := v.Used(instance)
		_, _, ok := lcm.PrimaryVim(map[string]sol.VimConnectionInfo{"vim1": used})
		require.Equal(t, primary, ok, instance)
		require.Equal(t, "kept", used.Extra["note"])
		i := lcm.Instance{ID: instance, VimConnections: map[string]sol.VimConnectionInfo{"vim1": used}}
		if primary {
			require.Equal(t, []string{"r1"}, i.Clusters())
			require.Equal(t, "i1", i.ClusterOwner())
			require.Empty(t, i.MadeVims())
		} else {
			require.Empty(t, i.Clusters())
			require.Empty(t, i.ClusterOwner())
			require.Equal(t, []string{"r1"}, i.MadeVims())
		}
	}
	require.Equal(t, "i1", v.Connection.Extra[lcm.ExtraOwner], "the registered VIM keeps its mark")
}

// TestClusterGivesItsCredentials: a connection to the cluster of another instance gets the present address and
// credentials of the VIM, also if those that it has were never registered. A connection that a request has given in
// full, and that to another VIM, stay.
func TestClusterGivesItsCredentials(t *testing.T) {
	t.Parallel()
	cluster := func(server, token string) lcm.Vim {
		return lcm.Vim{ID: "r1", Owner: "i1", Connection: sol.VimConnectionInfo{
			VimID: "r1", VimType: "ETSINFV.KUBERNETES.V_1",
			InterfaceInfo: sol.KeyValuePairs{"endpoint": server},
			AccessInfo:    sol.KeyValuePairs{"bearer_token": token},
			Extra:         sol.KeyValuePairs{lcm.ExtraOwner: "i1"},
		}}
	}
	was, now := cluster("https://one:6443", "first"), cluster("https://two:6443", "second")
	given := was.Used("i2")
	given.Extra = nil
	other := was.Used("i2")
	other.VimID = "r2"
	own := was.Used("i1")
	i := lcm.Instance{ID: "i2", VimConnections: map[string]sol.VimConnectionInfo{
		"vim1": was.Used("i2"), "given": given, "other": other, "own": own,
	}, PreviousVims: map[string]sol.VimConnectionInfo{"vim1": was.Used("i2")}}
	require.Equal(t, []string{"vim1", "vim1"}, i.Renew([]lcm.Vim{now}))
	require.Equal(t, now.Used("i2"), i.VimConnections["vim1"])
	require.Equal(t, now.Used("i2"), i.PreviousVims["vim1"])
	require.Equal(t, given, i.VimConnections["given"])
	require.Equal(t, other, i.VimConnections["other"])
	require.Equal(t, own, i.VimConnections["own"])
	require.Empty(t, i.Renew([]lcm.Vim{now}), "nothing is new")
}

// TestUsersAreBounded: an error names ten instances.
func TestUsersAreBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a, b", lcm.NameUsers([]string{"a", "b"}))
	many := strings.Split("a,b,c,d,e,f,g,h,i,j,k,l", ",")
	require.Equal(t, "a, b, c, d, e, f, g, h, i, j and 2 more", lcm.NameUsers(many))
}
