package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// serversOf lists the servers of an instance in a cloud, each with the VDU that it is of.
func serversOf(cloud *simcloud.Cloud, vdus ...string) []string {
	out := []string{}
	for _, s := range cloud.State()["servers"] {
		for _, vdu := range vdus {
			if strings.Contains(s.Name, "-"+vdu+"-") {
				out = append(out, vdu)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestWorkersInASecondCloud: the VDU that scales is in another cloud than the other one, through the whole life of the
// instance, and nothing is left in either cloud.
func TestWorkersInASecondCloud(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source string
		params func(stack.Requests) sol.InstantiateVnfRequest
	}{
		"one resource for each VNFC": {
			standardSource, func(r stack.Requests) sol.InstantiateVnfRequest { return r.Standard("volumes") },
		},
		"a group": {
			groupsSource, func(r stack.Requests) sol.InstantiateVnfRequest { return r.Groups("simple", "smallest") },
		},
		"a group scaled by signals": {
			groupsSource, func(r stack.Requests) sol.InstantiateVnfRequest { return r.Groups("policies", "smallest") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startStandard(t, nil)
			edge := simcloud.StartTest(t, simcloud.Options{})
			there, err := stack.NewRequests(t.Context(), edge)
			require.NoError(t, err)
			params := tt.params(w.requests)
			params.ExtVirtualLinks[0] = tt.params(there).ExtVirtualLinks[0]
			second := stack.VimConnection(edge.Info())
			second.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU1"}}
			params.VimConnectionInfo["edge"] = second
			w.before = w.cloud.State()
			two := &twoClouds{world: w, edge: edge, before: edge.State(), id: w.create(w.onboard(tt.source))}
			two.plan(params)
			w.completed(w.instantiate(two.id, params))
			two.live()
		})
	}
}

// twoClouds is an instance whose VDU1 is in a second cloud.
type twoClouds struct {
	*world
	edge   *simcloud.Cloud
	before simcloud.State // of edge
	id     string
}

// plan wants the plan of the instantiation to look into both clouds.
func (w *twoClouds) plan(params sol.InstantiateVnfRequest) {
	w.t.Helper()
	plan, err := w.api.Plan(w.t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: w.id, Operation: sol.LcmOperationInstantiate, Params: encode(w.t, params),
	})
	require.NoError(w.t, err)
	require.True(w.t, plan.Possible, "%+v", plan.Checks)
	subjects := []string{}
	for _, c := range plan.Checks {
		subjects = append(subjects, c.Subject)
	}
	require.Contains(w.t, subjects, "stack vnf-"+w.id)
	require.Contains(w.t, subjects, "stack vnf-"+w.id+"-edge in edge")
}

// placed wants so many VNFCs of VDU1 in edge, and VDU2 in the other cloud.
func (w *twoClouds) placed(workers int) *sol.VnfInstance {
	w.t.Helper()
	require.Equal(w.t, slices.Repeat([]string{"VDU1"}, workers), serversOf(w.edge, "VDU1", "VDU2"))
	require.Equal(w.t, []string{"VDU2"}, serversOf(w.cloud, "VDU1", "VDU2"))
	i := w.instance(w.id)
	require.Len(w.t, i.InstantiatedVnfInfo.VnfcInfo, workers+1)
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		require.Equal(
			w.t, map[string]string{"VDU1": "edge", "VDU2": "vim1"}[r.VduID], r.ComputeResource.VimConnectionID,
		)
	}
	found, err := w.api.Leftovers(w.t.Context(), w.id)
	require.NoError(w.t, err)
	require.Empty(w.t, found.Extra)
	require.Empty(w.t, found.Missing)
	return i
}

// live does every operation that needs no other package.
func (w *twoClouds) live() {
	w.t.Helper()
	w.placed(1)
	ctx := w.t.Context()
	do := func(op string, err error) *sol.VnfLcmOpOcc {
		w.t.Helper()
		require.NoError(w.t, err)
		return w.completed(op)
	}
	require.Len(w.t, do(w.api.Scale(ctx, w.id, stack.Scale(sol.ScaleTypeOut, 2))).ResourceChanges.AffectedVnfcs, 2)
	i := w.placed(3)
	healed := do(w.api.Heal(ctx, w.id, sol.HealVnfRequest{})).ResourceChanges.AffectedVnfcs
	require.Len(w.t, healed, 2*len(i.InstantiatedVnfInfo.VnfcInfo), "each is removed and added")
	w.placed(3)

	do(w.api.Operate(ctx, w.id, sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped}))
	for _, c := range w.placed(3).InstantiatedVnfInfo.VnfcInfo {
		require.Equal(w.t, sol.VnfOperationalStateStopped, c.VnfcState)
	}
	do(w.api.Operate(ctx, w.id, sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted}))

	moved := w.requests.Reconnected("net_mgmt")
	moved.AdditionalParams = nil
	changed := do(w.api.ChangeExtConn(ctx, w.id, moved)).ChangedExtConnectivity
	require.Len(w.t, changed, 1)
	require.Equal(w.t, "link3", changed[0].ID)
	require.Len(w.t, w.placed(3).InstantiatedVnfInfo.ExtVirtualLinkInfo, 2, "the link in edge stays")

	_, err := w.api.Modify(ctx, w.id, map[string]any{"vimConnectionInfo": map[string]any{"edge": nil}}, "")
	require.ErrorContains(w.t, err, "422")
	do(w.api.ScaleToLevel(ctx, w.id, sol.ScaleVnfToLevelRequest{InstantiationLevelID: "largest"}))
	do(w.api.Scale(ctx, w.id, stack.Scale(sol.ScaleTypeIn, 1)))
	w.placed(2)
	do(w.api.Heal(ctx, w.id, sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}}))
	w.placed(2)
	w.completed(w.world.terminate(w.id))
	w.gone()
	require.Empty(w.t, w.edge.State().Since(w.before))
}

