package crash_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// Two nodes share the work on many operations, whichever of them was asked. The cloud answers no call until each node
// works on as many operations as it has workers, so that neither can do the work of the other.
func TestTwoNodesShareTheWork(t *testing.T) {
	t.Parallel()
	const workers, many = 5, 10
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	p := w.pair(
		"GYBE_ENGINE_MAX_WORKERS="+strconv.Itoa(workers),
		"GYBE_ENGINE_MAX_PER_VIM="+strconv.Itoa(workers), "GYBE_ENGINE_MAX_PER_PROJECT="+strconv.Itoa(workers),
	)
	vnfd := w.onboard(p.a.api, plainSource)
	rule := w.cloud.AddFault(simcloud.Fault{Kind: fault.Delay, Service: "heat", Delay: simcloud.Duration(time.Minute)})
	var ids, ops []string
	for range many {
		id := w.create(p.a.api, vnfd)
		op, err := w.instantiate(w.plain())(p.a.api, id)
		require.NoError(t, err)
		ids, ops = append(ids, id), append(ops, op)
	}
	require.Eventually(t, func() bool {
		return slices.Equal([]string{"one 5", "two 5"}, w.column(
			"SELECT node || ' ' || count(*) FROM vnf_lcm_op_occ WHERE node <> '' GROUP BY node ORDER BY node",
		))
	}, patience, interval, "each node works on as many operations as it has workers")
	require.True(t, w.cloud.Faults().Remove(rule))
	for i, op := range ops {
		w.completed(p.b.api, op)
		w.once(op, "grant", "infra", "inventory")
		w.oneStack(ids[i])
	}
	for n, id := range ids {
		op, err := w.terminate()(p.b.api, id)
		require.NoError(t, err)
		ops[n] = op
	}
	for _, op := range ops {
		w.completed(p.a.api, op)
	}
	w.gone()
}

// Many clients send the same request at the same time to both nodes: one is admitted, the others get the reason.
func TestOneOfManyRequestsIsAccepted(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	p := w.pair()
	id := w.create(p.a.api, w.onboard(p.a.api, plainSource))
	for _, do := range []task{w.instantiate(w.plain()), w.terminate()} {
		const many = 16
		answers := make(chan error, many)
		ops := make(chan string, many)
		for i := range many {
			go func() {
				op, err := do([]*real{p.a, p.b}[i%2].api, id)
				if err == nil {
					ops <- op
				}
				answers <- err
			}()
		}
		refused := 0
		for range many {
			if err := <-answers; err != nil {
				var e *client.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, 409, e.Status(), "%v", err)
				refused++
			}
		}
		require.Equal(t, many-1, refused)
		w.completed(p.a.api, <-ops)
	}
	w.gone()
}

// PostgreSQL dies in the middle of an operation and comes back after a while. No action is needed.
func TestDatabaseDiesAndComesBack(t *testing.T) {
	t.Parallel()
	pg, err := devpg.Start(t.Context(), devpg.Options{Private: true, Unsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pg.Stop()) })
	cloud, fleet := startMachines(t)
	cloud.MergeTiming(slow())
	pool, err := pgxpool.New(t.Context(), pg.URL())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w := newWorld(t, cloud, pg.URL(), pool)
	p := w.pair()
	vnfd := w.onboard(p.a.api, clusterSource)
	for _, m := range []moment{
		{kind: gybeapi.KindStep, name: "create stack"},
		{kind: gybeapi.KindLog, name: "prepare node"},
		{kind: gybeapi.KindStep, name: "join node"},
	} {
		id := w.create(p.a.api, vnfd)
		op, err := w.instantiate(w.cluster("simple"))(p.a.api, id)
		require.NoError(t, err)
		require.True(t, w.watch(p.a.api, op, m))
		require.NoError(t, pg.Crash())
		require.Eventually(t, func() bool {
			return p.a.api.Ready(t.Context()) != nil && p.b.api.Ready(t.Context()) != nil
		}, patience, interval)
		require.NoError(t, pg.Restart(t.Context()))
		back := time.Now()
		w.completed(p.a.api, op)
		t.Logf("%-8s %-20s crash of the database: done %s after it was back, %d claims", m.kind, m.name,
			time.Since(back).Round(time.Millisecond), w.epoch(op))
		w.once(op, "grant", "infra", "inventory", "instantiate_end")
		w.oneStack(id)
		w.installedOnce(p.a.api, fleet, id)
		op, err = w.terminate()(p.b.api, id)
		require.NoError(t, err)
		w.completed(p.b.api, op)
		w.gone()
	}
}

