package k8scluster_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// round is a sequence of operations that can be repeated on the same instance. Each operation is given to work with the
// playbooks that it runs and the nodes that it leaves.
type round func(m *sprayed, work func(k *mgmttest.Task, books, nodes []string))

// A node of the VNFM can die at every write of an operation and of a rollback; its successor goes on. A playbook that
// runs goes on too: it is neither stopped nor started again. With GYBE_FULL=1 nodes die at every write, else mostly at
// every fifth.
func TestPlaybooksRunOnceWhereverANodeDies(t *testing.T) {
	t.Parallel()
	remove, join := []string{"remove-node.yml"}, []string{"facts.yml", "scale.yml"}
	for name, tt := range map[string]struct {
		masters int
		made    bool // the cluster is there before
		// rollback: the operation is then rolled back, and nodes die only at the writes of the rollback.
		rollback bool
		round    round
	}{
		"instantiate and terminate": {1, false, false, func(m *sprayed, work func(*mgmttest.Task, []string, []string)) {
			m.next["masterNode"], m.next["workerNode"] = 11, 21
			work(m.instantiation(), []string{"cluster.yml"}, []string{"master11", "worker21"})
			work(m.termination("GRACEFUL"), nil, nil)
		}},
		"scale out and in": {1, true, false, func(m *sprayed, work func(*mgmttest.Task, []string, []string)) {
			m.next["workerNode"] = 22
			work(m.scale(1, nil, nil), join, []string{"master11", "worker21", "worker22"})
			work(m.scale(0, []string{"workerNode-22"}, nil), remove, []string{"master11", "worker21"})
		}},
		"heal a worker": {1, true, false, func(m *sprayed, work func(*mgmttest.Task, []string, []string)) {
			m.next["workerNode"] = map[bool]byte{true: 22, false: 21}[m.machine("workerNode-21") == "workerNode-21"]
			healed := map[byte]string{21: "worker21", 22: "worker22"}[m.next["workerNode"]]
			work(m.heal(nil, "workerNode-21"), append(slices.Clone(remove), join...), []string{"master11", healed})
		}},
		"heal the first master": {3, true, false, func(m *sprayed, work func(*mgmttest.Task, []string, []string)) {
			m.next["masterNode"] = map[bool]byte{true: 14, false: 11}[m.machine("masterNode-11") == "masterNode-11"]
			healed := map[byte]string{11: "master11", 14: "master14"}[m.next["masterNode"]]
			work(m.heal(nil, "masterNode-11"), append(slices.Clone(remove), "cluster.yml"),
				slices.Sorted(slices.Values([]string{healed, "master12", "master13", "worker21"})))
		}},
		"roll an instantiation back": {1, false, true, func(m *sprayed, work func(*mgmttest.Task, []string, []string)) {
			m.next["masterNode"], m.next["workerNode"] = 11, 21
			m.fleet.ClearFailures("workerNode-21")
			m.fleet.Fail("workerNode-21", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
			k := m.instantiation()
			k.Fail(m.t)
			require.True(m.t, m.claimed())
			work(k, nil, nil)
			require.Empty(m.t, m.there.Inventory)
		}},
		"roll a scaling out back": {1, true, true, func(m *sprayed, work func(*mgmttest.Task, []string, []string)) {
			m.next["workerNode"] = 22
			k := m.scale(2, nil, nil)
			k.Complete(m.t)
			work(k, remove, []string{"master11", "worker21"})
			m.balanced([]byte{11}, []byte{21})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSprayed(t, tt.masters, 1)
			if tt.made {
				m.complete(m.instantiation())
			}
			step := 5 // an odd number: deaths are before and after a write in turn
			switch {
			case os.Getenv("GYBE_FULL") != "", tt.rollback && !tt.made: // that rollback has few writes
				step = 1
			case testing.Short():
				step = 15
			}
			deaths := 0
			for at := 1; ; at += step {
				survived := true
				tt.round(m, func(k *mgmttest.Task, books, nodes []string) {
					before := len(m.played())
					k.DieAt, k.DieAfter = k.Writes()+at, at%2 == 0
					if tt.rollback {
						k.RollBack(t)
						m.remember(k)
					} else {
						m.complete(k)
					}
					deaths += k.Deaths()
					survived = survived && k.Deaths() == 0
					require.Equal(t, books, append([]string(nil), m.played()[before:]...), "death at write %d", at)
					if nodes == nil {
						require.Empty(t, m.vims, "death at write %d", at)
						require.False(t, m.claimed(), "death at write %d", at)
						return
					}
					require.Equal(t, nodes, m.nodes(), "death at write %d", at)
				})
				if survived {
					break
				}
			}
			require.Positive(t, deaths)
			t.Logf("%d deaths", deaths)
		})
	}
}
