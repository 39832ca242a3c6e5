package nodeport_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The guide's session: a CNF with three NodePorts, a heal that changes one of them, a termination.
func TestNodePortsFollowTheCNF(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.config()
	i := w.instance()
	w.expose(i, "default", "nginx-service", 30422, 32019)
	w.expose(i, "kube-system", "nginx-service", 30058)
	for _, port := range []int{30422, 32019, 30058, 30702} {
		w.serve(21, port)
		w.serve(22, port)
	}
	s := w.operate(sol.LcmOperationInstantiate, i)
	require.Contains(t, s.Details(), "NodePorts: default/nginx-service 30422, 32019; kube-system/nginx-service 30058")
	for _, port := range []int{30422, 32019, 30058} {
		w.reached(port, "worker21", "worker22")
	}
	require.True(t, strings.HasPrefix(w.config(), before), "the rest of the file is unchanged:\n%s", w.config())

	w.expose(i, "kube-system", "nginx-service", 30702)
	w.operate(sol.LcmOperationHeal, i)
	w.closed(30058)
	for _, port := range []int{30422, 32019, 30702} {
		w.reached(port, "worker21", "worker22")
	}

	w.hide("default", "nginx-service")
	w.hide("kube-system", "nginx-service")
	w.operate(sol.LcmOperationTerminate, i)
	for _, port := range []int{30422, 32019, 30702} {
		w.closed(port)
	}
	require.Equal(t, before, w.config())
	require.Equal(t, "haproxy.cfg\n", w.run("ls /etc/haproxy | grep cfg"))
}

// The same operation again does not touch HAProxy.
func TestAConfigurationThatIsUpToDateIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	w.operate(sol.LcmOperationInstantiate, i)
	reloads := w.fleet.Count(loadBalancer, "systemctl reload-or-restart haproxy")
	require.Equal(t, 1, reloads)
	for _, typ := range []sol.LcmOperationType{
		sol.LcmOperationHeal, sol.LcmOperationScale, sol.LcmOperationScaleToLevel,
	} {
		require.Contains(t, w.operate(typ, i).Logs(), "up to date")
	}
	require.Equal(t, reloads, w.fleet.Count(loadBalancer, "systemctl reload-or-restart haproxy"))
}

// Without the backend of a cluster's driver, each port has servers of its own: the nodes as the cluster has them.
func TestServersAreTheNodesOfTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("", "")
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	w.serve(21, 30422)
	w.serve(22, 30422)
	w.operate(sol.LcmOperationInstantiate, i)
	w.reached(30422, "worker21", "worker22")

	w.addNode("worker23", 23)
	w.cluster.RemoveNode("worker21")
	w.serve(23, 30422)
	w.operate(sol.LcmOperationScale, i)
	w.reached(30422, "worker22", "worker23")
}

// A backend of the driver of another cluster is not used.
func TestTheBackendOfAnotherClusterIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("", "backend kubernetes-nodeport\n    mode tcp\n    server worker21 192.0.2.21\n")
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	w.serve(21, 30422)
	w.serve(22, 30422)
	w.operate(sol.LcmOperationInstantiate, i)
	w.reached(30422, "worker21", "worker22")
}

// Two CNFs at one load balancer do not affect each other, also when they are changed at the same time.
func TestCNFsShareALoadBalancer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 4
	done := make(chan error, many)
	var all []*mgmttest.Task
	for n := range many {
		i := w.instance()
		w.expose(i, fmt.Sprintf("ns%d", n), "web", 30000+n)
		w.serve(21, 30000+n)
		w.serve(22, 30000+n)
		s := w.begin(sol.LcmOperationInstantiate, i)
		all = append(all, s)
		go func() { done <- s.Work(t.Context()) }()
	}
	for range many {
		require.NoError(t, <-done)
	}
	for _, s := range all {
		s.Complete(t)
	}
	for n := range many {
		w.reached(30000+n, "worker21", "worker22")
	}
	require.Equal(t, many, strings.Count(w.config(), "frontend gybe_"))
}

// A heal and a termination of one CNF leave the section and the ports of another one as they are, and so does a
// request for a port that both want.
func TestOperationsOnOneCNFLeaveTheOtherAlone(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"backend of the cluster": true, "servers of each port": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if !shared {
				w.write("", "")
			}
			empty := w.config()
			a, b := w.instance(), w.instance()
			for _, port := range []int{30422, 30423, 30500} {
				w.serve(21, port)
				w.serve(22, port)
			}
			w.expose(b, "other", "web", 30500)
			w.operate(sol.LcmOperationInstantiate, b)
			alone := w.config()
			unchanged := func() {
				t.Helper()
				require.True(t, strings.HasPrefix(w.config(), alone), "%s", w.config())
				w.reached(30500, "worker21", "worker22")
			}
			w.expose(a, "default", "web", 30422)
			w.operate(sol.LcmOperationInstantiate, a)
			unchanged()
			w.expose(a, "default", "web", 30423)
			w.operate(sol.LcmOperationHeal, a)
			unchanged()
			w.closed(30422)
			w.reached(30423, "worker21", "worker22")

			w.hide("other", "web") // the cluster does not refuse the port then
			w.expose(a, "default", "web", 30500)
			s := w.beginWith(nodeport.Options{Patience: time.Millisecond}, sol.LcmOperationHeal, a)
			require.Contains(t, s.Fail(t).Detail, "the port 30500 is used by VNF instance "+b.ID)
			unchanged()
			w.reached(30423, "worker21", "worker22")
			w.operate(sol.LcmOperationTerminate, a)
			unchanged()
			require.Equal(t, alone, w.config())
			w.operate(sol.LcmOperationTerminate, b)
			require.Equal(t, empty, w.config())
		})
	}
}
