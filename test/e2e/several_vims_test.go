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
	w := startStandard(t, nil)
	edge := simcloud.StartTest(t, simcloud.Options{})
	there, err := stack.NewRequests(t.Context(), edge)
	require.NoError(t, err)
	w.before = w.cloud.State()
	emptyEdge := edge.State()
	id := w.create(w.onboard(standardSource))

	params := w.requests.Standard("volumes")
	params.ExtVirtualLinks[0] = there.Standard("volumes").ExtVirtualLinks[0]
	second := stack.VimConnection(edge.Info())
	second.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU1"}}
	params.VimConnectionInfo["edge"] = second
	plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, params),
	})
	require.NoError(t, err)
	require.True(t, plan.Possible, "%+v", plan.Checks)
	subjects := []string{}
	for _, c := range plan.Checks {
		subjects = append(subjects, c.Subject)
	}
	require.Contains(t, subjects, "stack vnf-"+id)
	require.Contains(t, subjects, "stack vnf-"+id+"-edge in edge")

	w.completed(w.instantiate(id, params))
	placed := func(workers int) *sol.VnfInstance {
		t.Helper()
		require.Equal(t, slices.Repeat([]string{"VDU1"}, workers), serversOf(edge, "VDU1", "VDU2"))
		require.Equal(t, []string{"VDU2"}, serversOf(w.cloud, "VDU1", "VDU2"))
		i := w.instance(id)
		require.Len(t, i.InstantiatedVnfInfo.VnfcInfo, workers+1)
		for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
			require.Equal(t, map[string]string{"VDU1": "edge", "VDU2": "vim1"}[r.VduID], r.ComputeResource.VimConnectionID)
		}
		found, err := w.api.Leftovers(t.Context(), id)
		require.NoError(t, err)
		require.Empty(t, found.Extra)
		require.Empty(t, found.Missing)
		return i
	}
	placed(1)

	op, err := w.api.Scale(t.Context(), id, stack.Scale(sol.ScaleTypeOut, 2))
	require.NoError(t, err)
	require.Len(t, w.completed(op).ResourceChanges.AffectedVnfcs, 2)
	i := placed(3)

	sick := i.InstantiatedVnfInfo.VnfcInfo
	op, err = w.api.Heal(t.Context(), id, sol.HealVnfRequest{})
	require.NoError(t, err)
	require.Len(t, w.completed(op).ResourceChanges.AffectedVnfcs, 2*len(sick), "each is removed and added")
	placed(3)

	op, err = w.api.Operate(t.Context(), id, sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped})
	require.NoError(t, err)
	w.completed(op)
	for _, c := range placed(3).InstantiatedVnfInfo.VnfcInfo {
		require.Equal(t, sol.VnfOperationalStateStopped, c.VnfcState)
	}

	_, err = w.api.Modify(t.Context(), id, map[string]any{"vimConnectionInfo": map[string]any{"edge": nil}}, "")
	require.ErrorContains(t, err, "422")
	op, err = w.api.Scale(t.Context(), id, stack.Scale(sol.ScaleTypeIn, 1))
	require.NoError(t, err)
	w.completed(op)
	placed(2)
	w.completed(w.terminate(id))
	w.gone()
	require.Empty(t, edge.State().Since(emptyEdge))
}

// TestInternalLinkOfTwoClouds: VDUs whose internal network would be in both clouds are rejected before anything is created.
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
