package crash_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// moment is something that can be seen of an operation from outside.
type moment struct {
	kind string // of the event
	name string // of the phase or step
	done bool   // at its end
}

// seen reports whether an event is the moment.
func (m moment) seen(e gybeapi.Event) bool {
	if e.Kind != m.kind {
		return false
	}
	var body struct{ Name, State string }
	if json.Unmarshal(e.Body, &body) != nil || body.Name != m.name {
		return false
	}
	return (body.State == "DONE") == m.done
}

// watch follows an operation's events until the moment comes; false when the operation comes to rest before.
func (w *world) watch(api *client.Client, op string, m moment) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for e, err := range api.Events(ctx, client.EventQuery{OpID: op, After: client.FromStart}) {
		require.NoError(w.t, err)
		if m.seen(e) {
			return true
		}
		var s gybeapi.OperationState
		if e.Kind == gybeapi.KindOperationState && json.Unmarshal(e.Body, &s) == nil &&
			s.State == sol.LcmOperationStateCompleted {
			return false
		}
	}
	return false
}

// slow lets things take long enough to be interrupted.
func slow() simcloud.Timing {
	ms := func(n int) simcloud.Duration { return simcloud.Duration(time.Duration(n) * time.Millisecond) }
	return simcloud.Timing{
		Create:   map[string]simcloud.Duration{"OS::Nova::Server": ms(300)},
		Delete:   map[string]simcloud.Duration{"OS::Nova::Server": ms(300)},
		Machines: map[string]simcloud.Duration{"prepare": ms(300), "init": ms(300), "join": ms(300)},
	}
}

const (
	// promised is how soon a node goes on after a kill. bound is the limit of the tests, which holds on a busy machine
	// as well: it is less than the time after which a node counts as dead that does not answer (half a minute).
	promised = 3 * time.Second
	bound    = 20 * time.Second
)

// kill -9 at the begin of every phase and in the middle of every long step of a cluster's life: the other node goes on.
func TestKillAtEveryPhase(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	cloud, fleet := startMachines(t)
	w := newWorld(t, cloud, database, devpg.Pool(t, database))
	cloud.MergeTiming(slow())
	p := w.pair()
	vnfd := w.onboard(p.a.api, clusterSource)
	moments := []moment{
		{kind: gybeapi.KindOperationState}, // the admission
		{kind: gybeapi.KindPhase, name: "infra"},
		{kind: gybeapi.KindStep, name: "create stack", done: true}, // in the inventory
		{kind: gybeapi.KindPhase, name: "instantiate_end"},
		{kind: gybeapi.KindLog, name: "prepare node"},
		{kind: gybeapi.KindStep, name: "initialise cluster"},
		{kind: gybeapi.KindLog, name: "initialise cluster"},
		{kind: gybeapi.KindStep, name: "join node"},
		{kind: gybeapi.KindLog, name: "join node"},
		{kind: gybeapi.KindStep, name: "wait for nodes"},
	}
	ends := []moment{
		{kind: gybeapi.KindOperationState},
		{kind: gybeapi.KindPhase, name: "infra"},
		{kind: gybeapi.KindStep, name: "delete stack"},
		{kind: gybeapi.KindPhase, name: "terminate_end"},
	}
	if testing.Short() {
		moments, ends = moments[:5], ends[:2]
	}
	for n, m := range moments {
		id := w.create(p.a.api, vnfd)
		p.killed(w.instantiate(w.cluster("simple")), id, m, "grant", "infra", "inventory", "instantiate_end")
		w.oneStack(id)
		w.installedOnce(p.a.api, fleet, id)
		if n < len(ends) {
			p.killed(w.terminate(), id, ends[n], "grant", "infra", "terminate_end")
		} else {
			op, err := w.terminate()(p.b.api, id)
			require.NoError(t, err)
			w.completed(p.b.api, op)
		}
		w.gone()
	}
	t.Logf("%d kills; at worst it was claimed again after %s (promised: %s)", len(moments)+len(ends),
		p.worst.Round(time.Millisecond), promised)
}

