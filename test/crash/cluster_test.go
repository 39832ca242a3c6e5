package crash_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// clusterDeaths are the places in the making of a cluster where a node dies: both sides of every boundary between
// phases, and in every kind of step where it begins, has started something, has heard of it, and ends.
func clusterDeaths() []death {
	out := []death{{Nth: 1, Method: "Admit"}, {Nth: 1, Method: "Admit", After: true}}
	for _, phase := range []string{"infra", "instantiate_end", ""} { // the others have no commit of their own
		out = append(out, death{Nth: 1, Method: "CommitTick", Step: phase},
			death{Nth: 1, Method: "CommitTick", Step: phase, After: true})
	}
	out = append(out, death{Nth: 2, Method: "CommitTick", Step: "infra"},
		death{Nth: 1, Method: "EndStep", Step: "create stack", After: true})
	for _, step := range []string{"prepare node", "initialise cluster", "join node"} {
		out = append(out,
			death{Nth: 1, Method: "BeginStep", Step: step, After: true},
			death{Nth: 1, Method: "SaveStep", Step: step, After: true},
			death{Nth: 1, Method: "AppendLog", Step: step},
			death{Nth: 1, Method: "AppendLog", Step: step, After: true},
			death{Nth: 1, Method: "EndStep", Step: step},
			death{Nth: 1, Method: "EndStep", Step: step, After: true})
	}
	// when the others are already through; each of three nodes and two that join writes at least one log
	out = append(out,
		death{Nth: 2, Method: "EndStep", Step: "prepare node"},
		death{Nth: 3, Method: "AppendLog", Step: "prepare node", After: true},
		death{Nth: 2, Method: "EndStep", Step: "join node"},
		death{Nth: 2, Method: "AppendLog", Step: "join node", After: true})
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
	const lanes = 4
	const terminations = 12 // that a node dies in: each of six places twice
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
				params := w.cluster("simple")
				if n%2 == 1 { // so that the VNFM makes a key for the machines
					withoutPasswords(params)
				}
				make := &job{typ: sol.LcmOperationInstantiate, do: w.instantiate(params), phases: phases}
				l.run(make, id, all[i])
				require.False(t, make.survived, "there is no such write: %+v", all[i])
				w.oneStack(id)
				w.installedOnce(l.node.api, fleet, id)
				vims, err := l.node.api.Vims(t.Context())
				require.NoError(t, err)
				require.Len(t, vims, 1)
				disturbed := i < terminations
				end := &job{
					typ: sol.LcmOperationTerminate, do: w.terminate(),
					phases: []string{"grant", "infra", "terminate_end"}, survived: !disturbed,
				}
				l.run(end, id, death{
					Nth: 1, Method: "CommitTick", Step: []string{"infra", "terminate_end", ""}[i%3], After: i%2 == 0,
				})
				require.Equal(t, !disturbed, end.survived)
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

// withoutPasswords takes every way to log in out of the parameters of a cluster.
func withoutPasswords(params map[string]any) {
	additional, _ := params["additionalParams"].(map[string]any)
	install, _ := additional["k8s_cluster_installation_param"].(map[string]any)
	for _, role := range []string{"master_node", "worker_node"} {
		m, _ := install[role].(map[string]any)
		delete(m, "password")
	}
}

// fading is a cluster whose nodes of the VNFM die while it changes.
type fading struct {
	*lane
	fleet *machine.Fleet
}

// scaled is a scaling of the workers by two.
func (f *fading) scaled(typ sol.ScaleType) task {
	return f.asks(sol.LcmOperationScale, func(*client.Client, string) any {
		return sol.ScaleVnfRequest{Type: typ, AspectID: "workerNode_scale", NumberOfSteps: 2}
	})
}

// healed is a heal of the first VNFC of a VDU; its machine is dead, or as well as ever.
func (f *fading) healed(vdu string, dead bool) task {
	return f.asks(sol.LcmOperationHeal, func(api *client.Client, instance string) any {
		i, err := api.Instance(f.t.Context(), instance)
		require.NoError(f.t, err)
		r := i.InstantiatedVnfInfo.VnfcResourceInfo[slices.IndexFunc(
			i.InstantiatedVnfInfo.VnfcResourceInfo, func(r sol.VnfcResourceInfo) bool { return r.VduID == vdu },
		)]
		if dead {
			f.fleet.PowerOff(r.ComputeResource.ResourceID)
		}
		v := slices.IndexFunc(
			i.InstantiatedVnfInfo.VnfcInfo, func(v sol.VnfcInfo) bool { return v.VnfcResourceInfoID == r.ID },
		)
		return sol.HealVnfRequest{VnfcInstanceID: []string{i.InstantiatedVnfInfo.VnfcInfo[v].ID}}
	})
}

// rebuilt is a heal of everything.
func (f *fading) rebuilt() task {
	return f.asks(sol.LcmOperationHeal, func(*client.Client, string) any {
		return sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}}
	})
}

func (f *fading) asks(typ sol.LcmOperationType, body func(*client.Client, string) any) task {
	return func(api *client.Client, instance string) (string, error) {
		return api.Start(f.t.Context(), instance, typ, body(api, instance))
	}
}

