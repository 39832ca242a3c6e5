package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// volumes are the persistent volumes of a cluster, with the address of their server, by name.
func (w *world) volumes(c kubernetes.Interface) map[string]corev1.PersistentVolume {
	w.t.Helper()
	list, err := c.CoreV1().PersistentVolumes().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	out := map[string]corev1.PersistentVolume{}
	for _, v := range list.Items {
		out[v.Name] = v
	}
	return out
}

// Workloads get volumes of the VNF's own storage server, and it is not taken away under them.
func TestClusterHasPersistentVolumes(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("storage")))
	raw, err := w.api.Kubeconfig(t.Context(), id)
	require.NoError(t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(t, err)
	c, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	server, vnfc := w.machineOf(id, "storage_server", 0)
	require.Equal(t, 1, fleet.Count(server, "mkfs.ext4"), "the blank volume")
	for _, name := range []string{"nfs-pv1", "nfs-pv2"} {
		v := w.volumes(c)[name]
		require.Equal(t, corev1.VolumeAvailable, v.Status.Phase)
		require.NotContains(t, []string{"", "192.0.2.1"}, v.Spec.NFS.Server, "the one in the manifest")
	}

	class := "nfs"
	claim, err := c.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		v := w.volumes(c)
		return v["nfs-pv1"].Status.Phase == corev1.VolumeBound || v["nfs-pv2"].Status.Phase == corev1.VolumeBound
	}, patience, 50*time.Millisecond)

	heal := map[string]any{"vnfcInstanceId": []string{vnfc}}
	op := w.task(id, sol.LcmOperationHeal, heal)
	failed := w.failed(op)
	require.Contains(t, failed.Error.Detail, "by claim default/data")
	require.Len(t, w.volumes(c), 2, "nothing was touched")
	require.NoError(
		t, c.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), claim.Name, metav1.DeleteOptions{}),
	)
	require.Eventually(t, func() bool {
		for _, v := range w.volumes(c) {
			if v.Status.Phase == corev1.VolumeBound {
				return false
			}
		}
		return true
	}, patience, 50*time.Millisecond)
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	healed, _ := w.machineOf(id, "storage_server", 0)
	require.NotEqual(t, server, healed)
	require.Zero(t, fleet.Count(healed, "mkfs.ext4"), "what is on the volume stays")
	require.Len(t, w.volumes(c), 2)
	for _, v := range w.volumes(c) {
		require.Equal(t, corev1.VolumeAvailable, v.Status.Phase)
	}

	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale"}))
	worker, _ := w.machineOf(id, "workerNode", 2)
	require.Equal(
		t, 1,
		fleet.Count(
			worker,
			"apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold "+
				"--allow-change-held-packages --no-install-recommends install nfs-common",
		),
		"new nodes can mount as well",
	)
	w.completed(w.terminate(id))
	w.gone()
}

// A storage server that is dead is healed like one that lives, comes up again by itself after a reboot, and a cluster
// that is healed as a whole gets its volumes back.
func TestPersistentVolumesComeBackWhateverIsHealed(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("storage")))
	available := func() (server string) {
		server, _ = w.machineOf(id, "storage_server", 0)
		raw, err := fleet.Machine(server).FS().ReadFile("/etc/exports")
		require.NoError(t, err)
		require.Len(t, fleet.Clusters(), 1)
		require.Len(t, fleet.Clusters()[0].Nodes(), 3)
		addresses := fleet.Machine(server).Addresses()
		list := w.volumes(w.kube(id))
		require.Len(t, list, 2)
		for name, v := range list {
			require.Equal(t, corev1.VolumeAvailable, v.Status.Phase, name)
			require.Contains(t, addresses, v.Spec.NFS.Server, name)
			require.Contains(t, string(raw), v.Spec.NFS.Path+" ", name)
		}
		return server
	}
	first := available()

	_, vnfc := w.machineOf(id, "storage_server", 0)
	require.NoError(t, fleet.Unreachable(first, true))
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}}))
	second := available()
	require.NotEqual(t, first, second)

	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}))
	third := available()
	require.NotEqual(t, second, third)
	require.Equal(t, 1, fleet.Count(third, "mkfs.ext4"), "the volume is a new one")
	for _, vdu := range []string{"masterNode", "workerNode"} {
		server, _ := w.machineOf(id, vdu, 0)
		require.True(t, slices.ContainsFunc(fleet.Journal(server), func(e machine.Entry) bool {
			return e.Kind == "exec" && e.Exit == 0 && strings.HasSuffix(e.Line, " install nfs-common")
		}), "%s can mount", vdu)
	}

	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{})) // every VNFC, volumes stay
	require.Zero(t, fleet.Count(available(), "mkfs.ext4"))
	w.completed(w.terminate(id))
	w.gone()
}
