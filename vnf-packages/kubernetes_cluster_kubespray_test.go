package vnfpackages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
)

var clusterKubespray = sample{dir: "kubernetes-cluster-kubespray", prefix: "sample_kubernetes_"}

func TestKubernetesClusterKubesprayMetaListsEveryFile(t *testing.T) {
	clusterKubespray.metaListsEveryFile(t)
}

// The package passes the checks of an upload, and names the hooks that the driver has something to do at.
func TestKubernetesClusterKubesprayIsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := clusterKubespray.good(t)
	require.Equal(t, "b1db0ce7-ebca-2fb7-95ed-4840d70a1163", v.ID)
	known := map[string]bool{}
	for _, h := range k8scluster.NewKubespray(k8scluster.Options{}).Hooks() {
		known[string(h.Hook)] = h.Run != nil
	}
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3} {
		f := v.Flavour(flavour)
		require.NotNil(t, f)
		for level, workers := range map[string]int{"instantiation_level_1": 2, "instantiation_level_2": 4} {
			counts, ok := f.Counts(level)
			require.True(t, ok)
			require.Equal(t, map[string]int{"masterNode": masters, "workerNode": workers, "externalLB": 1}, counts)
		}
		named := map[string]bool{}
		for hook, impl := range f.LCM {
			require.Equal(t, k8scluster.KubesprayName, impl.Name)
			named[hook] = true
		}
		for hook, acts := range known {
			require.Equal(t, acts, named[hook], "%s of flavour %s", hook, flavour)
		}
	}
}
