package k8scluster_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

const (
	theBalancer   = "externalLB-31"
	balancerFile  = "/etc/haproxy/haproxy.cfg"
	reloadHAProxy = "systemctl reload-or-restart haproxy"
)

// If HAProxy does not accept the nodes of a scaling out, it goes on with the old ones. A retry configures it.
func TestTheLoadBalancerOfAClusterKeepsAConfigurationThatWorks(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		fault simmachine.Failure
		want  string
	}{
		"rejected": {
			simmachine.Failure{Command: "haproxy -c", Stderr: "[ALERT]    (7) : config : no such luck\n"},
			"haproxy -c rejects the new configuration, and the old one stays: [ALERT]    (7) : config : no such luck",
		},
		"not loaded": {
			simmachine.Failure{Command: reloadHAProxy, Times: 1},
			"HAProxy did not work with the new configuration, and has the old one again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSprayed(t, 1, 1)
			m.complete(m.instantiation())
			before := m.file(theBalancer, balancerFile)
			m.fleet.Fail(theBalancer, x.fault)
			k := scaledOut(m)
			e := k.Fail(t)
			require.Contains(t, e.Detail, x.want)
			require.NotEmpty(t, e.Hint)
			require.Equal(t, lcm.StepFailed, k.Step("configure load balancer", theBalancer).State)
			require.Equal(t, before, m.file(theBalancer, balancerFile))

			m.fleet.ClearFailures(theBalancer)
			k.Steer(t, lcm.EventRetry)
			m.complete(k)
			m.balanced([]byte{11}, []byte{21, 22})
		})
	}
}

// When the load balancer reboots after the new file is in place and before HAProxy has loaded it, the next attempt
// finishes the change: a file that is the wanted one does not prove that HAProxy works with it.
func TestAChangeOfTheLoadBalancerIsFinished(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.complete(m.instantiation())
	loads := m.fleet.Count(theBalancer, reloadHAProxy)
	reached, rebooted := make(chan struct{}, 1), make(chan struct{})
	m.fleet.Fail(theBalancer, simmachine.Failure{
		Command: reloadHAProxy, Hang: true, Times: 1, Notify: func() { reached <- struct{}{} },
	})
	go func() {
		defer close(rebooted)
		select {
		case <-reached:
			m.fleet.Reboot(theBalancer)
		case <-t.Context().Done():
		}
	}()
	k := scaledOut(m)
	k.Run(t)
	<-rebooted
	if k.Operation().State == sol.LcmOperationStateFailedTemp {
		k.Steer(t, lcm.EventRetry)
	}
	m.complete(k)
	m.balanced([]byte{11}, []byte{21, 22})
	require.Equal(t, loads+1, m.fleet.Count(theBalancer, reloadHAProxy), "HAProxy has loaded the file")
	_, err := m.fleet.Machine(theBalancer).FS().Stat(balancerFile + ".gybe-old")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// Scalings and heals of the cluster leave the sections of a CNF as they are, and its backend follows the workers.
func TestSectionsOfCNFsStayWhenTheClusterChanges(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.complete(m.instantiation())
	const section = "frontend gybe_342a083d-caec-4b44-8881-733fa7cd1754_default_web\n    mode tcp\n" +
		"    bind *:30422\n    option tcplog\n    default_backend kubernetes-nodeport\n"
	require.NoError(t, m.fleet.Machine(theBalancer).FS().WriteFile(
		balancerFile, []byte(m.file(theBalancer, balancerFile)+section), 0o644,
	))
	for _, x := range []struct {
		begin   func() *mgmttest.Task
		workers []byte
	}{
		{func() *mgmttest.Task { return m.scale(1, nil, nil) }, []byte{21, 22}},
		{func() *mgmttest.Task { return m.heal(nil, "workerNode-21") }, []byte{22, 23}},
		{func() *mgmttest.Task { return m.scale(0, []string{"workerNode-22"}, nil) }, []byte{23}},
	} {
		m.complete(x.begin())
		require.Contains(t, m.file(theBalancer, balancerFile), section)
		m.reaches(x.workers)
	}
}

// reaches wants the NodePorts to lead to these workers, in any order.
func (m *sprayed) reaches(workers []byte) {
	m.t.Helper()
	var want, got []string
	for _, b := range workers {
		want = append(want, m.at(10, b).String())
	}
	_, text, found := strings.Cut(m.file(theBalancer, balancerFile), "backend kubernetes-nodeport\n")
	require.True(m.t, found)
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "server" {
			got = append(got, f[2])
		}
	}
	require.ElementsMatch(m.t, want, got)
}

// A heal of the machine of the load balancer brings the API server's port back and the kubeconfig. It names the CNFs
// whose NodePorts the new machine does not have.
func TestHealOfTheLoadBalancer(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.complete(m.instantiation())
	const cnf = "342a083d-caec-4b44-8881-733fa7cd1754"
	require.NoError(t, m.fleet.Clusters()[0].Apply(t.Context(), kubeapi.Admin, "default", []byte(
		"apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default, labels: {gybe.io/vnf-instance: "+
			cnf+"}}\nspec: {type: NodePort, ports: [{port: 80, nodePort: 30422}]}\n",
	)))
	k := m.complete(m.heal(nil, theBalancer))
	require.Equal(t, []string{"master11", "worker21"}, m.nodes())
	m.balanced([]byte{11}, []byte{21})
	require.Contains(t, m.file(theBalancer, "/home/ubuntu/.kube/config"), m.at(10, 31).String()+":8383")
	step := k.Step("look for NodePorts", theBalancer)
	require.NotNil(t, step)
	require.Contains(t, step.Detail, "heal the CNFs that use it: "+cnf)
}

// The certificate of the API server does not have a new address of the load balancer, and it is not ignored.
func TestALoadBalancerAtANewAddressIsNotTrusted(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.complete(m.instantiation())
	m.next["externalLB"]++
	e := m.heal(nil, theBalancer).Fail(t)
	require.Contains(t, e.Detail, "certificate is valid for")
	require.Contains(t, e.Detail, "not "+m.at(10, 32).String())
}
