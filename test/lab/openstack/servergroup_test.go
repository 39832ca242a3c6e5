package openstack_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// memberships are the members of the server group of an instance, as the administrator sees it, and the hosts that they
// are on.
func (w *world) memberships(id string) (policy string, members, hosts []string) {
	w.t.Helper()
	groups, err := list(w.t.Context(), w.cloud.nova, "os-server-groups?all_projects=1", "server_groups")
	require.NoError(w.t, err)
	groups = slices.DeleteFunc(
		groups, func(o object) bool { _, before := w.before["server group "+o.text("id")]; return before },
	)
	require.Len(w.t, groups, 1)
	require.Contains(w.t, groups[0].text("name"), "vnf-"+id)
	list, _ := groups[0]["members"].([]any)
	for _, m := range list {
		server, _ := m.(string)
		members = append(members, server)
		hosts = append(hosts, w.cloud.get(w.t, w.cloud.nova, "servers/"+server, "server").text("OS-EXT-SRV-ATTR:host"))
	}
	slices.Sort(members)
	slices.Sort(hosts)
	return groups[0].text("policy"), members, slices.Compact(hosts)
}

// A rule of the VNFD for hosts, about which the templates say nothing, is a server group: VNFCs come one after the
// other, because Nova does not promise more for a soft policy when several come at once.
func TestServersAreApartWhenTheVNFDSaysSo(t *testing.T) {
	w := start(t, 1)
	vnfd := w.vnfd("apart")
	for _, flavour := range []string{"default", "groups"} {
		t.Run(flavour, func(t *testing.T) {
			w := w.in(t)
			req := w.plain()
			if req.FlavourID = flavour; flavour == "groups" {
				req.AdditionalParams = nil
			}
			id := w.up(vnfd, req)
			first := of(w.instance(id), "VDU1")
			for range 2 {
				w.run(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
			}
			i := w.instance(id)
			require.Equal(t, map[string]int{"VDU1": 3}, vnfcs(i))
			var servers []string
			for _, m := range of(i, "VDU1") {
				servers = append(servers, m.server)
			}
			require.Contains(t, servers, first[0].server, "the first stays where it is")
			slices.Sort(servers)
			policy, members, hosts := w.memberships(id)
			require.Equal(t, "soft-anti-affinity", policy)
			require.Equal(t, servers, members)
			require.Len(t, hosts, 3)
			w.down(id)
		})
	}
}