// TestInternalLinkOfTwoClouds: VDUs whose internal network would be in both clouds are rejected before anything is
// created.
func TestInternalLinkOfTwoClouds(t *testing.T) {
	t.Parallel()
	w := startStandard(t, nil)
	id := w.create(w.onboard(standardSource))
	params := w.requests.Standard("volumes")
	params.FlavourID, params.InstantiationLevelID = "large", "smallest"
	params.ExtVirtualLinks = params.ExtVirtualLinks[:1]
	second := stack.VimConnection(w.cloud.Info())
	second.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU3"}}
	params.VimConnectionInfo["edge"] = second
	_, err := w.api.Instantiate(t.Context(), id, encode(t, params))
	require.ErrorContains(t, err, "422")
	require.ErrorContains(t, err, `the network "internalVL1"`)
}

// TestFlavourLeavesACloud: a change of the flavour that removes the only VDU of a cloud deletes the stack there, and
// the change back creates it.
func TestFlavourLeavesACloud(t *testing.T) {
	t.Parallel()
	w := startStandard(t, nil)
	edge := simcloud.StartTest(t, simcloud.Options{})
	there, err := stack.NewRequests(t.Context(), edge)
	require.NoError(t, err)
	w.before = w.cloud.State()
	empty := edge.State()
	id := w.create(w.onboard(standardSource))
	params, links := w.requests.Standard("volumes"), there.Standard("volumes").ExtVirtualLinks
	params.ExtVirtualLinks[1] = links[1]
	second := stack.VimConnection(edge.Info())
	second.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU2"}}
	params.VimConnectionInfo["edge"] = second
	w.completed(w.instantiate(id, params))
	require.Equal(t, []string{"VDU2"}, serversOf(edge, "VDU1", "VDU2"))

	large := stack.Large()
	large.VimConnectionInfo = map[string]sol.VimConnectionInfo{
		"edge": {VimType: second.VimType, Extra: sol.KeyValuePairs{lcm.ExtraVDUs: []any{}}},
	}
	plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationChangeFlavour, Params: encode(t, large),
	})
	require.NoError(t, err)
	require.True(t, plan.Possible, "%+v", plan.Checks)
	require.True(t, slices.ContainsFunc(plan.Remove, func(r gybeapi.PlannedResource) bool { return r.VDU == "VDU2" }))
	op, err := w.api.ChangeFlavour(t.Context(), id, large)
	require.NoError(t, err)
	w.completed(op)
	require.Empty(t, edge.State().Since(empty))
	require.Equal(t, []string{"VDU1", "VDU3"}, serversOf(w.cloud, "VDU1", "VDU3"))

	back := sol.ChangeVnfFlavourRequest{
		NewFlavourID: "simple", InstantiationLevelID: "volumes", AdditionalParams: stack.UserData(),
		ExtVirtualLinks: links[1:],
		VimConnectionInfo: map[string]sol.VimConnectionInfo{
			"edge": {VimType: second.VimType, Extra: sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU2"}}},
		},
	}
	plan, err = w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationChangeFlavour, Params: encode(t, back),
	})
	require.NoError(t, err)
	require.True(t, plan.Possible, "%+v", plan.Checks)
	op, err = w.api.ChangeFlavour(t.Context(), id, back)
	require.NoError(t, err)
	w.completed(op)
	require.Equal(t, []string{"VDU2"}, serversOf(edge, "VDU1", "VDU2"))
	require.Equal(t, []string{"VDU1"}, serversOf(w.cloud, "VDU1", "VDU3"))
	w.completed(w.terminate(id))
	w.gone()
	require.Empty(t, edge.State().Since(empty))
}
