package crash_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/stack"
)

// binaries is the folder with the compiled gybe, built once for all tests that want the real thing.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gybe-crash")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "gybe"), "./cmd/gybe")
	cmd.Dir = "../.."
	built = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out))
	}
	return dir, nil
})

var built string

func removeBinaries() {
	if built != "" {
		_ = os.RemoveAll(built)
	}
}

// real is a node that runs the compiled gybe.
type real struct {
	*stack.Node
	t   *testing.T
	api *client.Client
	// http has the transport of api.
	http *http.Client
}

// serve starts a node of a world, with settings in its environment; it ends with the test.
func (w *world) serve(name string, env ...string) *real {
	w.t.Helper()
	bin, err := binaries()
	require.NoError(w.t, err)
	log, err := os.Create(filepath.Join(w.data, name+".log"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = log.Close() })
	n, err := stack.StartNode(w.t.Context(), stack.NodeOptions{
		Bin: bin, ID: name, Database: w.database, Data: filepath.Join(w.data, "content"), SSHPort: sshPort, Log: log,
		Env: env,
	})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { n.Kill() })
	r := &real{Node: n, t: w.t}
	r.http = oracle.Client(w.t)
	r.api, err = client.New(n.URL, r.http)
	require.NoError(w.t, err)
	return r
}

// restart starts it again after it was killed.
func (r *real) restart() {
	r.t.Helper()
	require.NoError(r.t, r.Start(r.t.Context()))
}

// pair is two nodes on one database.
type pair struct {
	*world
	a, b *real
	// worst is the longest time that an operation had no living node after a kill.
	worst time.Duration
}

func (w *world) pair(env ...string) *pair {
	w.t.Helper()
	return &pair{world: w, a: w.serve("one", env...), b: w.serve("two", env...)}
}

// owner is the node that works on an operation, and the other one.
func (p *pair) owner(op string) (owner, other *real) {
	p.t.Helper()
	var name string
	require.Eventually(p.t, func() bool {
		name = p.column("SELECT node FROM vnf_lcm_op_occ WHERE id = $1", op)[0]
		return name != ""
	}, patience, interval, "no node works on it")
	if name == p.a.ID {
		return p.a, p.b
	}
	return p.b, p.a
}

// resumed waits until an operation is claimed again after its node has died, and returns how long after that moment it
// was. Both times are the database's. It is negative when the operation had ended all the same: what the dead node had
// sent last took effect.
func (w *world) resumed(op string, died time.Time, epoch int64) time.Duration {
	w.t.Helper()
	var at time.Time
	require.Eventually(w.t, func() bool {
		var now time.Time
		var newest int64
		var state string
		require.NoError(w.t, w.pool.QueryRow(w.t.Context(),
			"SELECT clock_timestamp(), epoch, state FROM vnf_lcm_op_occ WHERE id = $1", op).Scan(
			&now, &newest, &state,
		))
		at = now
		if newest == epoch && state == "COMPLETED" {
			at = died.Add(-time.Nanosecond)
			return true
		}
		return newest > epoch
	}, patience, interval, "no node goes on")
	return at.Sub(died)
}

// claims reads the number of claims on an operation so far, and the database's clock.
func (w *world) claims(op string) (int64, time.Time) {
	w.t.Helper()
	var now time.Time
	var epoch int64
	require.NoError(
		w.t,
		w.pool.QueryRow(w.t.Context(), "SELECT clock_timestamp(), epoch FROM vnf_lcm_op_occ WHERE id = $1",
			op).Scan(&now, &epoch),
	)
	return epoch, now
}

// freeze stops a node without ending it; thaw lets it go on.
func (r *real) freeze() {
	r.t.Helper()
	require.NoError(r.t, r.Signal(syscall.SIGSTOP))
}

func (r *real) thaw() {
	r.t.Helper()
	require.NoError(r.t, r.Signal(syscall.SIGCONT))
}
