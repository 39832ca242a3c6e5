package objects_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// newCluster starts a simulated cluster with one worker; without a network no pod of it becomes ready.
func newCluster(t *testing.T, network bool) (*objects.Cluster, *kubeapi.Cluster) {
	t.Helper()
	sim, url := kubeapi.StartTest(t)
	sim.AddNode(kubeapi.NodeSpec{Name: "worker1", IP: "10.0.0.2"})
	sim.CNIInstalled(network)
	conf, err := sim.AdminKubeconfig(url)
	require.NoError(t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(conf)
	require.NoError(t, err)
	return connect(t, cfg), sim
}

func connect(t *testing.T, cfg *rest.Config) *objects.Cluster {
	t.Helper()
	c, err := objects.New(cfg)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	list, err := objects.Parse("test.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// apply applies a manifest.
func apply(t *testing.T, c *objects.Cluster, text string) *unstructured.Unstructured {
	t.Helper()
	live, err := c.Apply(t.Context(), parse(t, text), objects.Options{Force: true})
	require.NoError(t, err)
	return live
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {gybe.io/vnf-instance: i1}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
`

func TestObjectsOfAnyKind(t *testing.T) {
	t.Parallel()
	c, _ := newCluster(t, true)
	live := apply(t, c, deployment)
	require.NotEmpty(t, live.GetUID())
	require.Equal(t, "default", live.GetNamespace())
	again := apply(t, c, deployment)
	require.Equal(t, live.GetUID(), again.GetUID(), "applied again it is the same object")
	ref := objects.RefOf(live)

	deployments := []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Widget"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
	}
	list, err := c.List(t.Context(), deployments, "", objects.LabelInstance+"=i1")
	require.NoError(t, err)
	require.Equal(t, []string{"Deployment default/web"}, names(list))
	require.Equal(t, "apps/v1", list[0].GetAPIVersion())
	list, err = c.List(t.Context(), deployments, "", objects.LabelInstance+"=i2")
	require.NoError(t, err)
	require.Empty(t, list)

	require.Eventually(t, func() bool {
		live, err = c.Get(t.Context(), ref)
		require.NoError(t, err)
		r, err := c.Check(t.Context(), live)
		require.NoError(t, err)
		return r.Ready
	}, time.Minute, 5*time.Millisecond)
	pods, err := c.Pods(t.Context(), ref)
	require.NoError(t, err)
	require.Len(t, pods, 2)
	require.Equal(t, "worker1", pods[0].Spec.NodeName)

	require.NoError(t, c.Delete(t.Context(), ref, objects.DeleteOptions{UID: "of-another"}))
	_, err = c.Get(t.Context(), ref)
	require.NoError(t, err, "another object of the same name is not deleted")
	require.NoError(t, c.Delete(t.Context(), ref, objects.DeleteOptions{Propagation: "Background"}))
	require.NoError(t, c.Delete(t.Context(), ref, objects.DeleteOptions{}))
	_, err = c.Get(t.Context(), ref)
	require.Equal(t, lcm.CodeNotFound, lcm.AsError(err).Code)
}

func TestUnknownKind(t *testing.T) {
	t.Parallel()
	c, _ := newCluster(t, true)
	widget := parse(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}`)
	_, err := c.Apply(t.Context(), widget, objects.Options{})
	require.ErrorIs(t, err, objects.ErrUnknownKind)
	require.ErrorContains(t, err, "the cluster does not serve the kind Widget of example.com/v1")
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
	_, err = c.Get(t.Context(), objects.RefOf(widget))
	require.Equal(t, lcm.CodeNotFound, lcm.AsError(err).Code)
	require.NoError(t, c.Delete(t.Context(), objects.RefOf(widget), objects.DeleteOptions{}))
}

func TestReadinessHasTheCauseOfThePods(t *testing.T) {
	t.Parallel()
	c, _ := newCluster(t, true)
	unschedulable := parse(t, deployment)
	require.NoError(t, unstructured.SetNestedField(
		unschedulable.Object, "gpu", "spec", "template", "spec", "nodeSelector", "class",
	))
	live, err := c.Apply(t.Context(), unschedulable, objects.Options{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		live, err = c.Get(t.Context(), objects.RefOf(live))
		require.NoError(t, err)
		r, err := c.Check(t.Context(), live)
		require.NoError(t, err)
		require.False(t, r.Ready)
		return strings.HasPrefix(r.Why, "pod web-") &&
			strings.HasSuffix(r.Why, ": Unschedulable: 0/1 nodes are available.")
	}, time.Minute, 5*time.Millisecond)
}
