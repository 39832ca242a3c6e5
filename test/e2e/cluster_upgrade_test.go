package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	thisCluster = "d34ac189-5376-493f-828f-224dd5fe7393"
	nextCluster = "d34ac189-5376-493f-828f-224dd5fe7394"
)

// release onboards the cluster package in another version: with that vnfdId, and a script that installs that
// Kubernetes.
func (w *world) release(vnfd, kubernetes string, edit ...string) string {
	w.t.Helper()
	return w.releaseOf(clusterSource, kubernetes, append([]string{thisCluster, vnfd}, edit...)...)
}

// releaseOf does it with any source tree; edit are pairs of old and new texts.
func (w *world) releaseOf(source, kubernetes string, edit ...string) string {
	w.t.Helper()
	parent := w.t.TempDir()
	dir := filepath.Join(parent, "release")
	require.NoError(w.t, os.CopyFS(dir, os.DirFS(source)))
	// whose script others take
	require.NoError(w.t, os.CopyFS(filepath.Join(parent, filepath.Base(clusterSource)), os.DirFS(clusterSource)))
	words := append([]string{`kubernetes_version: "1.34"`, `kubernetes_version: "` + kubernetes + `"`}, edit...)
	require.NoError(w.t, filepath.WalkDir(parent, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".img") {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, []byte(strings.NewReplacer(words...).Replace(string(raw))), 0o600)
	}))
	zip := filepath.Join(w.t.TempDir(), "release.zip")
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), dir, zip))
	id, err := stack.Onboard(w.t.Context(), w.api, zip)
	require.NoError(w.t, err)
	return id
}

// versions are those of the nodes' kubelets, which all take pods.
func (w *world) versions(id string) map[string]string {
	w.t.Helper()
	list, err := nodes(w.t, w.ready(id))
	require.NoError(w.t, err)
	out := map[string]string{}
	for _, n := range list {
		out[n.Name] = n.Status.NodeInfo.KubeletVersion
		require.False(w.t, n.Spec.Unschedulable, "%s is still closed", n.Name)
	}
	return out
}

// only wants all nodes to have one version.
func only(t *testing.T, versions map[string]string, want string) {
	t.Helper()
	for n, v := range versions {
		require.Equal(t, want, v, n)
	}
}

// workload runs three pods of which one at most may be away.
func (w *world) workload(id string) *kubernetes.Clientset {
	w.t.Helper()
	api, err := kubernetes.NewForConfig(w.ready(id))
	require.NoError(w.t, err)
	labels := map[string]string{"app": "web"}
	replicas, away := int32(3), intstr.FromInt32(1)
	_, err = api.AppsV1().Deployments("default").Create(w.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "web", Image: "web:1"}},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = api.PolicyV1().PodDisruptionBudgets("default").Create(w.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &away, Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return api
}

// A cluster gets the Kubernetes of a newer package on the machines that it has, the masters first, while its workload
// goes on.
func TestClusterIsUpgradedByItsPackage(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("complex")))
	only(t, w.versions(id), "v1.34.3")
	before := w.instance(id)
	api := w.workload(id)

	change := map[string]any{"vnfdId": w.release(nextCluster, "1.35")}
	w.planShows(id, sol.LcmOperationChangeVnfpkg, change,
		"change_current_package_end: Kubernetes goes from 1.34 to 1.35, by Scripts/install_k8s_cluster.sh",
		"change_current_package_end: master by master, then 1 worker at a time; each node is drained first (timeout "+
			"5m0s)")
	op := w.task(id, sol.LcmOperationChangeVnfpkg, change)
	o := w.completed(op)
	require.NotNil(t, o.ModificationsTriggeredByVnfPkgChange)
	only(t, w.versions(id), "v1.35.4")
	w.members(id, 3, 2)
	after := w.instance(id)
	require.Equal(t, nextCluster, after.VnfdID)
	require.Equal(
		t, before.InstantiatedVnfInfo.VnfcInfo, after.InstantiatedVnfInfo.VnfcInfo, "the machines are the same",
	)

	applied := 0
	for _, r := range after.InstantiatedVnfInfo.VnfcResourceInfo {
		server := r.ComputeResource.ResourceID
		applied += fleet.Count(server, "kubeadm upgrade apply")
		require.Equal(t, 1, fleet.Count(server, "kubeadm upgrade"), "upgraded once")
		require.LessOrEqual(t, fleet.Count(server, "kubeadm join"), 1, "and never joined again")
	}
	require.Equal(t, 1, applied)
	order := upgraded(w.progress(op))
	require.Len(t, order, 5)
	require.True(t, slices.IsSortedFunc(order, strings.Compare), "masters first: %v", order)
	pods, err := api.CoreV1().Pods("default").List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, pods.Items, 3)

	// What comes later has the new version.
	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale"}))
	only(t, w.versions(id), "v1.35.4")
	w.completed(w.terminate(id))
	w.gone()
}

