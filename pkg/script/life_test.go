package script_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
)

// lifelines counts processes: each that a script starts holds a connection, which ends with the process.
type lifelines struct {
	net.Listener
	t *testing.T
}

func newLifelines(t *testing.T) lifelines {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return lifelines{l, t}
}

// accept waits for n processes, and returns what waits for their end.
func (l lifelines) accept(n int) (gone func()) {
	l.t.Helper()
	var all []net.Conn
	if tcp, ok := l.Listener.(*net.TCPListener); ok {
		require.NoError(l.t, tcp.SetDeadline(time.Now().Add(time.Minute)))
	}
	for range n {
		c, err := l.Accept()
		require.NoError(l.t, err)
		l.t.Cleanup(func() { _ = c.Close() })
		all = append(all, c)
	}
	return func() {
		l.t.Helper()
		for _, c := range all {
			require.NoError(l.t, c.SetReadDeadline(time.Now().Add(time.Minute)))
			_, err := io.Copy(io.Discard, c)
			if err != nil {
				require.ErrorContains(l.t, err, "reset", "a process outlives the script")
			}
		}
	}
}

// acceptWhilePolling is accept for a run that would be killed if its processes started slowly on a busy machine.
func acceptWhilePolling(t *testing.T, l lifelines, n int, r *script.Runner, key string) (gone func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	polling.Go(func() {
		for ctx.Err() == nil {
			_, _, _ = r.Follow(ctx, key, 100*time.Millisecond, func(string) {})
		}
	})
	defer func() { stop(); polling.Wait() }()
	return l.accept(n)
}

// family is a script of three processes, each with a lifeline to the port of the input; what comes after is done by the
// first.
func family(leaves, then string) string {
	return `
import os, pickle, socket, subprocess, sys, time
port = pickle.load(sys.stdin.buffer)["port"]
line = socket.create_connection(("127.0.0.1", port))
hold = "import socket, time, sys; s = socket.create_connection(('127.0.0.1', %d)); print('child'); time.sleep(1000)" % port
subprocess.Popen([sys.executable, "-c", hold])
if os.fork() == 0:
    ` + leaves + `
    line.close()
    line = socket.create_connection(("127.0.0.1", port))
    time.sleep(1000)
` + then
}

func port(l lifelines) map[string]any {
	a, _ := l.Addr().(*net.TCPAddr)
	return map[string]any{"port": a.Port}
}

// TestScriptThatHangs: it is killed after its timeout, with its child processes.
func TestScriptThatHangs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		l := newLifelines(t)
		require.NoError(
			t,
			r.Start(
				t.Context(),
				"k",
				pack(family("pass", "print('still here', flush=True)\ntime.sleep(1000)")),
				"Scripts/x.py",
				port(l),
				10*time.Second, // a busy machine must start three processes within it
			),
		)
		gone := l.accept(3)
		_, err := outcome(t, r, "k")
		e := lcm.AsError(err)
		require.NotNil(t, e)
		require.Equal(t, lcm.CodeTimeout, e.Code)
		require.Contains(t, e.Detail, "the script Scripts/x.py has not ended within 10s: ")
		require.Contains(t, e.Detail, "still here")
		gone()
	})
}

// TestScriptLeavesSomethingRunning: the outcome of the script is returned immediately, and its child processes end with
// it.
func TestScriptLeavesSomethingRunning(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]string{"a child": "pass", "a daemon": "os.setsid()"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, r *script.Runner) {
				t.Helper()
				if name == "a daemon" && strings.HasSuffix(t.Name(), script.None) {
					t.Skip("without a sandbox a process that leaves its group is not found")
				}
				l := newLifelines(t)
				// It ends when all three are there: the second connection is another process's.
				require.NoError(
					t,
					r.Start(
						t.Context(),
						"k",
						pack(family(leaves, "sys.stdin = open(0)\nline.recv(1)\nos._exit(0)")),
						"Scripts/x.py",
						port(l),
						limit,
					),
				)
				first, err := l.Accept()
				require.NoError(t, err)
				defer first.Close()
				gone := l.accept(2)
				_, err = first.Write([]byte("x"))
				require.NoError(t, err)
				began := time.Now()
				_, err = outcome(t, r, "k")
				require.NoError(t, err)
				require.Less(t, time.Since(began), limit/2)
				gone()
			})
		})
	}
}

// TestScriptIsStopped: stopping a script, or the node, waits until its processes are gone; other scripts continue.
func TestScriptIsStopped(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		l := newLifelines(t)
		var gone []func()
		for _, key := range []string{"op-1/1/a", "op-1/1/b", "op-2/1/a"} {
			require.NoError(
				t,
				r.Start(t.Context(), key, pack(family("pass", "time.sleep(1000)")), "Scripts/x.py", port(l), limit),
			)
			gone = append(gone, l.accept(3))
		}
		require.Contains(t, r.Running("op-1/"), "Scripts/x.py")
		require.Empty(t, r.Running("op-3/"))
		r.Stop("op-1/")
		gone[0]()
		gone[1]()
		require.Empty(t, r.Running("op-1/"))
		known, _, _ := r.Follow(t.Context(), "op-1/1/a", 0, nil)
		require.False(t, known, "a stopped script has no outcome")
		known, over, err := r.Follow(t.Context(), "op-2/1/a", 0, func(string) {})
		require.True(t, known && !over)
		require.NoError(t, err)
		followed := make(chan bool, 1)
		go func() {
			known, _, _ := r.Follow(t.Context(), "op-2/1/a", limit, func(string) {})
			followed <- known
		}()
		r.Close()
		gone[2]()
		require.False(t, <-followed)
		require.ErrorContains(t, r.Start(t.Context(), "k", pack("pass"), "Scripts/x.py", nil, limit), "stopping")
	})
}

