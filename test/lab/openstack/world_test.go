package openstack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/stack"
	"github.com/gybe-nfv/gybe/test/subscriber"
)

// patience is how long an operation may take on a machine of two cores that does other things, too.
const patience = 4 * time.Minute

// world is one or more compiled gybe nodes on a database of their own, in front of the lab.
type world struct {
	t          *testing.T
	lab        *lab
	cloud      *cloud
	before     everything
	database   string
	data       string
	pool       *pgxpool.Pool // to look at raw rows
	subscriber *subscriber.Subscriber
	nodes      []*stack.Node
	api        *client.Client // of the first node
	instances  *[]string
	vnfds      map[string]string // by the name of their package
}

// start starts nodes; env is added to their environment. The test ends when it has got all notifications about its
// requests.
func start(t *testing.T, nodes int, env ...string) *world {
	t.Helper()
	l := running(t)
	w := &world{
		t: t, lab: l, database: devpg.TestURL(t), data: t.TempDir(), instances: &[]string{}, vnfds: map[string]string{},
		subscriber: subscriber.Start(t),
	}
	w.pool = devpg.Pool(t, w.database)
	w.cloud = l.connect(t, l.vars["OS_USERNAME"], l.vars["OS_PROJECT_NAME"])
	w.before = w.cloud.look(t)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, id := range *w.instances {
			w.cloud.clear(t, id)
		}
	})
	for i := range nodes {
		w.serve("node-"+strconv.Itoa(i+1), env...)
	}
	return w
}

// serve starts one more node; it ends with the test.
func (w *world) serve(name string, env ...string) *stack.Node {
	w.t.Helper()
	bin, err := binaries()
	require.NoError(w.t, err)
	log, err := os.Create(filepath.Join(w.data, name+".log"))
	require.NoError(w.t, err)
	n, err := stack.StartNode(w.t.Context(), stack.NodeOptions{
		Bin: bin, ID: name, Database: w.database, Data: filepath.Join(w.data, "content"), SSHPort: 22, Log: log,
		Env: env,
	})
	require.NoError(w.t, err)
	t := w.t
	t.Cleanup(func() {
		n.Kill()
		if t.Failed() {
			tail(t, log.Name())
		}
		_ = log.Close()
	})
	w.nodes = append(w.nodes, n)
	if w.api == nil {
		w.api, err = client.New(n.URL, w.subscriber.Client())
		require.NoError(w.t, err)
		w.subscriber.Subscribe(n.URL)
	}
	return n
}

// tail shows the end of a node's log.
func tail(t *testing.T, file string) {
	t.Helper()
	const shown = 40 // lines
	raw, err := os.ReadFile(file)
	if err != nil {
		return
	}
	lines := slices.DeleteFunc(
		strings.Split(string(raw), "\n"), func(l string) bool { return strings.Contains(l, "msg=request ") },
	)
	t.Logf("the end of %s:\n%s", filepath.Base(file), strings.Join(lines[max(0, len(lines)-shown):], "\n"))
}

// in is the same world for a part of the test.
func (w *world) in(t *testing.T) *world {
	t.Helper()
	c := *w
	c.t = t
	return &c
}

// create makes an instance of a VNFD.
func (w *world) create(vnfd string) string {
	w.t.Helper()
	i, err := w.api.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: vnfd, VnfInstanceName: w.t.Name()})
	require.NoError(w.t, err)
	*w.instances = append(*w.instances, i.ID)
	return i.ID
}

// instantiate starts an instantiation.
func (w *world) instantiate(id string, req sol.InstantiateVnfRequest) string {
	w.t.Helper()
	op, err := w.api.Instantiate(w.t.Context(), id, encode(w.t, req))
	require.NoError(w.t, err)
	return op
}

// up makes an instance that is INSTANTIATED.
func (w *world) up(vnfd string, req sol.InstantiateVnfRequest) string {
	w.t.Helper()
	id := w.create(vnfd)
	w.completed(w.instantiate(id, req))
	return id
}

