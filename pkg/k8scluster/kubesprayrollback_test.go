package k8scluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// A rollback whose hook fails says how to go on without the machine that fails, and is repeated when it works again.
func TestRollbacksOfKubesprayAreRepeated(t *testing.T) {
	t.Parallel()
	t.Run("instantiation", func(t *testing.T) {
		t.Parallel()
		m := newSprayed(t, 1, 1)
		m.options.BootTimeout = 500 * time.Millisecond
		m.fleet.Fail("workerNode-21", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
		k := m.instantiation()
		k.Fail(t)
		m.fleet.PowerOff("ansible")
		k.Steer(t, lcm.EventRollback)
		e := k.Fail(t)
		require.Contains(t, e.Detail, "on the Ansible host "+m.ansible.String())
		require.Contains(t, e.Hint, "gybe vnf leftovers "+m.id)
		require.NotEmpty(t, m.there.Inventory, "the machines stay until their inventory has gone")
		m.fleet.PowerOn("ansible")
		k.RollBack(t)
		require.False(t, m.claimed())
		require.Empty(t, m.there.Inventory)
	})
	t.Run("scaling out", func(t *testing.T) {
		t.Parallel()
		m := newSprayed(t, 1, 1)
		m.complete(m.instantiation())
		bad := out("workerNode-22", "kubeadm join", "no space left")
		bad.spoil(m)
		k := m.scale(1, nil, nil)
		k.Fail(t)
		bad = out("masterNode-11", "kubectl --kubeconfig /etc/kubernetes/admin.conf delete", "timed out")
		bad.spoil(m)
		k.Steer(t, lcm.EventRollback)
		require.Contains(t, k.Fail(t).Detail, "run remove-node.yml on the Ansible host "+m.ansible.String())
		bad.repair(m)
		k.RollBack(t)
		m.remember(k)
		require.Equal(t, []string{"master11", "worker21"}, m.nodes())
	})
}

// A rollback leaves neither an inventory nor a VIM of an instantiation.
func TestRollbackOfAnInstantiation(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.fleet.Fail("workerNode-21", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
	k := m.instantiation()
	k.Fail(t)
	require.True(t, m.claimed())
	k.RollBack(t)
	m.remember(k)
	require.False(t, m.claimed(), "the inventory has passwords")
	require.Empty(t, m.vims)
	require.Empty(t, m.there.Inventory)

	// The same path may be used again.
	m.fleet.ClearFailures("workerNode-22")
	m.next = map[string]byte{"masterNode": 11, "workerNode": 22, "externalLB": 31}
	m.complete(m.instantiation())
	require.Equal(t, []string{"master11", "worker22"}, m.nodes())
}

// A rollback takes the workers of a scaling out away again, whether they have joined or not.
func TestRollbackOfAScalingOut(t *testing.T) {
	t.Parallel()
	for _, joined := range []bool{false, true} {
		t.Run(fmt.Sprint("joined ", joined), func(t *testing.T) {
			t.Parallel()
			m := newSprayed(t, 1, 1)
			m.complete(m.instantiation())
			k := m.scale(1, nil, nil)
			if joined {
				k.Complete(t)
			} else {
				m.fleet.Fail("workerNode-22", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
				k.Fail(t)
			}
			k.RollBack(t)
			m.remember(k)
			require.Equal(t, []string{"master11", "worker21"}, m.nodes())
			require.NotContains(t, m.file("ansible", sprayInventory+"/hosts.yaml"), "worker22")
			m.balanced([]byte{11}, []byte{21})
		})
	}
}

// A rollback of SCALE_TO_LEVEL removes all its workers in one run, those that have joined and those that have not.
func TestRollbackOfManyWorkersIsOneRun(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.complete(m.instantiation())
	m.fleet.Fail("workerNode-23", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
	k := m.resize(sol.LcmOperationScaleToLevel, 2, nil, nil)
	require.Contains(t, k.Fail(t).Detail, "worker23: task kubernetes : join")
	k.RollBack(t)
	m.remember(k)
	require.Equal(t, []string{"remove-node.yml"}, m.played()[3:])
	require.Equal(t, []string{"master11", "worker21"}, m.nodes())
	m.balanced([]byte{11}, []byte{21})
}