func (w *world) epoch(op string) int64 {
	n, _ := w.claims(op)
	return n
}

// A node is stopped in the middle of its work without being dead (a paused virtual machine, a debugger), so long that
// the other one takes over. When it wakes up it is not heard any more, and then works as before.
func TestNodeThatWakesUpIsFenced(t *testing.T) {
	if testing.Short() {
		t.Skip("the others wait half a minute before they believe it")
	}
	t.Parallel()
	database := devpg.TestURL(t)
	cloud, fleet := startMachines(t)
	w := newWorld(t, cloud, database, devpg.Pool(t, database))
	cloud.MergeTiming(slow())
	p := w.pair()
	vnfd := w.onboard(p.a.api, clusterSource)
	id := w.create(p.a.api, vnfd)
	op, err := w.instantiate(w.cluster("simple"))(p.a.api, id)
	require.NoError(t, err)
	require.True(t, w.watch(p.a.api, op, moment{kind: gybeapi.KindLog, name: "prepare node"}))
	frozen, other := p.owner(op)
	frozen.freeze()
	epoch, at := w.claims(op)
	took := w.resumed(op, at, epoch)
	w.completed(other.api, op)
	t.Logf("frozen: claimed again after %s", took.Round(time.Millisecond))
	w.once(op, "grant", "infra", "inventory", "instantiate_end")
	w.installedOnce(other.api, fleet, id)
	before, stacks := w.traces(op), cloud.State()
	calls := len(fleet.Journal(w.server(other, id)))

	frozen.thaw()
	require.Eventually(t, func() bool { return frozen.api.Ready(t.Context()) == nil }, patience, interval)
	// It works again, on something else.
	second := w.create(frozen.api, vnfd)
	other.Kill()
	op2, err := w.instantiate(w.cluster("simple"))(frozen.api, second)
	require.NoError(t, err)
	w.completed(frozen.api, op2)
	require.Equal(t, []string{frozen.ID}, w.column("SELECT node FROM vnf_lcm_op_occ WHERE id = $1", op2))

	require.Equal(t, before, w.traces(op), "nothing was written to the operation that it had lost")
	for _, line := range cloud.State().Since(stacks) {
		require.False(t, strings.HasPrefix(line, "- "), line)
	}
	w.oneStack(id)
	require.Len(t, fleet.Journal(w.server(frozen, id)), calls, "and nothing was done to its machines")
	for _, id := range []string{id, second} {
		op, err := w.terminate()(frozen.api, id)
		require.NoError(t, err)
		w.completed(frozen.api, op)
	}
	w.gone()
}

// server is the id of a machine of an instance.
func (w *world) server(n *real, instance string) string {
	w.t.Helper()
	i, err := n.api.Instance(w.t.Context(), instance)
	require.NoError(w.t, err)
	return i.InstantiatedVnfInfo.VnfcResourceInfo[0].ID
}

// traces are all rows that an operation has.
func (w *world) traces(op string) []string {
	w.t.Helper()
	return w.column(`SELECT r::text FROM vnf_lcm_op_occ r WHERE id = $1
		UNION ALL (SELECT r::text FROM lcm_op_phase r WHERE op_id = $1 ORDER BY seq)
		UNION ALL (SELECT r::text FROM lcm_op_step r WHERE op_id = $1 ORDER BY id)
		UNION ALL (SELECT r::text FROM outbox r WHERE op_id = $1 ORDER BY seq)
		UNION ALL (SELECT r::text FROM event r WHERE op_id = $1 ORDER BY tx, seq)
		UNION ALL (SELECT r::text FROM vnf_instance r WHERE id = (SELECT instance_id FROM vnf_lcm_op_occ WHERE id = $1))`, op)
}
