// Package crash_test kills nodes of Gybe and looks whether anything is lost, done twice or left behind. Every node is a
// process of its own, and every death is a real SIGKILL: some come at a chosen write to the database, others at what
// can be seen from outside.
//
// A node does not die at every write of every operation, because the same code makes most of them:
//   - Instantiation, termination, rollback and retry of the package plain: every write, before and after it.
//   - Creation of a cluster: a list of places, one for each kind of write in each kind of step and phase; terminations:
//     each of six places twice.
//   - Other operations of the package standard: every seventh of the writes (counted before and after), alternately
//     before and after.
//   - Changes and rollbacks of a cluster: every fifteenth, and each of the five scenarios begins at another write.
//     Admission, grant, inventory and the commits of phases are the same code in all of them.
//   - Operations of a CNF, from manifests and from a chart: every fifteenth, and each begins at another write.
//   - A playbook of Kubespray: once while it runs; pkg/k8scluster has the writes of this driver.
//   - Grants of an NFVO: every write from the request to PROCESSING, and between the NFVO's grant and its answer.
//   - Scripts of a package, a user-data class and a mgmt driver: every third, alternately before and after.
//   - Audited requests and upload_from_uri: every row that they write. Uploads: every third. gybe secrets reencrypt:
//     four rows.
//
// With GYBE_FULL=1 nodes die at every write of these as well.
package crash_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/helm/render"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/parallel"
)

// envNode makes this test binary a node, which can be ordered to die.
const envNode = "GYBE_TEST_CRASH_NODE"

func TestMain(m *testing.M) {
	render.Serve() // a node is the process that executes templates of charts, too
	if os.Getenv(envNode) != "" {
		if err := node(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	parallel.Allow(2 * parallel.Several) // most of the time these tests wait for processes to start
	code := m.Run()
	removeBinaries()
	os.Exit(code)
}

// node runs a node. It says its URL on out when it is ready, and reads deaths from in, one JSON document a line, saying
// "armed" to each. It ends with in.
func node(ctx context.Context, in io.Reader, out io.Writer) error {
	cfg, _, err := config.Load(config.Source{Env: os.Environ()})
	if err != nil {
		return err
	}
	m := &mortal{names: map[int64]string{}}
	n, err := app.New(ctx, cfg, app.Options{
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Version: "crash",
		WrapStores: func(s lcm.Stores) lcm.Stores { return mortalStores{s, m} },
		WrapLedger: func(l lcm.Ledger) lcm.Ledger { return mortalLedger{l, m} }, SkipPreload: true,
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-n.Ready():
	}
	fmt.Fprintln(out, n.URL())
	go func() {
		defer stop()
		orders := bufio.NewScanner(in)
		for orders.Scan() {
			var d death
			if err := json.Unmarshal(orders.Bytes(), &d); err != nil {
				fmt.Fprintln(out, err)
				return
			}
			m.arm(d)
			fmt.Fprintln(out, "armed")
		}
	}()
	return <-done
}

// child is a node that was started from here.
type child struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	api   *client.Client
	in    io.WriteCloser
	out   *os.File
	lines *bufio.Reader
	dead  chan struct{}
	log   string
	// ready is the time from its start to its readiness.
	ready time.Duration
}

var children atomic.Int64

// spawn starts a node on a database; all nodes with the same data folder share keys and content. It ends with the test.
func spawn(t *testing.T, database, data string, env ...string) *child {
	t.Helper()
	began := time.Now()
	c := &child{t: t, name: "node-" + strconv.FormatInt(children.Add(1), 10), dead: make(chan struct{})}
	c.log = filepath.Join(data, c.name+".log")
	log, err := os.Create(c.log)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), envNode+"=1", "GOGC=400", "GYBE_DATABASE_URL="+database, "GYBE_LISTEN=127.0.0.1:0",
		"GYBE_DEBUG_LISTEN=",
		"GYBE_DATA_DIR="+data, "GYBE_NODE_ID="+c.name, "GYBE_SSH_PORT="+strconv.Itoa(sshPort))
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	var childOut *os.File
	c.out, childOut, err = os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.out.Close() }) // only its descriptor matters
	c.lines = bufio.NewReader(c.out)
	c.cmd.Stdout = childOut
	err = c.cmd.Start()
	require.NoError(t, childOut.Close())
	require.NoError(t, err)
	go func() {
		_ = c.cmd.Wait() // it is killed
		close(c.dead)
	}()
	t.Cleanup(c.kill)
	url, err := c.line()
	require.NoError(t, err, "the node does not start: %s", c.words())
	c.api, err = client.New(strings.TrimSpace(url), oracle.Client(t))
	require.NoError(t, err)
	c.ready = time.Since(began)
	return c
}

// line reads a line that the node prints. It waits no longer than patience.
func (c *child) line() (string, error) {
	if err := c.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	return c.lines.ReadString('\n')
}

// arm plans its death; false when it has died already.
func (c *child) arm(d death) bool {
	c.t.Helper()
	raw, err := json.Marshal(d)
	require.NoError(c.t, err)
	if _, err = c.in.Write(append(raw, '\n')); err != nil {
		return false
	}
	line, err := c.line()
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded, "the node neither answers nor dies: %s", c.words())
	if err != nil {
		return false
	}
	require.Equal(c.t, "armed\n", line)
	return true
}

// kill ends it at once.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // dead already is as good
	<-c.dead
}

// words are the last lines of its log.
func (c *child) words() string {
	raw, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