func (w *world) terminate(id string) string {
	w.t.Helper()
	op, err := w.api.Terminate(w.t.Context(), id, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
	require.NoError(w.t, err)
	return op
}

// down terminates an instance, deletes it and wants nothing to be left of it.
func (w *world) down(id string) {
	w.t.Helper()
	w.completed(w.terminate(id))
	w.discard(id)
}

// discard deletes an instance that is not instantiated and wants nothing to be left.
func (w *world) discard(id string) {
	w.t.Helper()
	require.NoError(w.t, w.api.DeleteInstance(w.t.Context(), id))
	w.clean()
}

// clean wants the cloud to hold what it held before. Heat and Nova say that something is deleted a moment before it is
// gone.
func (w *world) clean() {
	w.t.Helper()
	var left []string
	for range 20 {
		if left = w.cloud.look(w.t).since(w.before); len(left) == 0 {
			return
		}
		pause(w.t.Context(), 500*time.Millisecond)
	}
	require.Empty(w.t, left)
}

// instance reads an instance.
func (w *world) instance(id string) *sol.VnfInstance {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	return i
}

// operation reads an operation; a node that was killed may be away for a moment.
func (w *world) operation(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	o, err := w.api.Operation(w.t.Context(), op)
	if away := (*client.Unreachable)(nil); errors.As(err, &away) {
		return &sol.VnfLcmOpOcc{ID: op, OperationState: sol.LcmOperationStateProcessing}
	}
	require.NoError(w.t, err)
	return o
}

// resting is how an operation ended, or stopped for its user to decide.
func (w *world) resting(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	for began := time.Now(); time.Since(began) < patience; pause(w.t.Context(), 200*time.Millisecond) {
		switch o := w.operation(op); o.OperationState {
		case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
		default:
			w.t.Logf("%s %s after %.1f s", o.Operation, o.OperationState, o.StateEnteredTime.Sub(o.StartTime).Seconds())
			return o
		}
	}
	w.tell(op)
	require.Fail(w.t, "the operation does not come to rest")
	return nil
}

// completed waits for an operation that must succeed.
func (w *world) completed(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	o := w.resting(op)
	if o.OperationState != sol.LcmOperationStateCompleted {
		w.tell(op)
	}
	require.Equal(w.t, sol.LcmOperationStateCompleted, o.OperationState, "%+v", o.Error)
	return o
}

// failed waits for an operation that must fail for now, with an error that says one of each of the words.
func (w *world) failed(op string, words ...string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	o := w.resting(op)
	require.Equal(w.t, sol.LcmOperationStateFailedTemp, o.OperationState)
	require.NotNil(w.t, o.Error)
	w.t.Logf("error: %d %s: %s", o.Error.Status, o.Error.Title, o.Error.Detail)
	for _, word := range words {
		require.Contains(w.t, o.Error.Detail, word)
	}
	return o
}

// rolledBack rolls an operation back and waits for it.
func (w *world) rolledBack(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	require.NoError(w.t, w.api.Rollback(w.t.Context(), op))
	o := w.resting(op)
	if o.OperationState != sol.LcmOperationStateRolledBack {
		w.tell(op)
	}
	require.Equal(w.t, sol.LcmOperationStateRolledBack, o.OperationState, "%+v", o.Error)
	return o
}

// retried retries an operation that must succeed this time.
func (w *world) retried(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	require.NoError(w.t, w.api.Retry(w.t.Context(), op))
	return w.completed(op)
}

// tell logs all that is known of an operation.
func (w *world) tell(op string) {
	w.t.Helper()
	p, err := w.api.Progress(w.t.Context(), op, "", 1000)
	if err != nil {
		w.t.Log(err)
		return
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", " ")
	_ = enc.Encode(p)
	w.t.Log(out.String())
}

// until waits for something to be true.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	require.Eventually(w.t, ok, patience, 100*time.Millisecond, what)
}

// refused wants a request to be refused with this status, and returns the error.
func refused(t *testing.T, err error, status int) error {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, status, e.Status(), "%v", err)
	return err
}
