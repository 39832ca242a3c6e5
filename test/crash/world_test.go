package crash_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	sshPort       = 2222
	plainSource   = "../packages/plain"
	clusterSource = "../../vnf-packages/kubernetes-cluster"
)

// world is a database and a cloud, on which nodes come and go.
type world struct {
	t        *testing.T
	cloud    *simcloud.Cloud
	before   simcloud.State
	database string
	pool     *pgxpool.Pool
	data     string
}

func newWorld(t *testing.T, cloud *simcloud.Cloud, database string, pool *pgxpool.Pool) *world {
	t.Helper()
	data := t.TempDir()
	require.NoError(t, os.Chmod(data, 0o700)) // a node keeps others out of its directory
	return &world{t: t, cloud: cloud, before: cloud.State(), database: database, pool: pool, data: data}
}

var building sync.Mutex

// onboard builds and uploads the package of a source tree and returns its vnfdId.
func (w *world) onboard(api *client.Client, source string) string {
	w.t.Helper()
	archive := filepath.Join(w.t.TempDir(), filepath.Base(source)+".zip")
	building.Lock()
	err := stack.BuildPackage(w.t.Context(), source, archive)
	building.Unlock()
	require.NoError(w.t, err)
	vnfd, err := stack.Onboard(w.t.Context(), api, archive)
	require.NoError(w.t, err)
	return vnfd
}

func (w *world) create(api *client.Client, vnfd string) string {
	w.t.Helper()
	i, err := api.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
	require.NoError(w.t, err)
	return i.ID
}

// task is what is asked of a node: to instantiate or terminate an instance. It returns the operation's id.
type task func(api *client.Client, instance string) (string, error)

func (w *world) instantiate(params any) task {
	raw, err := json.Marshal(params)
	require.NoError(w.t, err)
	return func(api *client.Client, instance string) (string, error) {
		return api.Instantiate(w.t.Context(), instance, raw)
	}
}

func (w *world) terminate() task {
	return func(api *client.Client, instance string) (string, error) {
		return api.Terminate(
			w.t.Context(), instance, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful},
		)
	}
}

// plain is the request for the plain package.
func (w *world) plain() map[string]any { return stack.PlainParams("default", "", w.cloud.Info()) }

// cluster is a parameter file of the cluster package, with the names of this cloud in it.
func (w *world) cluster(flavour string) map[string]any {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), flavour+".json")
	require.NoError(w.t, stack.LocalParams(
		filepath.Join(clusterSource, "params", flavour+"_kubernetes_param_file_v2.json"), file, w.cloud.Info(),
	))
	raw, err := os.ReadFile(file)
	require.NoError(w.t, err)
	var p map[string]any
	require.NoError(w.t, json.Unmarshal(raw, &p))
	return p
}

// active finds the operation that holds an instance; "" when none does.
func (w *world) newest(api *client.Client, instance string, typ sol.LcmOperationType) string {
	w.t.Helper()
	ops, err := api.Operations(w.t.Context(), "(eq,vnfInstanceId,"+instance+");(eq,operation,"+string(typ)+")", false)
	require.NoError(w.t, err)
	if len(ops) == 0 {
		return ""
	}
	return ops[len(ops)-1].ID
}

// Waits of the tests. A test waits for a condition; patience only ends a test whose condition never becomes true, also
// on a busy machine. A look costs the node a request and the database a query.
const (
	interval = 50 * time.Millisecond
	patience = 5 * time.Minute
)

