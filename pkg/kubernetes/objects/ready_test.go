package objects_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// eventually waits until an object's readiness is as ok says, and returns it.
func eventually(
	t *testing.T, c *objects.Cluster, ref objects.Ref, ok func(objects.Readiness) bool,
) (r objects.Readiness) {
	t.Helper()
	require.Eventually(t, func() bool {
		live, err := c.Get(t.Context(), ref)
		require.NoError(t, err)
		r, err = c.Check(t.Context(), live)
		require.NoError(t, err)
		return ok(r)
	}, time.Minute, 5*time.Millisecond, "%s", ref)
	return r
}

// TestCauses: the cause is the API server's text about the pod or the object.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault kubeapi.PodFault
		want  string
	}{
		{"image", kubeapi.ImagePullFault, `container c: ImagePullBackOff: Back-off pulling image "nginx"`},
		{"crash", kubeapi.CrashFault, "container c: CrashLoopBackOff: back-off 10s restarting failed container=c; " +
			"it ended with exit code 1 (Error)"},
		{"probe", kubeapi.ProbeFault, "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster, sim := newCluster(t, true)
			sim.SetImageFault("nginx", c.fault)
			live := apply(t, cluster, deployment)
			r := eventually(t, cluster, objects.RefOf(live), func(r objects.Readiness) bool {
				return strings.Contains(r.Why, c.want)
			})
			require.False(t, r.Ready)
			require.True(t, strings.HasPrefix(r.Why, "pod web-"), r.Why)
			sim.SetImageFault("nginx", kubeapi.NoPodFault)
			eventually(t, cluster, objects.RefOf(live), func(r objects.Readiness) bool { return r.Ready })
		})
	}
}

func TestQuotaIsTheCause(t *testing.T) {
	t.Parallel()
	c, _ := newCluster(t, true)
	apply(t, c, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 1, services: 0}}}")
	live := apply(t, c, deployment)
	eventually(t, c, objects.RefOf(live), func(r objects.Readiness) bool {
		return strings.Contains(r.Why, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
	})
	service := parse(t, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}")
	_, err := c.Apply(t.Context(), service, objects.Options{})
	require.ErrorContains(t, err, "exceeded quota")
	require.Equal(t, lcm.Quota, lcm.AsError(err).Class)
}

func TestKindsBecomeReady(t *testing.T) {
	t.Parallel()
	c, sim := newCluster(t, true)
	for _, text := range []string{
		strings.ReplaceAll(strings.Replace(deployment, "Deployment", "StatefulSet", 1), "web", "set"),
		"{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: " +
			"{template: {spec: {containers: [{name: c, image: i}]}}}}",
		"{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: " +
			"{storageClassName: a, nfs: {server: s, path: p}}}",
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {storageClassName: a}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: ns}}",
		"{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: NodePort, ports: [{port: 80}]}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " +
			"metadata: {name: widgets.example.com}, " +
			"spec: {group: example.com, scope: Cluster, names: {plural: widgets, kind: Widget}, " +
			"versions: [{name: v1, served: true}]}}",
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}",
		"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {minReplicas: 3, " +
			"maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: set}}}",
	} {
		live := apply(t, c, text)
		eventually(t, c, objects.RefOf(live), func(r objects.Readiness) bool { return r.Ready })
	}
	set := objects.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "set"}
	pods, err := c.Pods(t.Context(), set)
	require.NoError(t, err)
	require.Len(t, pods, 3, "the autoscaler wants three")
	require.NoError(t, c.Scale(t.Context(), set, 4))
	pods, err = c.Pods(t.Context(), set)
	require.NoError(t, err)
	require.Len(t, pods, 4)
	require.Equal(t, "set-3", pods[3].Name)

	sim.SetImageFault("bad", kubeapi.CrashFault)
	job := apply(t, c, "{apiVersion: batch/v1, kind: Job, metadata: {name: k}, spec: {backoffLimit: 1, "+
		"template: {spec: {containers: [{name: c, image: bad}]}}}}")
	r := eventually(t, c, objects.RefOf(job), func(r objects.Readiness) bool { return r.Failed })
	require.Equal(t, "Job has reached the specified backoff limit", r.Why)
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	c, _ := newCluster(t, true)
	planned, err := c.Apply(t.Context(), parse(t, deployment), objects.Options{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "default", planned.GetNamespace())
	_, err = c.Get(t.Context(), objects.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"})
	require.Equal(t, lcm.CodeNotFound, lcm.AsError(err).Code)
	live := apply(t, c, deployment)
	planned, err = c.Apply(t.Context(), parse(t, strings.Replace(deployment, "nginx", "nginx:2", 1)),
		objects.Options{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, []objects.Change{
		{Path: "spec.template.spec.containers[c].image", Old: "nginx", New: "nginx:2"},
	}, objects.Diff(live, planned))
}

func TestFaultsOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault kubeapi.Fault
		code  lcm.Code
		class lcm.Class
		after time.Duration
	}{
		{
			"busy",
			kubeapi.Fault{Status: 429, Reason: metav1.StatusReasonTooManyRequests, Message: "slow down", RetryAfter: 7},
			lcm.CodeUpstream, lcm.Transient, 7 * time.Second,
		},
		{
			"conflict",
			kubeapi.Fault{Status: 409, Reason: metav1.StatusReasonConflict},
			lcm.CodeConflict, lcm.Transient, 0,
		},
		{"down", kubeapi.Fault{Status: 503}, lcm.CodeUpstream, lcm.Transient, 0},
		{"broken", kubeapi.Fault{}, lcm.CodeUnavailable, lcm.Transient, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster, sim := newCluster(t, true)
			c.fault.Method, c.fault.Times = "PATCH", 1
			sim.AddFault(c.fault)
			_, err := cluster.Apply(t.Context(), parse(t, deployment), objects.Options{})
			e := lcm.AsError(err)
			require.Equal(t, c.code, e.Code, "%v", err)
			require.Equal(t, c.class, e.Class)
			require.Equal(t, c.after, e.RetryAfter)
			require.Contains(t, e.Detail, "apply Deployment web")
			apply(t, cluster, deployment)
		})
	}
	cluster, sim := newCluster(t, true)
	sim.SetWebhook("no images of nginx")
	_, err := cluster.Apply(t.Context(), parse(t, deployment), objects.Options{})
	require.ErrorContains(t, err, `admission webhook "policy.example.com" denied the request: no images of nginx`)
}

func TestNamespaceThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	c, sim := newCluster(t, true)
	ns := objects.RefOf(apply(t, c, "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"))
	sim.HoldNamespace("ns", true)
	require.NoError(t, c.Delete(t.Context(), ns, objects.DeleteOptions{}))
	r := eventually(t, c, ns, func(r objects.Readiness) bool { return !r.Ready })
	require.Equal(t, "it is being deleted", r.Why)
	pod := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: ns}}")
	_, err := c.Apply(t.Context(), pod, objects.Options{})
	require.ErrorContains(t, err, "unable to create new content in namespace ns because it is being terminated")
	sim.HoldNamespace("ns", false)
	_, err = c.Get(t.Context(), ns)
	require.Equal(t, lcm.CodeNotFound, lcm.AsError(err).Code)
}
