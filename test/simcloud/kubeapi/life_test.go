package kubeapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
`

// pods of a label, by node.
func (s *served) podsByNode(t *testing.T, selector string) map[string][]corev1.Pod {
	t.Helper()
	l, err := s.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	require.NoError(t, err)
	out := map[string][]corev1.Pod{}
	for _, p := range l.Items {
		out[p.Spec.NodeName] = append(out[p.Spec.NodeName], p)
	}
	return out
}

func TestNodesAreReadyOnceThereIsANetworkAndTheirKubeletAnswers(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	s.AddNode(kubeapi.NodeSpec{Name: "m", ControlPlane: true, IP: "10.0.0.1"})
	s.AddNode(kubeapi.NodeSpec{Name: "w", IP: "10.0.0.2"})
	ready := func(name string) *corev1.NodeCondition {
		n, err := s.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		for i := range n.Status.Conditions {
			if n.Status.Conditions[i].Type == corev1.NodeReady {
				return &n.Status.Conditions[i]
			}
		}
		return nil
	}
	require.Contains(t, ready("w").Message, "container runtime network not ready")
	require.False(t, s.NodeReady("w"))
	s.CNIInstalled(true)
	require.Equal(t, corev1.ConditionTrue, ready("m").Status)
	require.True(t, s.SetNodeReady("w", false, ""))
	require.Equal(t, corev1.ConditionUnknown, ready("w").Status)
	require.Equal(t, "NodeStatusUnknown", ready("w").Reason)
	require.True(t, s.SetNodeReady("w", false, "PLEG is not healthy"))
	require.Equal(t, corev1.ConditionFalse, ready("w").Status)
	require.Equal(t, "PLEG is not healthy", ready("w").Message)
	require.True(t, s.SetNodeReady("w", true, ""))
	require.True(t, s.NodeReady("w"))
	require.False(t, s.SetNodeReady("x", true, ""))

	m, err := s.CoreV1().Nodes().Get(ctx, "m", metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, m.Labels, "node-role.kubernetes.io/control-plane")
	require.Equal(
		t, []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}},
		m.Spec.Taints,
	)
	require.Equal(t, "10.0.0.1", m.Status.Addresses[0].Address)
	require.Equal(t, "v1.36.2", m.Status.NodeInfo.KubeletVersion)
	require.Len(t, s.podsByNode(t, "tier=control-plane")["m"], 4)
	require.Equal(t, []string{"m", "w"}, s.Nodes())
	require.True(t, s.RemoveNode("m"))
	require.Empty(t, s.podsByNode(t, "tier=control-plane"))
	require.False(t, s.RemoveNode("m"))
}

func TestWorkloadsRunOnNodesThatCanTakeThem(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	s.CNIInstalled(true)
	require.NoError(t, s.Apply(ctx, kubeapi.Admin, "", []byte(web)))
	require.Len(t, s.podsByNode(t, "app=web")[""], 2, "no node, so they wait")
	s.AddNode(kubeapi.NodeSpec{Name: "m", ControlPlane: true, IP: "10.0.0.1"})
	for _, n := range []string{"a", "b"} {
		s.AddNode(kubeapi.NodeSpec{Name: n, IP: "10.0.0.2"})
	}
	s.RemoveNode("a")
	s.AddNode(kubeapi.NodeSpec{Name: "a", IP: "10.0.0.2"})
	on := s.podsByNode(t, "app=web")
	require.Empty(t, on["m"], "masters are tainted")
	require.Len(t, on["b"], 2)
	require.Len(t, s.podsByNode(t, "k8s-app=kube-proxy"), 3, "one on every node")

	d, err := s.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	*d.Spec.Replicas = 4
	_, err = s.AppsV1().Deployments("default").Update(ctx, d, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Len(t, s.podsByNode(t, "app=web")["a"], 2, "spread")
	d, err = s.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 4, d.Status.ReadyReplicas)
	require.NoError(t, s.AppsV1().Deployments("default").Delete(ctx, "web", metav1.DeleteOptions{}))
	require.Empty(t, s.podsByNode(t, "app=web"))
}

func TestEvictionRespectsTheBudgetAndMovesPods(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	s.CNIInstalled(true)
	s.AddNode(kubeapi.NodeSpec{Name: "a", IP: "10.0.0.1"})
	require.NoError(t, s.Apply(ctx, kubeapi.Admin, "", []byte(web)))
	s.AddNode(kubeapi.NodeSpec{Name: "b", IP: "10.0.0.2"})
	minimum := intstr.FromInt32(2)
	pdb, err := s.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &minimum, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = s.CoreV1().Nodes().Patch(ctx, "a", "application/strategic-merge-patch+json",
		[]byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	victim := s.podsByNode(t, "app=web")["a"][0]
	evict := func() error {
		return s.PolicyV1().Evictions("default").Evict(
			ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: victim.Name, Namespace: "default"}},
		)
	}
	err = evict()
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	require.ErrorContains(t, err, "Cannot evict pod as it would violate the pod's disruption budget.")

	require.NoError(t, s.PolicyV1().PodDisruptionBudgets("default").Delete(ctx, pdb.Name, metav1.DeleteOptions{}))
	require.NoError(t, evict())
	on := s.podsByNode(t, "app=web")
	require.Len(t, on["a"], 1)
	require.Len(t, on["b"], 1)
}

func TestPodsOfADeadNodeStayUntilForcedOrTheNodeIsRemoved(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	s.CNIInstalled(true)
	s.AddNode(kubeapi.NodeSpec{Name: "a", IP: "10.0.0.1"})
	pods := s.CoreV1().Pods("default")
	for _, n := range []string{"p", "q"} {
		_, err := pods.Create(ctx, podOn(n, "a"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	s.SetNodeReady("a", false, "")
	require.NoError(t, pods.Delete(ctx, "p", metav1.DeleteOptions{}))
	p, err := pods.Get(ctx, "p", metav1.GetOptions{})
	require.NoError(t, err, "no kubelet confirms that it has stopped")
	require.NotNil(t, p.DeletionTimestamp)
	now := int64(0)
	require.NoError(t, pods.Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	_, err = pods.Get(ctx, "p", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.NoError(t, s.CoreV1().Nodes().Delete(ctx, "a", metav1.DeleteOptions{}))
	_, err = pods.Get(ctx, "q", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestWithoutAMajorityOfEtcdNothingIsAnswered(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	ask := func() error {
		_, err := s.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	}
	for _, m := range []string{"a", "b", "c"} {
		s.AddMember(m)
	}
	s.SetMemberUp("a", false)
	require.NoError(t, ask())
	s.SetMemberUp("b", false)
	require.False(t, s.Quorum())
	require.ErrorContains(t, ask(), "etcdserver: request timed out")
	_, err := s.CoreV1().Namespaces().Create(
		ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{},
	)
	require.ErrorContains(t, err, "etcdserver")
	b, err := s.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	require.Error(t, err)
	require.Contains(t, string(b), "[-]etcd failed")
	s.SetMemberUp("c", false)
	code, _ := s.Do(ctx, kubeapi.Admin, http.MethodGet, "/api/v1/nodes", "", nil)
	require.Equal(t, http.StatusServiceUnavailable, code)
	s.SetMemberUp("c", true)
	require.True(t, s.RemoveMember("a"))
	require.False(t, s.Quorum(), "one of two")
	require.True(t, s.RemoveMember("b"))
	require.NoError(t, ask())
	_, err = s.CoreV1().Namespaces().Get(ctx, "x", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.Len(t, s.Members(), 1)
	require.Len(t, s.Members()[0].ID, 16)
}

func TestAClosedServerKillsWatchesWhileTheOthersGoOn(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	w, err := s.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	_, url := listen(t, s.Cluster)
	cfg := *s.admin
	cfg.Host = url
	other := client(t, &cfg)

	start := time.Now()
	s.server.Close()
	require.Less(t, time.Since(start), wait)
	for range w.ResultChan() {
	}
	_, err = s.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.Error(t, err)
	_, err = other.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
}

func TestAHundredNodesAreNoBurden(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.CNIInstalled(true)
	for i := range 100 {
		s.AddNode(kubeapi.NodeSpec{Name: fmt.Sprintf("n%d", i), IP: fmt.Sprintf("10.0.0.%d", i)})
	}
	l, err := s.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, l.Items, 100)
	require.Len(t, s.podsByNode(t, "k8s-app=kube-proxy"), 100)
}

func BenchmarkNewCluster(b *testing.B) {
	for b.Loop() {
		c, err := kubeapi.NewCluster(kubeapi.Options{})
		require.NoError(b, err)
		c.Close()
	}
}