// completed waits until an operation has ended well.
func (w *world) completed(api *client.Client, op string) {
	w.t.Helper()
	var o *sol.VnfLcmOpOcc
	deadline := time.Now().Add(patience)
	for tick := time.NewTicker(interval); ; <-tick.C {
		var err error
		o, err = api.Operation(w.t.Context(), op)
		var away *client.Unreachable
		if err != nil && !errors.As(err, &away) {
			var e *client.Error
			require.ErrorAs(w.t, err, &e)
			require.Equal(w.t, 503, e.Status(), "%v", err)
		}
		if err == nil && (o.OperationState == sol.LcmOperationStateCompleted ||
			o.OperationState == sol.LcmOperationStateFailedTemp ||
			o.OperationState == sol.LcmOperationStateRolledBack) {
			tick.Stop()
			break
		}
		if time.Now().After(deadline) {
			p, err := api.Progress(w.t.Context(), op, "", 0)
			require.NoError(w.t, err)
			at, err := json.Marshal(p)
			require.NoError(w.t, err)
			require.Fail(w.t, "the operation is not done in time", "%s", at)
		}
	}
	require.Equal(w.t, sol.LcmOperationStateCompleted, o.OperationState, "%+v", o.Error)
}

// once checks that a completed operation has the same history as an uninterrupted one: each state, phase and step once.
func (w *world) once(op string, phases ...string) {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), "SELECT body FROM outbox WHERE op_id = $1 ORDER BY seq", op)
	require.NoError(w.t, err)
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	require.NoError(w.t, err)
	var notified []string
	for _, b := range bodies {
		var n sol.VnfLcmOperationOccurrenceNotification
		require.NoError(w.t, json.Unmarshal(b, &n))
		notified = append(notified, string(n.OperationState))
	}
	require.Equal(w.t, []string{"STARTING", "PROCESSING", "COMPLETED"}, notified, "one notification per state")
	require.Equal(w.t, notified, w.column(
		"SELECT body->>'state' FROM event WHERE op_id = $1 AND kind = 'op.state' ORDER BY tx, seq", op,
	), "the walk through the states")
	require.Equal(w.t, phases, w.column("SELECT name FROM lcm_op_phase WHERE op_id = $1 ORDER BY seq", op),
		"each phase once, in their order")
	require.Empty(w.t, w.column(
		"SELECT name FROM lcm_op_phase WHERE op_id = $1 AND (state <> 'DONE' OR finished IS NULL OR error IS NOT NULL)",
		op,
	))
	require.Equal(
		w.t, phases,
		w.column(
			"SELECT body->>'name' FROM event WHERE op_id = $1 AND kind = 'op.phase' AND body->>'state' = 'DONE' "+
				"ORDER BY tx, seq",
			op,
		),
		"each is finished once",
	)
	require.Empty(w.t, w.column("SELECT name FROM lcm_op_step WHERE op_id = $1 AND state <> 'DONE'", op))
	finished := w.column(
		"SELECT body->>'name' || ' ' || (body->>'target') FROM event WHERE op_id = $1 AND kind = 'op.step' AND "+
			"body->>'state' = 'DONE' AND (body->>'finished')::timestamptz = time ORDER BY 1",
		op,
	)
	require.Equal(w.t, slices.Compact(slices.Clone(finished)), finished, "each step is finished once")
	require.Len(w.t, finished, len(w.column("SELECT name FROM lcm_op_step WHERE op_id = $1", op)))
}

// column reads one column of text.
func (w *world) column(sql string, args ...any) []string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), sql, args...)
	require.NoError(w.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	return out
}

// oneStack checks that an instance has exactly one stack, whole: made in one go, or repaired.
func (w *world) oneStack(instance string) {
	w.t.Helper()
	tops := 0
	for _, s := range w.cloud.State()["stacks"] {
		if s.Name == "vnf-"+instance {
			tops++
		}
		if strings.HasPrefix(s.Name, "vnf-"+instance) {
			require.Contains(w.t, []string{"CREATE_COMPLETE", "UPDATE_COMPLETE"}, s.Status, s.Name)
		}
	}
	require.Equal(w.t, 1, tops)
}

// gone checks that the cloud holds what it held in the beginning.
func (w *world) gone() {
	w.t.Helper()
	require.Empty(w.t, w.cloud.State().Since(w.before))
}
