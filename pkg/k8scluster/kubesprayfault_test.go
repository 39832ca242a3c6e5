package k8scluster_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
	simmachines "github.com/gybe-nfv/gybe/test/simcloud/machines"
)

// scaledOut, scaledIn, … begin an operation on a cluster of one master and one worker.
func scaledOut(m *sprayed) *mgmttest.Task { return m.scale(1, nil, nil) }
func scaledIn(m *sprayed) *mgmttest.Task  { return m.scale(0, []string{"workerNode-21"}, nil) }
func healed(m *sprayed) *mgmttest.Task    { return m.heal(nil, "workerNode-21") }
func ended(m *sprayed) *mgmttest.Task     { return m.termination("GRACEFUL") }

// disturbance makes something fail, and puts it right again.
type disturbance struct{ spoil, repair func(m *sprayed) }

// out makes a program on a machine fail.
func out(machine, command, why string) disturbance {
	return disturbance{
		func(m *sprayed) { m.fleet.Fail(machine, simmachine.Failure{Command: command, Stderr: why}) },
		func(m *sprayed) { m.fleet.ClearFailures(machine) },
	}
}

// A failure of each hook says where it failed and what to do, and the operation goes on when it is retried.
func TestHooksOfKubesprayGoOnWhenTheyAreRetried(t *testing.T) {
	t.Parallel()
	silent := disturbance{
		func(m *sprayed) { m.fleet.PowerOff("ansible") }, func(m *sprayed) { m.fleet.PowerOn("ansible") },
	}
	password := func(word string) func(m *sprayed) {
		return func(m *sprayed) {
			require.NoError(m.t, m.fleet.Machine("ansible").FS().WriteFile(
				"/etc/shadow", []byte("ubuntu:"+word+"\n"), 0o600,
			))
		}
	}
	const sample = simmachines.KubesprayRoot + "/inventory/sample/group_vars/all/all.yml"
	noSample := disturbance{func(m *sprayed) {
		require.NoError(m.t, m.fleet.Machine("ansible").FS().RemoveAll(simmachines.KubesprayRoot+"/inventory/sample"))
	}, func(m *sprayed) {
		fs := m.fleet.Machine("ansible").FS()
		require.NoError(m.t, fs.MkdirAll(simmachines.KubesprayRoot+"/inventory/sample/group_vars/all", 0o777))
		require.NoError(m.t, fs.WriteFile(sample, []byte("---\n"), 0o644))
	}}
	otherKey := disturbance{func(m *sprayed) { m.fleet.ChangeHostKeys("ansible") }, func(m *sprayed) {
		m.forgetKey("ansible-" + m.ansible.String())
	}}
	const onHost = "on the Ansible host "
	tests := []struct {
		name         string
		begin        func(m *sprayed) *mgmttest.Task // nil: the instantiation
		disturb      disturbance
		detail, hint string
		step, vnfc   string // that has failed
		nodes        []string
	}{
		{
			name: "no Kubespray", disturb: noSample, detail: "has no inventory/sample", hint: "kubespray_root_path",
			step: "claim inventory",
		}, {
			name: "Ansible host full", disturb: out("ansible", "cp -r", "No space left on device"),
			detail: "No space left on device", hint: "kubespray_root_path", step: "claim inventory",
		}, {
			name: "Ansible host silent", disturb: silent, detail: onHost, hint: "check that the Ansible host runs",
			step: "claim inventory",
		}, {
			name: "wrong login", disturb: disturbance{password("other"), password("ubuntu")}, detail: onHost,
			hint: ".ansible; scale and heal requests may give others", step: "claim inventory",
		}, {
			name: "load balancer", disturb: out("externalLB-31", "haproxy -c", "it does not like it"),
			detail: "HAProxy does not accept the configuration", hint: "step", step: "install load balancer",
			vnfc: "externalLB-31",
		}, {
			name: "playbook", disturb: out("workerNode-21", "kubeadm join", "no space left"),
			detail: "worker21: task kubernetes : join", hint: "the playbook runs again", step: "run cluster.yml",
		}, {
			name: "changed host key", begin: scaledOut, disturb: otherKey, detail: onHost,
			hint: "gybe vnf ssh-hosts INSTANCE --forget ansible-", step: "run facts.yml",
			nodes: []string{"master11", "worker21", "worker22"},
		}, {
			name: "new worker", begin: scaledOut, disturb: out("workerNode-22", "kubeadm join", "no space left"),
			detail: "worker22: task kubernetes : join", hint: "the playbook runs again", step: "run scale.yml",
			nodes: []string{"master11", "worker21", "worker22"},
		}, {
			name: "worker leaves", begin: scaledIn,
			disturb: out("masterNode-11", "kubectl --kubeconfig /etc/kubernetes/admin.conf delete", "timed out"),
			detail:  "master11: task remove-node/post-remove : Delete node", hint: "the playbook runs again",
			step: "run remove-node.yml", nodes: []string{"master11"},
		}, {
			name: "healed worker leaves", begin: healed,
			disturb: out("masterNode-11", "kubectl --kubeconfig /etc/kubernetes/admin.conf delete", "timed out"),
			detail:  "master11: task remove-node/post-remove : Delete node", hint: "the playbook runs again",
			step: "run remove-node.yml", nodes: []string{"master11", "worker22"},
		}, {
			name: "healed worker", begin: healed,
			disturb: out("workerNode-22", "kubeadm join", "no space left"),
			detail:  "worker22: task kubernetes : join", hint: "the playbook runs again", step: "run scale.yml",
			nodes: []string{"master11", "worker22"},
		}, {
			name: "termination", begin: ended, disturb: silent, detail: onHost, hint: "FORCEFUL",
			step: "remove inventory", nodes: []string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newSprayed(t, 1, 1)
			m.options.BootTimeout, m.options.AuthTimeout = 500*time.Millisecond, 100*time.Millisecond
			begin, want := tt.begin, tt.nodes
			if begin == nil {
				begin, want = (*sprayed).instantiation, []string{"master11", "worker21"}
			} else {
				m.complete(m.instantiation())
			}
			tt.disturb.spoil(m)
			k := begin(m)
			e := k.Fail(t)
			require.Contains(t, e.Detail, tt.detail)
			require.Contains(t, e.Hint, tt.hint)
			if tt.detail == onHost {
				require.Contains(t, e.Detail, onHost+m.ansible.String())
			}
			require.Equal(t, lcm.StepFailed, k.Step(tt.step, tt.vnfc).State)
			tt.disturb.repair(m)
			k.Steer(t, lcm.EventRetry)
			m.complete(k)
			if len(want) == 0 {
				require.Empty(t, m.vims)
				require.False(t, m.claimed())
				return
			}
			require.Equal(t, want, m.nodes())
			require.True(t, m.claimed())
		})
	}
}

