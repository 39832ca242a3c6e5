package kube_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// keep stores something in a cluster.
func (l *lab) keep(c *rest.RESTClient, name string) {
	l.Helper()
	require.NoError(l, c.Post().Resource("configmaps").Namespace("default").
		Body(&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		}).Do(l.Context()).Error())
}

// kept says with which status a cluster answers a question for it.
func (l *lab) kept(c *rest.RESTClient, name string) int {
	err := c.Get().Resource("configmaps").Namespace("default").Name(name).Do(l.Context()).Error()
	if s, ok := err.(apierrors.APIStatus); ok {
		return int(s.Status().Code)
	}
	if err != nil {
		return 0
	}
	return http.StatusOK
}

// reverted gives a machine another disk.
func (l *lab) reverted(id string, host byte, disk fleet.Content) {
	l.Helper()
	l.Delete(id)
	l.bootFrom(id, host, disk)
}

// TestEtcdOfCopiedDisks: a cluster goes on with old data when most of its masters have them. Before, a master with an
// old disk cannot take part; afterwards, the last one follows the others.
func TestEtcdOfCopiedDisks(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	l.cluster(3, 1)
	hosts := map[string]byte{"m1": 11, "m2": 12, "m3": 13, "w1": 21}
	c := l.client("m1")
	l.keep(c, "before")
	disks := map[string]fleet.Content{}
	for id := range hosts {
		disks[id] = l.CopyDisk(id)
	}
	l.keep(c, "after")
	require.Equal(t, http.StatusOK, l.kept(c, "after"))

	l.reverted("m2", 12, disks["m2"])
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && allReady(got, "master12")
	}, time.Minute, 20*time.Millisecond, "its kubelet runs")
	require.Equal(t, http.StatusOK, l.kept(c, "after"), "the others are a majority")
	_, status := l.sh("m2", "curl -sk --max-time 5 https://127.0.0.1:6443/livez", nil)
	require.NotZero(t, status, "its own API server has no etcd")

	l.reverted("m3", 13, disks["m3"])
	require.Eventually(t, func() bool { return l.kept(c, "after") == http.StatusNotFound }, time.Minute,
		20*time.Millisecond)
	require.Equal(t, http.StatusOK, l.kept(c, "before"))
	l.reverted("m1", 11, disks["m1"])
	l.reverted("w1", 21, disks["w1"])
	l.keep(c, "later")
	ready := func(names ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			got, err := nodes(t.Context(), c)
			return err == nil && len(got) == 4 && allReady(got, names...)
		}, time.Minute, 20*time.Millisecond)
	}
	ready("master11", "master12", "master13", "worker21")
	l.PowerOff("m2")
	require.Eventually(t, func() bool { return l.kept(c, "later") == http.StatusOK }, time.Minute, 20*time.Millisecond,
		"the first one is a member again")

	// All disks once more, and all machines away at the same time.
	for id := range hosts {
		l.Delete(id)
	}
	require.Empty(t, l.Clusters())
	for id, host := range hosts {
		l.bootFrom(id, host, disks[id])
	}
	require.Eventually(t, func() bool { return l.kept(c, "later") == http.StatusNotFound }, time.Minute,
		20*time.Millisecond)
	ready("master11", "master12", "master13", "worker21")
}

// TestNodeOfACopiedDiskMustReport: what a cluster has stored about its nodes is old.
func TestNodeOfACopiedDiskMustReport(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	l.cluster(1, 1)
	disk := l.CopyDisk("m1")
	l.Delete("w1")
	l.reverted("m1", 11, disk)
	c := l.client("m1")
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && got["master11"] && !got["worker21"]
	}, time.Minute, 20*time.Millisecond)
}
