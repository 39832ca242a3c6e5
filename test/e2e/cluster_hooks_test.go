package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// Packages for older VNFMs name the driver at the hooks that there are at instantiation, scaling and healing. What came
// later, levels, rollbacks and changes of the package, must not take machines from under the cluster's nodes.
func TestClusterWhosePackageKnowsFewHooksIsLookedAfter(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	var few []string
	for _, hook := range []string{
		"scale_rollback_start", "scale_to_level_start", "scale_to_level_end", "scale_to_level_rollback_start",
		"change_current_package_start", "change_current_package_end", "change_current_package_rollback_start",
		"terminate_end",
	} {
		few = append(few, "          "+hook+":\n            implementation: mgmt-drivers-kubernetes\n", "")
	}
	w.release(thisCluster, "1.34", few...)
	id := w.create(thisCluster)
	w.completed(w.instantiate(id, w.cluster("simple")))
	small := w.members(id, 1, 2)
	level := func(id string) map[string]any {
		return map[string]any{"instantiationLevelId": "instantiation_level_" + id}
	}
	w.completed(w.task(id, sol.LcmOperationScaleToLevel, level("2")))
	w.members(id, 1, 4)
	w.completed(w.task(id, sol.LcmOperationScaleToLevel, level("1")))
	require.ElementsMatch(t, small, w.members(id, 1, 2))

	fleet.Fail("", machine.Failure{Command: "kubeadm join", Stderr: "error: the disk is full"})
	op := w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeOut, 1))
	require.Contains(t, w.failed(op).Error.Detail, "the disk is full")
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	fleet.ClearFailures("")
	require.ElementsMatch(t, small, w.members(id, 1, 2))

	w.release(nextCluster, "1.34", append(few, "name: workerNode-image", "name: workerNode-image-2")...)
	_, err := w.api.Start(t.Context(), id, sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": nextCluster})
	require.ErrorContains(t, err, "the image of workerNode is another in this package: its machines would be replaced.")
	_, err = w.api.Start(t.Context(), id, sol.LcmOperationChangeFlavour, map[string]any{"newFlavourId": "complex"})
	require.ErrorContains(t, err, "a cluster keeps its flavour")
	w.completed(w.terminate(id))
	vims, err := w.api.Vims(t.Context())
	require.NoError(t, err)
	require.Empty(t, vims, "the cluster is no VIM any more")
}
