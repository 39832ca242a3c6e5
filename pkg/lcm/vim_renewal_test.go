package lcm_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// login is a connection to an OpenStack as a user of a project.
func login(user, password, project string) sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimID: "v", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		InterfaceInfo: sol.KeyValuePairs{"endpoint": "https://k/v3"},
		AccessInfo: sol.KeyValuePairs{
			"username": user, "password": password, "project": project, "region": "one", "projectDomain": "Default",
		},
	}
}

// application is one with an application credential, whose project only Keystone knows.
func application(id, secret string) sol.VimConnectionInfo {
	c := login("", "", "")
	c.AccessInfo = sol.KeyValuePairs{"applicationCredentialId": id, "applicationCredentialSecret": secret}
	return c
}

// TestCopiesOfAConnectionAreRenewed: an instance that has a previous connection of a registered VIM gets the present
// one if this leads to the same resources, and nothing else is changed.
func TestCopiesOfAConnectionAreRenewed(t *testing.T) {
	t.Parallel()
	with := func(c sol.VimConnectionInfo, change func(*sol.VimConnectionInfo)) sol.VimConnectionInfo {
		change(&c)
		return c
	}
	type all = []sol.VimConnectionInfo
	old, now := login("u", "one", "p"), login("u", "two", "p")
	cluster := func(token, namespace string) sol.VimConnectionInfo {
		return sol.VimConnectionInfo{
			VimID: "v", VimType: "ETSINFV.KUBERNETES.V_1",
			InterfaceInfo: sol.KeyValuePairs{"endpoint": "https://k:6443"},
			AccessInfo:    sol.KeyValuePairs{"bearer_token": token, "namespace": namespace},
		}
	}
	for name, tt := range map[string]struct {
		history      all
		copied, want sol.VimConnectionInfo
	}{
		"password":            {all{old, now}, old, now},
		"two changes":         {all{old, login("u", "x", "p"), now}, old, now},
		"user of the project": {all{old, login("w", "two", "p")}, old, login("w", "two", "p")},
		"present":             {all{old, now}, now, now},
		"and back":            {all{old, now, old}, now, old},
		"given by a request":  {all{old, now}, login("u", "three", "p"), login("u", "three", "p")},
		"other project":       {all{old, login("u", "one", "q")}, old, old},
		"other project, back": {all{old, login("u", "one", "q"), now}, old, old},
		"application":         {all{old, application("a", "s")}, old, old},
		"other application": {
			all{application("a", "s"), application("b", "s")},
			application("a", "s"),
			application("a", "s"),
		},
		"token":     {all{cluster("a", "n"), cluster("b", "n")}, cluster("a", "n"), cluster("b", "n")},
		"namespace": {all{cluster("a", "n"), cluster("b", "m")}, cluster("a", "n"), cluster("a", "n")},
		"selection of VDUs": {
			all{old, now},
			with(old, func(c *sol.VimConnectionInfo) { c.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"a"}} }),
			with(now, func(c *sol.VimConnectionInfo) { c.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"a"}} }),
		},
		"another VIM": {
			all{old, now},
			with(old, func(c *sol.VimConnectionInfo) { c.VimID = "w" }),
			with(old, func(c *sol.VimConnectionInfo) { c.VimID = "w" }),
		},
		"no VIM of the registry": {
			all{old, now},
			with(old, func(c *sol.VimConnectionInfo) { c.VimID = "" }),
			with(old, func(c *sol.VimConnectionInfo) { c.VimID = "" }),
		},
		"cluster of an instance": {
			all{old, now},
			with(old, func(c *sol.VimConnectionInfo) { c.Extra = sol.KeyValuePairs{lcm.ExtraOwner: "i"} }),
			with(old, func(c *sol.VimConnectionInfo) { c.Extra = sol.KeyValuePairs{lcm.ExtraOwner: "i"} }),
		},
	} {
		v := lcm.Vim{ID: "v", Connection: tt.history[0]}
		for _, c := range tt.history[1:] {
			v.Reconnect(c)
		}
		i := lcm.Instance{
			VimConnections: map[string]sol.VimConnectionInfo{"k": tt.copied, "other": login("u", "x", "p")},
			PreviousVims:   map[string]sol.VimConnectionInfo{"k": tt.copied},
		}
		given := i.VimConnections
		i.Renew([]lcm.Vim{{ID: "z"}, v})
		require.Equal(t, tt.want, i.VimConnections["k"], name)
		require.Equal(t, tt.want, i.PreviousVims["k"], name)
		require.Equal(t, tt.copied, given["k"], "the given map stays")
	}
}

// TestPreviousConnectionsAreBounded: the newest ones are kept, each once.
func TestPreviousConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	v := lcm.Vim{ID: "v", Connection: login("u", "0", "p")}
	for n := range 20 {
		v.Reconnect(login("u", fmt.Sprint(n+1), "p"))
		v.Reconnect(v.Connection)
	}
	require.Len(t, v.Previous, 8)
	require.Equal(t, "19", v.Previous[7].AccessInfo["password"])
	require.Equal(t, "20", v.Connection.AccessInfo["password"])
}