// The same with three masters, whose etcd must not count a member twice.
func TestKillWhileAHighlyAvailableClusterIsMade(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	cloud, fleet := startMachines(t)
	w := newWorld(t, cloud, database, devpg.Pool(t, database))
	cloud.MergeTiming(slow())
	p := w.pair()
	vnfd := w.onboard(p.a.api, clusterSource)
	for _, m := range []moment{
		{kind: gybeapi.KindLog, name: "initialise cluster"},
		{kind: gybeapi.KindStep, name: "join node"},
		{kind: gybeapi.KindLog, name: "join node"},
	} {
		id := w.create(p.a.api, vnfd)
		p.killed(w.instantiate(w.cluster("complex")), id, m, "grant", "infra", "inventory", "instantiate_end")
		w.installedOnce(p.a.api, fleet, id)
		op, err := w.terminate()(p.b.api, id)
		require.NoError(t, err)
		w.completed(p.b.api, op)
		w.gone()
	}
	t.Logf("at worst it was claimed again after %s", p.worst.Round(time.Millisecond))
}

// killed has a job done; at the moment its node is killed, and started again when the other one has finished.
func (p *pair) killed(do task, id string, m moment, phases ...string) {
	t, w := p.t, p.world
	t.Helper()
	op, err := do(p.a.api, id)
	require.NoError(t, err)
	require.True(t, w.watch(p.a.api, op, m), "%+v was not seen", m)
	owner, other := p.owner(op)
	owner.Kill()
	epoch, died := w.claims(op)
	defer owner.restart()
	if state := w.column("SELECT state FROM vnf_lcm_op_occ WHERE id = $1", op)[0]; state == "COMPLETED" {
		t.Logf("%-8s %-20s killed too late, which is no less allowed", m.kind, m.name)
		w.once(op, phases...)
		return
	}
	took := w.resumed(op, died, epoch)
	if took < 0 {
		t.Logf("%-8s %-20s killed too late, which is no less allowed", m.kind, m.name)
		w.once(op, phases...)
		return
	}
	began := time.Now()
	w.completed(other.api, op)
	t.Logf("%-8s %-20s killed: claimed again after %s, done %s later", m.kind, m.name, took.Round(time.Millisecond),
		time.Since(began).Round(time.Millisecond))
	p.worst = max(p.worst, took)
	require.Less(t, took, bound)
	require.Equal(t, []string{other.ID}, w.column("SELECT node FROM vnf_lcm_op_occ WHERE id = $1", op))
	w.once(op, phases...)
}

// There is only one node. It is killed, started again, and goes on.
func TestTheSameNodeGoesOn(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	cloud, fleet := startMachines(t)
	w := newWorld(t, cloud, database, devpg.Pool(t, database))
	cloud.MergeTiming(slow())
	n := w.serve("alone")
	vnfd := w.onboard(n.api, clusterSource)
	for _, m := range []moment{
		{kind: gybeapi.KindStep, name: "create stack"},
		{kind: gybeapi.KindLog, name: "prepare node"},
		{kind: gybeapi.KindStep, name: "join node"},
	} {
		id := w.create(n.api, vnfd)
		op, err := w.instantiate(w.cluster("simple"))(n.api, id)
		require.NoError(t, err)
		require.True(t, w.watch(n.api, op, m))
		n.Kill()
		epoch, died := w.claims(op)
		n.restart()
		took := w.resumed(op, died, epoch)
		t.Logf("%-8s %-20s killed: ready again after %s, claimed again after %s", m.kind, m.name,
			n.Ready.Round(time.Millisecond), took.Round(time.Millisecond))
		require.Less(t, took, bound)
		w.completed(n.api, op)
		w.once(op, "grant", "infra", "inventory", "instantiate_end")
		w.installedOnce(n.api, fleet, id)
		op, err = w.terminate()(n.api, id)
		require.NoError(t, err)
		w.completed(n.api, op)
		w.gone()
	}
}
