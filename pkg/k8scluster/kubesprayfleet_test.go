package k8scluster_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

func TestPlaybooksMakeACluster(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	k := m.complete(m.instantiation())
	require.Equal(t, []string{"master11", "worker21"}, m.nodes())
	require.Equal(t, []string{"cluster.yml"}, m.played())
	require.Contains(t, k.Step("cluster.yml", "workerNode-21").Detail, "failed=0")
	hosts := m.file("ansible", sprayInventory+"/hosts.yaml")
	require.Contains(t, hosts, "ansible_password")
	info, err := m.fleet.Machine("ansible").FS().Stat(sprayInventory + "/hosts.yaml")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.Contains(t, m.file("ansible", sprayInventory+"/group_vars/k8s_cluster/zz_gybe.yml"), "10.199.187.0/24")
	require.Contains(t, m.file("externalLB-31", "/home/ubuntu/.kube/config"), m.at(10, 31).String()+":8383")
	for _, e := range m.fleet.Journal("ansible") {
		require.NotContains(t, e.Line, "ansible_password")
	}
	m.balanced([]byte{11}, []byte{21})
}

// A playbook that fails on one host names the host and the task, and a retry runs it again.
func TestPlaybookThatFailsOnOneHost(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.fleet.Fail("workerNode-21", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
	k := m.instantiation()
	e := k.Fail(t)
	require.Contains(t, e.Detail, "worker21: task kubernetes : join")
	require.Contains(t, e.Detail, "on the Ansible host "+m.ansible.String())
	require.Equal(t, lcm.StepFailed, k.Step("cluster.yml", "workerNode-21").State)
	require.Equal(t, lcm.StepDone, k.Step("cluster.yml", "masterNode-11").State)
	m.fleet.ClearFailures("workerNode-21")
	k.Steer(t, lcm.EventRetry)
	m.complete(k)
	require.Equal(t, []string{"master11", "worker21"}, m.nodes())
	require.Equal(t, lcm.StepDone, k.Step("cluster.yml", "workerNode-21").State)
}

// A heal replaces any of several masters. Kubespray works through the first master of the inventory, and takes it for
// the one that has the cluster: a new one must not be the first.
func TestHealOfOneOfSeveralMasters(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 3, 1)
	m.complete(m.instantiation())
	require.Equal(t, []string{"master11", "master12", "master13", "worker21"}, m.nodes())
	for n, healed := range []string{"masterNode-12", "masterNode-11", "masterNode-13"} {
		if n == 1 {
			m.fleet.PowerOff(healed) // the first one is dead
		}
		k := m.complete(m.heal(nil, healed))
		require.Equal(t, []string{"remove-node.yml", "cluster.yml"}, m.played()[1+2*n:])
		require.Contains(t, k.Step("cluster.yml", healed).Detail, "failed=0")
		require.Len(t, m.fleet.Clusters()[0].Members(), 3, "a member of etcd that has gone counts against the majority")
	}
	require.Len(t, m.fleet.Clusters(), 1)
	require.Equal(t, []string{"master14", "master15", "master16", "worker21"}, m.nodes())
	m.balanced([]byte{15, 14, 16}, []byte{21})
	m.complete(m.scale(1, nil, nil))
	require.Equal(t, []string{"master14", "master15", "master16", "worker21", "worker22"}, m.nodes())
}

// A heal of the whole VNF makes a new cluster, with the same directory of the inventory.
func TestHealOfAllMachinesMakesANewCluster(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 1)
	m.complete(m.instantiation())
	before := m.vims[k8scluster.VimID(m.id)].Connection
	m.complete(m.healAll(nil))
	require.Equal(t, []string{"master12", "worker22"}, m.nodes())
	require.Equal(t, []string{"cluster.yml", "cluster.yml"}, m.played())
	require.NotEqual(t, before, m.vims[k8scluster.VimID(m.id)].Connection)
	m.balanced([]byte{12}, []byte{22})
}

// Workers that one operation adds join in one run of the playbooks, and those that it removes leave in one.
func TestWorkersOfAnOperationShareARun(t *testing.T) {
	t.Parallel()
	for _, typ := range []sol.LcmOperationType{sol.LcmOperationScale, sol.LcmOperationScaleToLevel} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			m := newSprayed(t, 1, 1)
			m.complete(m.instantiation())
			k := m.complete(m.resize(typ, 3, nil, nil))
			require.Equal(t, []string{"cluster.yml", "facts.yml", "scale.yml"}, m.played())
			require.Equal(t, []string{"master11", "worker21", "worker22", "worker23", "worker24"}, m.nodes())
			for _, vnfc := range []string{"workerNode-22", "workerNode-23", "workerNode-24"} {
				require.Contains(t, k.Step("scale.yml", vnfc).Detail, "failed=0")
			}
			require.Nil(t, k.Step("scale.yml", "workerNode-21"), "it is a node already")
			m.balanced([]byte{11}, []byte{21, 22, 23, 24})

			k = m.complete(m.resize(typ, 0, []string{"workerNode-22", "workerNode-24"}, nil))
			require.Equal(t, []string{"remove-node.yml"}, m.played()[3:])
			require.Equal(t, []string{"master11", "worker21", "worker23"}, m.nodes())
			require.Contains(t, k.Step("remove-node.yml", "masterNode-11").Detail, "failed=0")
			hosts := m.file("ansible", sprayInventory+"/hosts.yaml")
			require.NotContains(t, hosts, "worker24")
			m.balanced([]byte{11}, []byte{21, 23})
		})
	}
}

// A heal of the whole VNF may name another login of the Ansible host, too.
func TestHealOfAllMachinesWithANewLogin(t *testing.T) {
	t.Parallel()
	m := newSprayed(t, 1, 2)
	m.complete(m.instantiation())
	require.NoError(t, m.fleet.Machine("ansible").FS().WriteFile("/etc/shadow", []byte("ubuntu:changed\n"), 0o600))
	m.complete(m.healAll(map[string]any{"ansible": map[string]any{"password": "changed"}}))
	require.Equal(t, []string{"master12", "worker23", "worker24"}, m.nodes())
	require.Equal(t, []string{"cluster.yml", "cluster.yml"}, m.played(), "both workers join in one run")
}