// TestScriptThatIsNotPolledIsKilled: another node may have taken over its operation, and may run it, too.
func TestScriptThatIsNotPolledIsKilled(t *testing.T) {
	t.Parallel()
	for _, sandbox := range []string{script.Bwrap, script.None} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			opts := options(t, sandbox)
			opts.Abandon = 5 * time.Second
			r := start(t, opts)
			l := newLifelines(t)
			require.NoError(
				t,
				r.Start(t.Context(), "k", pack(family("pass", "time.sleep(1000)")), "Scripts/x.py", port(l), limit),
			)
			gone := acceptWhilePolling(t, l, 3, r, "k")
			for range 3 {
				known, _, _ := r.Follow(t.Context(), "k", opts.Abandon/2, func(string) {})
				require.True(t, known, "polled in time")
			}
			gone()
			known, _, _ := r.Follow(t.Context(), "k", 0, nil)
			require.False(t, known)
		})
	}
}

// TestScriptIsFollowed: its lines arrive when it writes them, not when it ends.
func TestScriptIsFollowed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		l := newLifelines(t)
		require.NoError(t, r.Start(t.Context(), "k", pack(`
import pickle, socket, sys
line = socket.create_connection(("127.0.0.1", pickle.load(sys.stdin.buffer)["port"]))
print("first")
print("10%\r20%", end="\r")
sys.stderr.write("second\n")
line.recv(1)
print("third")
`), "Scripts/x.py", port(l), limit))
		c, err := l.Accept()
		require.NoError(t, err)
		defer c.Close()
		var lines []string
		require.Eventually(t, func() bool {
			known, over, err := r.Follow(
				t.Context(), "k", 10*time.Millisecond, func(l string) { lines = append(lines, l) },
			)
			require.True(t, known && !over)
			require.NoError(t, err)
			return len(lines) == 4
		}, time.Minute, time.Millisecond)
		require.ElementsMatch(t, []string{"first", "10%", "20%", "second"}, lines)
		require.Contains(t, lines, r.LastLine("k"), "it is known after it was passed")
		require.Empty(t, r.LastLine("other"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, over, err := r.Follow(ctx, "k", limit, func(string) {})
		require.False(t, over, "a tick that ends does not end the script")
		require.NoError(t, err)
		_, err = c.Write([]byte("x"))
		require.NoError(t, err)
		rest, err := outcome(t, r, "k")
		require.NoError(t, err)
		require.Equal(t, []string{"third"}, rest)
	})
}

// variables by which the test's own program becomes a node that runs a script.
const (
	nodeDir     = "GYBE_TEST_NODE_DIR"
	nodePython  = "GYBE_TEST_NODE_PYTHON"
	nodeSandbox = "GYBE_TEST_NODE_SANDBOX"
	nodePort    = "GYBE_TEST_NODE_PORT"
)

// single is a script of one process with a lifeline: without a sandbox the kernel kills only this process with ours.
const single = `
import pickle, socket, sys, time
line = socket.create_connection(("127.0.0.1", pickle.load(sys.stdin.buffer)["port"]))
time.sleep(1000)
`

// node runs a family, or a single script, until it is killed.
func node() int {
	ctx := context.Background()
	r, err := script.New(
		ctx,
		script.Options{
			Python:  os.Getenv(nodePython),
			Sandbox: os.Getenv(nodeSandbox),
			Network: script.NetworkHost,
			Dir:     os.Getenv(nodeDir),
			Log:     slog.New(slog.DiscardHandler),
		},
	)
	if err == nil {
		var p int
		_, _ = fmt.Sscan(os.Getenv(nodePort), &p)
		text := family("pass", "time.sleep(1000)")
		if os.Getenv(nodeSandbox) == script.None {
			text = single
		}
		err = r.Start(ctx, "k", pack(text), "Scripts/x.py", map[string]any{"port": p}, time.Hour)
	}
	_, _ = fmt.Fprintln(os.Stdout, "started:", err)
	if err == nil {
		_, _, err = r.Follow(ctx, "k", time.Hour, func(string) {})
	}
	_, _ = fmt.Fprintln(os.Stdout, "ended:", err)
	return 1
}

// TestNodeIsKilled: its scripts die with it, and the next node removes their files.
func TestNodeIsKilled(t *testing.T) {
	t.Parallel()
	for _, sandbox := range []string{script.Bwrap, script.None} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			opts := options(t, sandbox)
			start(t, opts).Close() // or skip
			l := newLifelines(t)
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.Command(self)
			cmd.Env = append(
				os.Environ(),
				nodeDir+"="+opts.Dir,
				nodePython+"="+opts.Python,
				nodeSandbox+"="+sandbox,
				fmt.Sprintf("%s=%v", nodePort, port(l)["port"]),
			)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			words, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "started: <nil>\n", words)
			gone := l.accept(map[string]int{script.Bwrap: 3, script.None: 1}[sandbox])
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			gone()
			left, err := filepath.Glob(filepath.Join(opts.Dir, "gybe-script-*"))
			require.NoError(t, err)
			require.Len(t, left, 1)
			old := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(left[0], old, old))
			start(t, opts).Close()
			left, err = filepath.Glob(filepath.Join(opts.Dir, "*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
