package openstack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/nfvo"
)

// The tests of this file are what smoke.sh runs: the least that must work wherever this repository is checked.

// An instance comes up, is what OpenStack says it is, and goes without a trace, as its package does.
func TestSmokeInstantiateAndTerminate(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("plain"), w.plain())
	i := w.instance(id)
	require.Equal(t, map[string]int{"VDU1": 1}, vnfcs(i))
	w.servers(id, "ACTIVE")
	require.Equal(t, "CREATE_COMPLETE", w.cloud.stack(t, id).text("stack_status"))
	w.down(id)
	w.withdraw("plain")
}

// One operation of each kind on the smallest instance there is, granted by an NFVO that names zone and flavour.
func TestSmokeEachOperation(t *testing.T) {
	orchestrator := nfvo.Start(t)
	orchestrator.Set(nfvo.Behaviour{Looks: 1, RetryAfter: "1", Change: grantTiny})
	w := start(t, 1, "GYBE_NFVO_URL="+orchestrator.URL)
	id := w.create(w.vnfd("plain"))
	_, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, w.plain()),
	})
	require.NoError(t, err)
	w.clean()
	op := w.instantiate(id, w.plain())
	w.until("Heat has begun", func() bool { return w.cloud.stack(t, id) != nil })
	w.canceled(op, sol.CancelModeForceful)
	w.retried(op)

	w.run(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
	require.Equal(t, map[string]int{"VDU1": 2}, vnfcs(w.instance(id)))
	w.run(id, sol.LcmOperationScaleToLevel, sol.ScaleVnfToLevelRequest{InstantiationLevelID: "instantiation_level_1"})
	require.Equal(t, map[string]int{"VDU1": 1}, vnfcs(w.instance(id)))

	sick := of(w.instance(id), "VDU1")[0]
	w.run(id, sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: []string{sick.vnfc}})
	require.NotEqual(t, sick.server, of(w.instance(id), "VDU1")[0].server)

	w.run(id, sol.LcmOperationOperate, sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped})
	w.servers(id, "SHUTOFF")
	w.run(id, sol.LcmOperationOperate, sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted})
	w.servers(id, "ACTIVE")

	w.run(
		id, sol.LcmOperationChangeExtConn,
		sol.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: []sol.ExtVirtualLinkData{
			link("management", w.cloud.network(t, "net_mgmt"), map[string]sol.IpAddressData{"VDU1_CP1": dynamic("")}),
		}})
	w.run(id, sol.LcmOperationModifyInfo, map[string]any{"vnfInstanceDescription": "changed"})
	w.down(id)
	granted := map[sol.LcmOperationType]bool{}
	for _, r := range orchestrator.Requests("") {
		granted[r.Operation] = true
		require.Len(t, orchestrator.Grants(r.VnfLcmOpOccID), 1)
	}
	require.Len(t, granted, 7)
}

// grantTiny puts machines into the zone nova, with the flavour m1.tiny.
func grantTiny(r sol.GrantRequest, g *sol.Grant) {
	g.Zones = []sol.ZoneInfo{{ID: "zone", ZoneID: "nova"}}
	for n, d := range r.AddResources {
		if d.Type == sol.ResourceTypeCompute {
			g.AddResources[n].ZoneID = "zone"
		}
	}
	g.VimAssets = &sol.VimAssets{ComputeResourceFlavours: []sol.VimComputeResourceFlavour{
		{VnfdVirtualComputeDescID: "VDU1", VimFlavourID: "m1.tiny"},
	}}
}

// The next version of a package, and its other flavour.
func TestSmokeChangeOfPackageAndFlavour(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("smallest"))
	next := w.vnfd("standard-2")
	req := nextVersion(next)
	req.AdditionalParams["vdu_params"] = []any{map[string]any{"vdu_id": "VDU1"}}
	w.run(id, sol.LcmOperationChangeVnfpkg, req)
	require.Equal(t, next, w.instance(id).VnfdID)
	w.run(id, sol.LcmOperationChangeFlavour, w.largeFlavour())
	require.Equal(t, map[string]int{"VDU1": 1, "VDU3": 1}, vnfcs(w.instance(id)))
	w.servers(id, "ACTIVE")
	w.down(id)
}