// upgraded lists the roles of the nodes in the order in which their upgrades began.
func upgraded(p *gybeapi.Progress) []string {
	var out []string
	for _, s := range p.Steps {
		if s.Name == "upgrade node" {
			role, _, _ := strings.Cut(s.Detail, " ")
			out = append(out, strings.TrimRight(role, "0123456789"))
		}
	}
	return out
}

// What cannot end well is refused before anything is touched, with the member that is to blame.
func TestUpgradesThatCannotEndWellAreRefused(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	const version = "/additionalParams/k8s_cluster_installation_param/kubernetes_version"
	next := w.release(nextCluster, "1.35")
	far := w.release("d34ac189-5376-493f-828f-224dd5fe7395", "1.36")
	image := w.release(
		"d34ac189-5376-493f-828f-224dd5fe7396", "1.35", "name: workerNode-image", "name: workerNode-image-2",
	)
	template := w.release("d34ac189-5376-493f-828f-224dd5fe7397", "1.35", "      name: workerNode\n      image:",
		"      name: workerNode\n      config_drive: true\n      image:")
	for _, c := range []struct {
		name, vnfd, version string
		batch               any
		pointer, detail     string
	}{
		{name: "two minors in the package", vnfd: far, pointer: "/vnfdId", detail: "1.36 is 2 minor versions newer"},
		{
			name: "two minors in the request", vnfd: next, version: "1.36.1", pointer: version,
			detail: "1.36.1 is 2 minor versions newer",
		},
		{name: "older", vnfd: next, version: "1.33", pointer: version, detail: "cannot be downgraded"},
		{name: "another image", vnfd: image, pointer: "/vnfdId", detail: "the image of workerNode is another"},
		{name: "another server", vnfd: template, pointer: "/vnfdId", detail: "give workerNode another config_drive"},
		{
			name: "no batch", vnfd: next, batch: 0,
			pointer: "/additionalParams/k8s_cluster_installation_param/upgrade_batch", detail: "between 1 and 1000",
		},
	} {
		param := map[string]any{}
		if c.version != "" {
			param["kubernetes_version"] = c.version
		}
		if c.batch != nil {
			param["upgrade_batch"] = c.batch
		}
		_, err := w.api.Start(t.Context(), id, sol.LcmOperationChangeVnfpkg, map[string]any{
			"vnfdId": c.vnfd, "additionalParams": map[string]any{"k8s_cluster_installation_param": param},
		})
		require.ErrorContains(t, err, c.detail, c.name)
		require.ErrorContains(t, err, c.pointer, c.name)
	}
	only(t, w.versions(id), "v1.34.3")
}

// A master that cannot be upgraded stops the upgrade before the next is touched. There is no way back once a node has
// the new version, and the user sees this; a retry continues where it stopped.
func TestUpgradeThatStopsIsRetriedAndNotRolledBack(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("complex")))
	fleet.Fail("", machine.Failure{
		Command: "kubeadm upgrade node", Stderr: "error execution phase control-plane: etcd is on fire",
	})
	op := w.task(id, sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": w.release(nextCluster, "1.35")})
	require.Contains(t, w.failed(op).Error.Detail, "etcd is on fire")

	require.NoError(t, w.api.Rollback(t.Context(), op))
	o := w.failed(op)
	require.Contains(t, o.Error.Detail, "has v1.35.4 and had v1.34.3")
	require.Contains(t, o.Error.Hint, "retry the operation")

	fleet.ClearFailures("")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	only(t, w.versions(id), "v1.35.4")
	for _, r := range w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo {
		require.Equal(t, 1, fleet.Count(r.ComputeResource.ResourceID, "kubeadm upgrade"), "done once")
	}
}

// Before a node has the new version, a rollback leaves the cluster as it was: no node stays closed.
func TestUpgradeOfNothingIsRolledBack(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	old := w.onboard(clusterSource)
	id := w.create(old)
	w.completed(w.instantiate(id, w.cluster("simple")))
	fleet.Fail("", machine.Failure{Command: "kubeadm upgrade apply", Stderr: "error: no"})
	op := w.task(id, sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": w.release(nextCluster, "1.35")})
	w.failed(op)
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	only(t, w.versions(id), "v1.34.3")
	require.Equal(t, old, w.instance(id).VnfdID)
}

// Packages of the older layout, whose servers are members of Heat's groups, are upgraded as well.
func TestClusterOfTheOlderLayoutIsUpgraded(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(v1Source))
	w.completed(w.instantiate(id, w.clusterV1("simple")))
	before := w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo
	next := w.releaseOf(
		v1Source, "1.35", "b1db0ce7-ebca-1fb7-95ed-4840d70a1163", "b1db0ce7-ebca-1fb7-95ed-4840d70a1164",
	)
	w.completed(w.task(id, sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": next}))
	only(t, w.versions(id), "v1.35.4")
	for i, r := range w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo {
		require.Equal(t, before[i].ComputeResource, r.ComputeResource, "the machines are the same")
		require.Equal(t, 1, fleet.Count(r.ComputeResource.ResourceID, "kubeadm upgrade"))
	}
	w.completed(w.terminate(id))
	w.gone()
}
