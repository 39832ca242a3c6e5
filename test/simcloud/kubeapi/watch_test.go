package kubeapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

func TestAWatchTellsEveryChangeSinceItsRevision(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	cms := s.CoreV1().ConfigMaps("default")
	l, err := cms.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"on": "yes"}}}
	_, err = cms.Create(ctx, cm, metav1.CreateOptions{}) // before the watch begins, after the list
	require.NoError(t, err)
	w, err := cms.Watch(ctx, metav1.ListOptions{ResourceVersion: l.ResourceVersion, LabelSelector: "on=yes"})
	require.NoError(t, err)
	defer w.Stop()
	next := func() watch.Event {
		select {
		case e := <-w.ResultChan():
			return e
		case <-ctx.Done():
			t.Fatal("nothing came")
			return watch.Event{}
		}
	}
	require.Equal(t, watch.Added, next().Type)
	for _, p := range []struct {
		label string
		want  watch.EventType
	}{{"yes", watch.Modified}, {"no", watch.Deleted}, {"yes", watch.Added}} {
		_, err = cms.Patch(ctx, "a", "application/merge-patch+json",
			[]byte(`{"data":{"k":"`+p.label+`"},"metadata":{"labels":{"on":"`+p.label+`"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		require.Equal(t, p.want, next().Type, "label %s", p.label)
	}
	require.NoError(t, cms.Delete(ctx, "a", metav1.DeleteOptions{}))
	e := next()
	require.Equal(t, watch.Deleted, e.Type)
	require.Equal(t, "a", e.Object.(*corev1.ConfigMap).Name)
}

func TestAWatchEndsAfterItsTime(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	code, b := c.Do(t.Context(), kubeapi.Admin, "GET", "/api/v1/namespaces?watch=true&timeoutSeconds=1", "", nil)
	require.Equal(t, 200, code)
	require.Equal(t, 4, strings.Count(string(b), `"type":"ADDED"`))
}

func TestAWatchFromTheDistantPastMustListAgain(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	cm := kubeapi.Kind("ConfigMap")
	_, err := s.Store().Create(cm, "default", kubeapi.Object{"metadata": kubeapi.Object{"name": "busy"}})
	require.NoError(t, err)
	for i := range 5000 {
		_, err := s.Store().Update(cm, "default", "busy", func(o kubeapi.Object) (kubeapi.Object, error) {
			kubeapi.Set(o, strings.Repeat("x", i%7), "data", "n")
			return o, nil
		})
		require.NoError(t, err)
	}
	w, err := s.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: "3"})
	require.NoError(t, err)
	defer w.Stop()
	e := <-w.ResultChan()
	require.Equal(t, watch.Error, e.Type)
	require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) || apierrors.IsGone(
		apierrors.FromObject(e.Object),
	))
}

func TestAnInformerFollowsTheNodes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.CNIInstalled(true)
	s.AddNode(kubeapi.NodeSpec{Name: "first", IP: "10.0.0.1"})
	stop := make(chan struct{})
	f := informers.NewSharedInformerFactory(s.Clientset, 0)
	lister := f.Core().V1().Nodes().Lister()
	f.Start(stop)
	defer f.Shutdown()
	defer close(stop)
	for _, ok := range f.WaitForCacheSync(stop) {
		require.True(t, ok)
	}
	s.AddNode(kubeapi.NodeSpec{Name: "second", IP: "10.0.0.2"})
	count := func() int {
		l, err := lister.List(labels.Everything())
		require.NoError(t, err)
		return len(l)
	}
	require.Eventually(t, func() bool { return count() == 2 }, wait, tick)
	s.SetNodeReady("second", false, "")
	require.Eventually(t, func() bool {
		n, err := lister.Get("second")
		require.NoError(t, err)
		return status(n, corev1.NodeReady) == corev1.ConditionUnknown
	}, wait, tick)
	s.RemoveNode("first")
	require.Eventually(t, func() bool { return count() == 1 }, wait, tick)
}

func status(n *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}