// forgetKey lets the next login pin another key.
func (m *sprayed) forgetKey(machine string) {
	m.keys.mu.Lock()
	defer m.keys.mu.Unlock()
	maps.DeleteFunc(m.keys.keys, func(k remote.Machine, _ remote.HostKey) bool {
		return k.Instance == m.id && k.VNFC == machine
	})
}

// A termination with FORCEFUL does not need the Ansible host, and says what stays there.
func TestForcefulTerminationGoesOnWithoutTheAnsibleHost(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.options.BootTimeout = 500 * time.Millisecond
	m.complete(m.instantiation())
	m.fleet.PowerOff("ansible")
	k := m.complete(m.termination("FORCEFUL"))
	require.Contains(t, k.Step("remove inventory", "").Detail, "it stays: ")
	require.Empty(t, m.vims)
}

// The logins of a scale or heal request are used in place of those that the instance remembers.
func TestNewLoginsOfRequests(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.options.AuthTimeout = 100 * time.Millisecond
	m.complete(m.instantiation())
	for _, machine := range []string{"ansible", "masterNode-11"} {
		require.NoError(t, m.fleet.Machine(machine).FS().WriteFile("/etc/shadow", []byte("ubuntu:changed\n"), 0o600))
	}
	changed := map[string]any{"password": "changed"}
	e := m.scale(1, nil, map[string]any{"ansible": changed}).Fail(t)
	require.Contains(t, e.Detail, "master11")
	e = m.scale(1, nil, map[string]any{"master_node": changed}).Fail(t)
	require.Contains(t, e.Detail, "on the Ansible host "+m.ansible.String())

	both := map[string]any{"ansible": changed, "master_node": changed}
	m.complete(m.scale(1, nil, both))
	require.Contains(t, m.file("ansible", sprayInventory+"/hosts.yaml"), "ansible_password: 'changed'")
	m.complete(m.heal(both, "workerNode-21"))
	require.Equal(t, []string{"master11", "worker22", "worker23"}, m.nodes())
}

