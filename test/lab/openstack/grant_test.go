package openstack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/nfvo"
)

// An NFVO is away, grants late, decides and rejects. OpenStack has the zone, flavour, image and networks of the grants.
func TestSmokeGrantsDecide(t *testing.T) {
	orchestrator := nfvo.Start(t)
	orchestrator.Set(nfvo.Behaviour{Status: 503, RetryAfter: "1"})
	w := start(t, 1, "GYBE_NFVO_URL="+orchestrator.URL)
	internal := w.cloud.create(t, w.cloud.neutron, "networks", "network", map[string]any{"name": "of the NFVO"})
	w.cloud.create(t, w.cloud.neutron, "subnets", "subnet", map[string]any{
		"network_id": internal, "cidr": "192.168.61.0/24", "ip_version": 4,
	})
	w.before = w.cloud.look(t)
	image := w.cloud.named(t, w.cloud.glance, "images", "images", "cirros-0.5.2-x86_64-disk")
	external := w.cloud.network(t, "net0") // the template has a floating address, and this network a router
	decides := func(r sol.GrantRequest, g *sol.Grant) {
		g.Zones = []sol.ZoneInfo{{ID: "zone", ZoneID: "az1"}}
		for n, d := range r.AddResources {
			if d.Type == sol.ResourceTypeCompute {
				g.AddResources[n].ZoneID = "zone"
			}
		}
		if r.Operation != sol.LcmOperationInstantiate {
			return
		}
		g.VimAssets = &sol.VimAssets{
			ComputeResourceFlavours: []sol.VimComputeResourceFlavour{
				{VnfdVirtualComputeDescID: "VDU1", VimFlavourID: "m1.small"},
			},
			SoftwareImages: []sol.VimSoftwareImage{{VnfdSoftwareImageID: "VDU1", VimSoftwareImageID: image}},
		}
		g.ExtVirtualLinks = []sol.ExtVirtualLinkData{
			link("external", external, map[string]sol.IpAddressData{"VDU1_CP1": dynamic("")}),
		}
		g.ExtManagedVirtualLinks = []sol.ExtManagedVirtualLinkData{
			{ID: "internal", VnfVirtualLinkDescID: "internalVL1", ResourceID: internal},
		}
	}
	id := w.create(w.vnfd("standard-2"))
	request := w.standard("smallest")
	request.ExtVirtualLinks[0].ResourceID = w.cloud.network(t, "net_mgmt")
	op := w.instantiate(id, request)
	w.until("the operation waits", func() bool { return w.waiting(op) != "" })
	require.Contains(t, w.waiting(op), "waits for the NFVO "+orchestrator.URL)
	orchestrator.Set(nfvo.Behaviour{Looks: 2, RetryAfter: "1", Change: decides})
	w.completed(op)
	w.granted(id, image, external, internal)
	images, err := list(t.Context(), w.cloud.glance, "images?tag="+id, "images")
	require.NoError(t, err)
	require.Empty(t, images, "the image of the package is not needed")

	w.run(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
	require.Len(t, of(w.instance(id), "VDU1"), 2)
	w.granted(id, image, external, internal)

	orchestrator.Set(nfvo.Behaviour{Status: 403, Problem: &sol.ProblemDetails{Detail: "PoP 7 is closed"}})
	before := w.cloud.look(t)
	o := w.resting(w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1)))
	require.Equal(t, sol.LcmOperationStateRolledBack, o.OperationState)
	require.Contains(t, o.Error.Detail, "PoP 7 is closed")
	require.Empty(t, w.cloud.look(t).since(before))
	orchestrator.Set(nfvo.Behaviour{})
	w.down(id)
}

// waiting says on what an operation waits.
func (w *world) waiting(op string) string {
	w.t.Helper()
	p, err := w.api.Progress(w.t.Context(), op, "", 1)
	require.NoError(w.t, err)
	return p.Waiting
}

// granted compares the machines of VDU1 with what the grants have decided.
func (w *world) granted(id, image string, networks ...string) {
	w.t.Helper()
	for _, m := range of(w.instance(id), "VDU1") {
		server := w.cloud.get(w.t, w.cloud.nova, "servers/"+m.server, "server")
		require.Equal(w.t, "ACTIVE", server.text("status"))
		require.Equal(w.t, "az1", server.text("OS-EXT-AZ:availability_zone"))
		flavour, _ := server["flavor"].(map[string]any)
		require.Equal(w.t, "m1.small", flavour["original_name"])
		booted, _ := server["image"].(map[string]any)
		require.Equal(w.t, image, booted["id"])
		ports, err := list(w.t.Context(), w.cloud.neutron, "ports?device_id="+m.server, "ports")
		require.NoError(w.t, err)
		var at []string
		for _, p := range ports {
			at = append(at, p.text("network_id"))
		}
		require.ElementsMatch(w.t, networks, at)
	}
}
