package crash_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// A node dies at every single write of an instantiation and of a termination, just before it is made and just after it
// is durable. The next node continues, and the final state shows no trace of the crash.
func TestDeathAtEveryWriteIsSurvived(t *testing.T) {
	t.Parallel()
	every := 1
	if testing.Short() {
		every = 5
	}
	for _, after := range []bool{false, true} {
		t.Run(map[bool]string{false: "before it is made", true: "after it is durable"}[after], func(t *testing.T) {
			t.Parallel()
			database := devpg.TestURL(t)
			w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
			began := time.Now()
			l := &lane{world: w, node: spawn(t, database, w.data)}
			vnfd := w.onboard(l.node.api, plainSource)
			jobs := []*job{
				{typ: sol.LcmOperationInstantiate, do: w.instantiate(w.plain()), phases: []string{
					"grant", "infra", "inventory",
				}},
				{typ: sol.LcmOperationTerminate, do: w.terminate(), phases: []string{"grant", "infra"}},
			}
			for n := 1; slices.ContainsFunc(jobs, func(j *job) bool { return !j.survived }); n += every {
				id := w.create(l.node.api, vnfd)
				for _, j := range jobs {
					l.run(j, id, death{Nth: n, After: after})
					if j.typ == sol.LcmOperationInstantiate {
						w.oneStack(id)
					}
				}
				w.gone()
				require.NoError(t, l.node.api.DeleteInstance(t.Context(), id))
			}
			if every == 1 {
				require.Greater(t, l.deaths, 8, "the test has to kill")
			}
			t.Logf("%d deaths in %s; the next node was ready after %s and had finished %s later on average, %s at most",
				l.deaths, time.Since(began).Round(time.Millisecond), avg(l.ready), avg(l.rest), slices.Max(l.rest))
		})
	}
}

func avg(list []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return (sum / time.Duration(max(len(list), 1))).Round(time.Millisecond)
}

// lane is a row of nodes, each of which goes on where the last one died.
type lane struct {
	*world
	node        *child
	env         []string // settings of its nodes
	deaths      int
	ready, rest []time.Duration
}

// job is one operation that is done again and again with other deaths.
type job struct {
	typ      sol.LcmOperationType
	do       task
	phases   []string
	survived bool // the last death came too late
}

// run has a job done on an instance by a node that dies, and by the next.
func (l *lane) run(j *job, instance string, d death) {
	l.t.Helper()
	if j.survived {
		d = death{}
	}
	last := l.newest(l.node.api, instance, j.typ)
	require.True(l.t, l.node.arm(d))
	op, err := j.do(l.node.api, instance)
	at := fmt.Sprintf("%s, death %+v", j.typ, d)
	if err == nil {
		l.await(op)
	}
	if !l.node.arm(death{}) {
		<-l.node.dead
		l.deaths++
		l.node = spawn(l.t, l.database, l.data, l.env...)
		l.ready = append(l.ready, l.node.ready)
		began := time.Now()
		if op == "" {
			op = l.newest(l.node.api, instance, j.typ)
		}
		if op == last { // it died before anything was written: its user asks again
			require.False(l.t, d.After, at)
			op, err = j.do(l.node.api, instance)
			require.NoError(l.t, err, at)
		}
		l.completed(l.node.api, op)
		l.rest = append(l.rest, time.Since(began))
	} else {
		require.NoError(l.t, err, at)
		j.survived = true
		l.completed(l.node.api, op)
	}
	l.once(op, j.phases...)
}

// await waits until the node is dead or the operation has ended.
func (l *lane) await(op string) {
	l.t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-l.node.dead:
			return
		case <-tick.C:
		}
		o, err := l.node.api.Operation(l.t.Context(), op)
		var away *client.Unreachable
		if err != nil {
			require.ErrorAs(l.t, err, &away)
			continue
		}
		if o.OperationState == sol.LcmOperationStateCompleted || o.OperationState == sol.LcmOperationStateFailedTemp {
			return
		}
	}
}