// A scale or heal request may name another Ansible host, for this operation: it has no inventory before, and keeps
// none.
func TestRequestsMayNameAnotherAnsibleHost(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.complete(m.instantiation())
	address := simmachines.BootAnsibleHost(t, m.fleet, "other")
	other := map[string]any{"ansible": map[string]any{"ip_address": address.String()}}
	var played []string
	left := func(books ...string) {
		t.Helper()
		played = append(played, books...)
		require.Equal(t, played, m.playedOn("other"))
		require.False(t, m.claimedOn("other"), "the inventory has passwords")
		require.True(t, m.claimed(), "the host of the instantiation has the inventory for later operations")
	}
	m.complete(m.scale(1, nil, other))
	require.Equal(t, []string{"master11", "worker21", "worker22"}, m.nodes())
	left("facts.yml", "scale.yml")
	m.complete(m.scale(0, []string{"workerNode-22"}, other))
	require.Equal(t, []string{"master11", "worker21"}, m.nodes())
	left("remove-node.yml")
	m.complete(m.heal(other, "workerNode-21"))
	require.Equal(t, []string{"master11", "worker23"}, m.nodes())
	left("remove-node.yml", "facts.yml", "scale.yml")

	m.fleet.Fail("workerNode-24", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
	k := m.scale(1, nil, other)
	k.Fail(t)
	require.True(t, m.claimedOn("other"), "a retry needs it")
	k.RollBack(t)
	m.remember(k)
	left("facts.yml", "scale.yml", "remove-node.yml")
	m.complete(m.healAll(other))
	left("cluster.yml")
	require.Equal(t, []string{"cluster.yml"}, m.played())
	m.complete(m.termination("GRACEFUL"))
	require.False(t, m.claimed())
}

// Two clusters whose nodes have the same names are made and changed at the same time, on one Ansible host.
func TestTwoClustersOnOneAnsibleHost(t *testing.T) {
	t.Parallel()
	one := newSprayed(t, 1, 1)
	block, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = block.Close() })
	other := (&machines{t: t, fleet: one.fleet, block: block}).sprayed(
		"5c1f2e9a-3f0e-4c7c-9a11-1a86ff2a6f10", one.ansible, 1, 1)
	other.prefix = "other-"

	e := other.instantiation().Fail
	one.complete(one.instantiation())
	require.Contains(t, e(t).Detail, "belongs to VNF instance "+one.id)
	other.install("ansible")["transferring_inventory_path"] = simmachines.KubesprayRoot + "/inventory/other"
	one.complete(one.termination("GRACEFUL"))
	one.next["masterNode"], one.next["workerNode"] = 11, 21

	both := []*sprayed{one, other}
	together := func(begin func(m *sprayed) *mgmttest.Task) {
		var all sync.WaitGroup
		tasks, errs := []*mgmttest.Task{begin(one), begin(other)}, make([]error, 2)
		for n, k := range tasks {
			all.Go(func() { errs[n] = k.Work(t.Context()) })
		}
		all.Wait()
		for n, m := range both {
			require.NoError(t, errs[n])
			op := tasks[n].Operation()
			require.Equal(t, sol.LcmOperationStateCompleted, op.State, "%+v", op.Error)
			m.remember(tasks[n])
		}
	}
	together((*sprayed).instantiation)
	together(scaledOut)
	for _, m := range both {
		require.Equal(t, []string{"master11", "worker21", "worker22"}, m.nodes())
	}
	require.Len(t, slices.DeleteFunc(one.played(), func(b string) bool { return b != "scale.yml" }), 2)
	connection := func(m *sprayed) sol.VimConnectionInfo { return m.vims[k8scluster.VimID(m.id)].Connection }
	require.NotEqual(t, connection(one), connection(other))
}
