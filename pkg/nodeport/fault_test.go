package nodeport_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/sol"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// The script on the machine can be cut off before any command. The next attempt finishes the work, and the old file is
// kept until HAProxy works with the new one.
func TestTheScriptMayBeCutOff(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"sudo -n flock", "cp -p", "haproxy -c", "mv -f", "systemctl reload-or-restart", "ss", "rm -f",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			i := w.instance()
			w.expose(i, "default", "web", 30422)
			w.serve(21, 30422)
			w.serve(22, 30422)
			s := w.begin(sol.LcmOperationInstantiate, i)
			reached, rebooted := make(chan struct{}, 1), make(chan struct{})
			w.fleet.Fail(loadBalancer, simmachine.Failure{
				Command: command, Hang: true, Times: 1, Notify: func() { reached <- struct{}{} },
			})
			go func() {
				defer close(rebooted)
				select {
				case <-reached:
					w.fleet.Reboot(loadBalancer)
				case <-t.Context().Done():
				}
			}()
			s.Run(t)
			<-rebooted
			if s.Operation().State == sol.LcmOperationStateFailedTemp {
				s.Steer(t, lcm.EventRetry)
			}
			s.Complete(t)
			w.reached(30422, "worker21", "worker22")
			require.Equal(t, "haproxy.cfg\n", w.run("ls /etc/haproxy | grep cfg"))
		})
	}
}

// Ports of others are refused with their owner, and nothing is changed.
func TestPortsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		port    int
		prepare func(w *world) (owner string)
	}{
		"of HAProxy itself": {8383, func(*world) string {
			return "the port 8383 is used by the frontend kubernetes-apiserver of HAProxy"
		}},
		"of another program": {2222, func(*world) string { return "the port 2222 is used by another program" }},
		"of another CNF": {30422, func(w *world) string {
			other := w.instance()
			w.expose(other, "other", "web", 30422)
			w.operate(sol.LcmOperationInstantiate, other)
			w.hide("other", "web") // Kubernetes gives the port back before the load balancer has lost it
			return "the port 30422 is used by VNF instance " + other.ID
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cluster.SetNodePorts(1024, 32767) // an operator may choose any range
			i := w.instance()
			want := x.prepare(w)
			before := w.config()
			w.expose(i, "default", "web", x.port)
			f := w.beginWith(nodeport.Options{Patience: time.Millisecond}, sol.LcmOperationInstantiate, i).Fail(t)
			require.Contains(t, f.Detail, want)
			require.NotEmpty(t, f.Hint)
			require.Equal(t, before, w.config())
		})
	}
}

// Kubernetes gives a port that a CNF has lost to another one, before the operation of the first has told the load
// balancer.
func TestAPortThatIsGivenBackIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.instance(), w.instance()
	w.expose(first, "default", "one", 30422)
	w.operate(sol.LcmOperationInstantiate, first)
	w.expose(first, "default", "one", 30423)
	w.expose(second, "default", "two", 30422)
	s := w.begin(sol.LcmOperationInstantiate, second)
	done := make(chan error, 1)
	go func() { done <- s.Work(t.Context()) }()
	require.Eventually(t, func() bool { return strings.Contains(s.Told(), "is used by VNF instance "+first.ID) },
		time.Minute, 5*time.Millisecond)
	w.operate(sol.LcmOperationHeal, first)
	require.NoError(t, <-done)
	s.Complete(t)
	require.Equal(t, 2, strings.Count(w.config(), "frontend gybe_"))
}

// A configuration that HAProxy rejects, or with which it does not work, is not left in place.
func TestTheOldConfigurationComesBack(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		fault simmachine.Failure
		want  string
	}{
		"rejected": {simmachine.Failure{
			Command: "haproxy -c", Stderr: "[ALERT]    (7) : config : parsing [x:1] : no such luck\n",
		}, "no such luck"},
		"not loaded": {
			simmachine.Failure{Command: "systemctl reload-or-restart haproxy", Times: 1},
			"HAProxy did not work with the new configuration",
		},
		"not locked": {
			simmachine.Failure{
				Command: "sudo -n flock -w 30 -E 75", Exit: 66, Stderr: "flock: cannot open lock file /run/lock/x\n",
			},
			"(flock: cannot open lock file /run/lock/x)",
		},
		"not active": {
			simmachine.Failure{Command: "systemctl is-active", Times: 1},
			"HAProxy did not work with the new configuration",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := w.config()
			i := w.instance()
			w.expose(i, "default", "web", 30422)
			w.fleet.Fail(loadBalancer, x.fault)
			s := w.begin(sol.LcmOperationInstantiate, i)
			f := s.Fail(t)
			require.Contains(t, f.Detail, x.want)
			require.Equal(t, before, w.config())
			require.Equal(t, "haproxy.cfg\n", w.run("ls /etc/haproxy | grep cfg"))
			w.closed(30422)

			w.fleet.ClearFailures(loadBalancer)
			s.RollBack(t)
			require.Equal(t, before, w.config())
		})
	}
}

