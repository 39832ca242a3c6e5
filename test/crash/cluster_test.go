package crash_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// clusterDeaths are the places in the making of a cluster where a node dies: both sides of every boundary between phases, and in
// every kind of step where it begins, has started something, has heard of it, and ends.
func clusterDeaths() []death {
	var out []death
	for _, phase := range []string{"grant", "infra", "inventory", "instantiate_end", ""} {
		out = append(out, death{Nth: 1, Method: "CommitTick", Step: phase}, death{Nth: 1, Method: "CommitTick", Step: phase, After: true})
	}
	for _, step := range []string{"prepare node", "initialise cluster", "join node"} {
		out = append(out,
			death{Nth: 1, Method: "BeginStep", Step: step, After: true},
			death{Nth: 1, Method: "SaveStep", Step: step, After: true},
			death{Nth: 1, Method: "AppendLog", Step: step},
			death{Nth: 1, Method: "AppendLog", Step: step, After: true},
			death{Nth: 1, Method: "EndStep", Step: step},
			death{Nth: 1, Method: "EndStep", Step: step, After: true})
	}
	for _, step := range []string{"prepare node", "join node"} { // when the others are already through
		out = append(out, death{Nth: 2, Method: "EndStep", Step: step}, death{Nth: 3, Method: "AppendLog", Step: step, After: true})
	}
	for _, step := range []string{"upload image", "create stack", "make account", "wait for nodes", "label node"} {
		out = append(out,
			death{Nth: 1, Method: "BeginStep", Step: step, After: true},
			death{Nth: 1, Method: "EndStep", Step: step})
	}
	return out
}

// A node dies in the making of a cluster; the next goes on. No machine is prepared twice, and there is one cluster.
func TestDeathWhileAClusterIsMade(t *testing.T) {
	t.Parallel()
	const lanes = 2
	all := clusterDeaths()
	for n := range lanes {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			database := devpg.TestURL(t)
			cloud, fleet := startMachines(t)
			w := newWorld(t, cloud, database, devpg.Pool(t, database))
			began := time.Now()
			l := &lane{world: w, node: spawn(t, database, w.data)}
			vnfd := w.onboard(l.node.api, clusterSource)
			phases := []string{"grant", "infra", "inventory", "instantiate_end"}
			step := lanes
			if testing.Short() {
				step *= 4
			}
			for i := n; i < len(all); i += step {
				id := w.create(l.node.api, vnfd)
				make := &job{typ: sol.LcmOperationInstantiate, do: w.instantiate(w.cluster("simple")), phases: phases}
				l.run(make, id, all[i])
				require.False(t, make.survived, "there is no such write: %+v", all[i])
				w.oneStack(id)
				w.installedOnce(l.node.api, fleet, id)
				vims, err := l.node.api.Vims(t.Context())
				require.NoError(t, err)
				require.Len(t, vims, 1)
				end := &job{typ: sol.LcmOperationTerminate, do: w.terminate(), phases: []string{"grant", "infra", "terminate_end"}}
				l.run(end, id, death{Nth: 1, Method: "CommitTick", Step: []string{"infra", "terminate_end", ""}[i%3], After: i%2 == 0})
				require.False(t, end.survived)
				w.gone()
				require.Empty(t, fleet.Snapshot())
				vims, err = l.node.api.Vims(t.Context())
				require.NoError(t, err)
				require.Empty(t, vims)
				require.NoError(t, l.node.api.DeleteInstance(t.Context(), id))
			}
			t.Logf("%d deaths in %s; the next node was ready after %s and had finished %s later on average",
				l.deaths, time.Since(began).Round(time.Millisecond), avg(l.ready), avg(l.rest))
		})
	}
}
