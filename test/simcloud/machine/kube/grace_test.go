package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// TestKubeletTakesOver: a kubelet that stops after its successor has begun to report does not make the node NotReady.
// The last one that stops does.
func TestKubeletTakesOver(t *testing.T) {
	t.Parallel()
	c, err := kubeapi.NewCluster(kubeapi.Options{})
	require.NoError(t, err)
	c.CNIInstalled(true)
	c.AddMember("master")
	c.AddNode(kubeapi.NodeSpec{Name: "worker"})
	r, clock := NewRegistry(), process.NewClock(10000)
	t.Cleanup(r.Close)
	r.add(c)
	silent := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.silent)
	}

	r.report(clock, c, "worker", true)
	require.True(t, c.NodeReady("worker"))
	r.report(clock, c, "worker", true)
	r.report(clock, c, "worker", false)
	require.Zero(t, silent(), "the successor still reports")
	require.True(t, c.NodeReady("worker"))

	r.report(clock, c, "worker", false)
	require.Eventually(t, func() bool { return !c.NodeReady("worker") }, time.Minute, time.Millisecond)
	require.Zero(t, silent())
	require.Empty(t, r.reporting)

	r.report(clock, c, "worker", true)
	require.True(t, c.NodeReady("worker"))
}