// A node dies while a cluster grows, shrinks or is healed, at a write of any kind. The next goes on: no machine joins
// twice, nothing that was done to one is done again, etcd counts every master once.
func TestDeathWhileAClusterChanges(t *testing.T) {
	t.Parallel()
	scale := []string{"grant", "scale_start", "infra", "inventory", "scale_end"}
	heal := []string{"grant", "heal_start", "infra", "inventory", "heal_end"}
	for scenario, tt := range []struct {
		name, flavour string
		jobs          func(f *fading) []*job
	}{
		{"workers come and go", "simple", func(f *fading) []*job {
			return []*job{
				{typ: sol.LcmOperationScale, do: f.scaled(sol.ScaleTypeOut), phases: scale},
				{typ: sol.LcmOperationScale, do: f.scaled(sol.ScaleTypeIn), phases: scale},
			}
		}},
		{"a worker is healed", "simple", func(f *fading) []*job {
			return []*job{
				{typ: sol.LcmOperationHeal, do: f.healed("workerNode", true), phases: heal},
				{typ: sol.LcmOperationHeal, do: f.healed("workerNode", false), phases: heal},
			}
		}},
		{"a master is healed", "complex", func(f *fading) []*job {
			return []*job{{typ: sol.LcmOperationHeal, do: f.healed("masterNode", true), phases: heal}}
		}},
		{"the storage server is healed", "storage", func(f *fading) []*job {
			return []*job{{typ: sol.LcmOperationHeal, do: f.healed("storage_server", false), phases: heal}}
		}},
		{"everything is healed", "storage", func(f *fading) []*job {
			return []*job{{typ: sol.LcmOperationHeal, do: f.rebuilt(), phases: heal}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			database := devpg.TestURL(t)
			cloud, fleet := startMachines(t)
			w := newWorld(t, cloud, database, devpg.Pool(t, database))
			f := &fading{&lane{world: w, node: spawn(t, database, w.data)}, fleet}
			id := w.create(f.node.api, w.onboard(f.node.api, clusterSource))
			f.run(&job{
				typ: sol.LcmOperationInstantiate, do: w.instantiate(w.cluster(tt.flavour)),
				phases: []string{"grant", "infra", "inventory", "instantiate_end"}, survived: true,
			}, id, death{})
			w.healthy(f.node.api, fleet, id)

			jobs := tt.jobs(f)
			first, every := clusterStride(scenario)
			for n := first; slices.ContainsFunc(jobs, func(j *job) bool { return !j.survived }); n += every {
				for _, j := range jobs {
					f.run(j, id, death{Nth: (n + 1) / 2, After: n%2 == 0})
					w.oneStack(id)
					w.healthy(f.node.api, fleet, id)
					w.changedOnce(f.node.api, fleet, id, f.newest(f.node.api, id, j.typ))
				}
			}
			t.Logf("%d deaths; the next node had finished %s later on average", f.deaths, avg(f.rest))
			require.Positive(t, f.deaths)
			op, err := w.terminate()(f.node.api, id)
			require.NoError(t, err)
			w.completed(f.node.api, op)
			w.gone()
			require.Empty(t, fleet.Snapshot())
		})
	}
}

// A scaling out fails when its machines have been prepared, its user rolls it back, and a node dies in between: the
// cluster is as before, and knows nothing of nodes whose machines are gone.
func TestDeathWhileAClusterIsRolledBack(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	cloud, fleet := startMachines(t)
	d := &ward{world: newWorld(t, cloud, database, devpg.Pool(t, database))}
	d.spawn()
	id := d.create(d.node.api, d.onboard(d.node.api, clusterSource))
	op, err := d.instantiate(d.cluster("simple"))(d.node.api, id)
	require.NoError(t, err)
	d.completed(d.node.api, op)
	before := servers(d.instance(id))
	first, every := clusterStride(0)
	for n, died := first, true; died; n += every {
		fleet.Fail("", machine.Failure{
			Command: "kubeadm join", Stderr: "error execution phase kubelet-start: the disk is full",
		})
		op, err := d.node.api.Start(t.Context(), id, sol.LcmOperationScale, sol.ScaleVnfRequest{
			Type: sol.ScaleTypeOut, AspectID: "workerNode_scale", NumberOfSteps: 2,
		})
		require.NoError(t, err)
		d.rests(d.node.api, op, sol.LcmOperationStateFailedTemp)
		fleet.ClearFailures("")
		died = d.steered(op, death{Nth: (n + 1) / 2, After: n%2 == 0}, func(api *client.Client) error {
			return api.Rollback(t.Context(), op)
		})
		d.rests(d.node.api, op, sol.LcmOperationStateRolledBack)
		d.healthy(d.node.api, fleet, id)
		require.Equal(t, before, servers(d.instance(id)))
		require.ElementsMatch(t, slices.Collect(maps.Values(before)), d.running())
	}
	t.Logf("%d deaths", d.deaths)
	require.Positive(t, d.deaths)
	d.down(id)
}