// A rollback of an instantiation takes the ports away. That of a heal leads back to the Services that are there.
func TestRollback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.config()
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	s := w.operate(sol.LcmOperationInstantiate, i)
	s.RollBack(t)
	require.Equal(t, before, w.config())

	w.operate(sol.LcmOperationInstantiate, i)
	w.expose(i, "default", "web", 30423)
	s = w.operate(sol.LcmOperationScale, i)
	w.expose(i, "default", "web", 30422)
	s.RollBack(t)
	require.Contains(t, w.config(), "bind *:30422")
	require.NotContains(t, w.config(), "30423")
}

// Tacker's configure_lb.sh has written frontends without an owner. The first operation of the instance replaces them;
// those of other Services, and those that were changed by hand, stay.
func TestFrontendsOfTackerAreTakenOver(t *testing.T) {
	t.Parallel()
	frontend := func(name, more string, port int) string {
		return fmt.Sprintf("frontend %s\n    mode                 tcp\n    bind                 *:%d\n%s"+
			"    option               tcplog\n    default_backend      kubernetes-nodeport\n", name, port, more)
	}
	stays := frontend("default_other", "", 31001) + frontend("default_changed", "    maxconn 10\n", 31002)
	for _, typ := range []sol.LcmOperationType{sol.LcmOperationHeal, sol.LcmOperationTerminate} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("", w.backends()+frontend("default_nginx-service", "", 30422)+stays+
				frontend("kube-system_nginx-service", "", 30058))
			i := w.instance()
			w.expose(i, "default", "nginx-service", 30422)
			w.expose(i, "kube-system", "nginx-service", 30059)
			w.serve(21, 30422)
			w.serve(22, 30422)
			w.operate(typ, i)
			require.Contains(t, w.config(), stays)
			require.NotContains(t, w.config(), "frontend default_nginx-service")
			w.closed(30058)
			if typ == sol.LcmOperationHeal {
				w.reached(30422, "worker21", "worker22")
			} else {
				w.closed(30422)
			}
		})
	}
}

// An operation whose request has null in the place of the load balancer leaves it alone, so that a CNF whose load
// balancer is gone can be terminated.
func TestALoadBalancerThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	w.operate(sol.LcmOperationInstantiate, i)
	w.fleet.Delete(loadBalancer)

	s := w.begin(sol.LcmOperationTerminate, i)
	f := s.Fail(t)
	require.Contains(t, f.Hint, "give null as lcm-kubernetes-external-lb")
	require.NotContains(t, fmt.Sprint(f), "password: ubuntu")

	s = w.request(nodeport.Options{}, sol.LcmOperationTerminate, map[string]any{nodeport.ParamKey: nil}, i, nil)
	s.Complete(t)

	s = w.request(nodeport.Options{}, sol.LcmOperationHeal, map[string]any{nodeport.ParamKey: nil}, i, nil)
	s.Complete(t)
}

// An instantiation that fails because the load balancer is not there can be rolled back.
func TestRollbackWithoutTheLoadBalancer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	w.fleet.Delete(loadBalancer)
	s := w.beginWith(nodeport.Options{Patience: time.Millisecond}, sol.LcmOperationInstantiate, i)
	s.Fail(t)
	s.RollBack(t)
	require.Contains(t, s.Details(), "the load balancer was not reached: if its configuration has sections whose names")
}

// A machine with another key is not used.
func TestTheHostKeyIsPinned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	w.operate(sol.LcmOperationInstantiate, i)
	w.fleet.Delete(loadBalancer)
	other := *w
	other.keys = &mgmttest.HostKeys{} // for what the test does there
	other.boot()
	s := w.begin(sol.LcmOperationHeal, i)
	f := s.Fail(t)
	require.Contains(t, f.Hint, "--forget external-lb-"+w.address().String())
	require.NotContains(t, other.config(), "30422")
}

// A change of the package can give the CNF another load balancer: the old one loses its ports, and gets them back in a
// rollback.
func TestAnotherLoadBalancer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	w.expose(i, "default", "web", 30422)
	w.operate(sol.LcmOperationInstantiate, i)
	other := w.elsewhere()
	s := w.request(nodeport.Options{}, sol.LcmOperationChangeFlavour, map[string]any{nodeport.ParamKey: map[string]any{
		"external_lb_param": map[string]any{"ssh_ip": other.address().String()},
	}}, i, func(op *lcm.Operation) { op.Scope = &lcm.Scope{Flavour: "simple"} })
	s.Complete(t)
	require.NotContains(t, w.config(), "30422")
	require.Contains(t, other.config(), "30422")

	s.RollBack(t)
	require.Contains(t, w.config(), "30422")
	require.NotContains(t, other.config(), "30422")
}
