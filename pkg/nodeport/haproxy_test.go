package nodeport_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gybe-nfv/gybe/pkg/haproxy"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// real is a load balancer with the real HAProxy, whose configuration the script of the sample package for clusters has
// written. It is on the machine of the test, and so are the workers, which have the same ports at other addresses.
type real struct {
	*world

	dir   string
	paths *strings.Replacer // the files of a machine are in dir
	ports []int             // that nothing listens on
}

// commands are those that a machine of its own has. HAProxy runs as Debian's unit has it, with the reload of that unit;
// systemctl finds its process in a file. ss does not show the workers, which are other machines in reality.
var commands = map[string]string{
	"sudo": `while [ "$1" = -n ] || [ "$1" = -E ]; do shift; done
exec env "$@"
`,
	"ss": `exec 3>&1
{ PATH=${PATH#*:} ss "$@" || exit 1; } | grep -v " $WORKERS"
`,
	"systemctl": `case "$1" in
reload-or-restart) haproxy -W -f "$CONFIG" -c -q && kill -USR2 "$(cat "$PROCESS")" ;;
is-active) kill -0 "$(cat "$PROCESS")" ;;
restart | enable) ;; # the test starts HAProxy
*) exit 1 ;;
esac
`,
}

func newReal(t *testing.T) *real {
	t.Helper()
	if _, err := os.Stat("/usr/sbin/haproxy"); err != nil {
		t.Skip("SKIPPED: haproxy is not installed")
	}
	r := &real{world: newWorld(t), dir: t.TempDir()}
	r.paths = strings.NewReplacer(haproxy.File, r.config(), haproxy.LockFile, filepath.Join(r.dir, "lock"))
	for name, text := range commands {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte("#!/bin/bash\n"+text), 0o700))
	}
	r.cluster.SetNodePorts(1024, 65535)
	for len(r.ports) < 4 {
		// Ports below those that the kernel gives to clients.
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", fmt.Sprintf(":%d", 20000+rand.IntN(12000)))
		if err != nil {
			continue
		}
		r.ports = append(r.ports, l.Addr().(*net.TCPAddr).Port)
		require.NoError(t, l.Close())
	}
	script, err := os.ReadFile("../../vnf-packages/kubernetes-cluster-kubespray/Scripts/install_external_lb.sh")
	require.NoError(t, err)
	text := strings.ReplaceAll(r.paths.Replace(string(script)), "8383", strconv.Itoa(r.ports[0]))
	if os.Getuid() != 0 {
		text = strings.NewReplacer("    user haproxy\n", "", "    group haproxy\n", "").Replace(text)
	}
	_, err = r.Output(t.Context(), fmt.Sprintf("cd %s && bash -s -- -m %s -w %s,%s", r.dir, r.block.Addr(10, 11),
		r.block.Addr(10, 21), r.block.Addr(10, 22)), strings.NewReader(text), 1<<20)
	require.NoError(t, err)
	r.start()
	return r
}

func (r *real) config() string  { return filepath.Join(r.dir, "haproxy.cfg") }
func (r *real) process() string { return filepath.Join(r.dir, "haproxy.pid") }

// text is the configuration.
func (r *real) text() string {
	r.t.Helper()
	text, err := os.ReadFile(r.config())
	require.NoError(r.t, err)
	return string(text)
}

// start starts HAProxy with a process that reloads it.
func (r *real) start() {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(r.t.Context()))
	cmd := exec.CommandContext(ctx, "/usr/sbin/haproxy", "-W", "-f", r.config())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	require.NoError(r.t, cmd.Start())
	r.t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
	require.NoError(r.t, os.WriteFile(r.process(), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
	require.Eventually(r.t, func() bool {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(r.address().String(), strconv.Itoa(r.ports[0])), time.Second)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	}, time.Minute, 5*time.Millisecond, "HAProxy has started")
}

// command is a command of the driver on the machine.
func (r *real) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", r.paths.Replace(text))
	cmd.Env = append(os.Environ(), "PATH="+r.dir+":"+os.Getenv("PATH")+":/usr/sbin", "CONFIG="+r.config(),
		"PROCESS="+r.process(), fmt.Sprintf("WORKERS=127\\.%d\\.", r.block.A()))
	return cmd
}

// ended is the error of a command as package remote has it.
func ended(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &remote.Error{Kind: remote.KindExit, Op: "run", Err: &remote.ExitError{
			Status: exit.ExitCode(), Stderr: strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n"),
		}}
	}
	return err
}

// Run implements haproxy.Connection.
func (r *real) Run(ctx context.Context, command string, o remote.RunOptions) error {
	cmd := r.command(ctx, command)
	cmd.Stdin = o.Stdin
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	for line := range strings.Lines(stderr.String()) {
		o.Stderr(strings.TrimSpace(line))
	}
	return ended(err)
}

// Output implements haproxy.Connection.
func (r *real) Output(ctx context.Context, command string, stdin io.Reader, _ int) ([]byte, error) {
	cmd := r.command(ctx, command)
	cmd.Stdin = stdin
	out, err := cmd.Output()
	return out, ended(err)
}

// options connect the driver to this load balancer.
func (r *real) options() nodeport.Options {
	return nodeport.Options{Connect: func(context.Context, remote.Target) (haproxy.Connection, func(), error) {
		return r, func() {}, nil
	}}
}

// operate runs an operation to its end.
func (r *real) operate(typ sol.LcmOperationType, i *lcm.Instance) {
	r.t.Helper()
	r.beginWith(r.options(), typ, i).Complete(r.t)
}

// serve answers connections to a NodePort on both workers. HAProxy has the same port at all addresses.
func (r *real) serve(port int) {
	shared := &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		return errors.Join(err, failed)
	}}
	r.answer(shared, 21, port)
	r.answer(shared, 22, port)
}

// requests are those that were sent to a port.
type requests struct {
	answered, lost int
	failure        error // of the first one that was lost
}

// traffic sends requests to a port without a pause until the returned function is called.
func (r *real) traffic(port int) (end func() requests) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all requests
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				name, err := r.ask(port)
				if err == nil && !strings.HasPrefix(name, "worker2") {
					err = fmt.Errorf("the answer is %q", name)
				}
				mu.Lock()
				if err == nil {
					all.answered++
				} else {
					all.lost, all.failure = all.lost+1, cmp.Or(all.failure, err)
				}
				mu.Unlock()
			}
		})
	}
	return func() requests {
		close(stop)
		wg.Wait()
		return all
	}
}

// While one CNF is configured, changed and removed again and again, no request to another one is lost: 20 times with
// GYBE_FULL=1, otherwise five times.
func TestNoRequestIsLostWhileAnotherCNFChanges(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	a, b := r.instance(), r.instance()
	port := r.ports[1]
	r.serve(port)
	r.serve(r.ports[2])
	r.serve(r.ports[3])
	r.expose(b, "other", "web", port)
	r.operate(sol.LcmOperationInstantiate, b)
	r.reached(port, "worker21", "worker22")
	before := r.text()
	rounds := 5
	switch {
	case os.Getenv("GYBE_FULL") != "":
		rounds = 20
	case testing.Short():
		rounds = 2
	}
	end := r.traffic(port)
	for range rounds {
		r.expose(a, "default", "web", r.ports[2])
		r.operate(sol.LcmOperationInstantiate, a)
		r.reached(r.ports[2], "worker21", "worker22")
		r.expose(a, "default", "web", r.ports[3])
		r.operate(sol.LcmOperationHeal, a)
		r.reached(r.ports[3], "worker21", "worker22")
		r.hide("default", "web")
		r.operate(sol.LcmOperationTerminate, a)
	}
	sent := end()
	require.Zero(t, sent.lost, "of %d: %v", sent.answered, sent.failure)
	require.Greater(t, sent.answered, 10*rounds)
	require.Equal(t, before, r.text())
	t.Logf("%d requests in %d reloads", sent.answered, 3*rounds)
}

// A configuration with which the real HAProxy does not work is not left in place, and the other CNF is served.
func TestHAProxyGoesOnWithTheOldConfiguration(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		spoil func(r *real)
		want  string
		// pauses: HAProxy closes all of its ports for up to two seconds while it cannot open another one.
		pauses bool
	}{
		"a faulty line of another program": {spoil: func(r *real) {
			faulty := r.text() + "\nfrontend other\n    frobnicate yes\n"
			require.NoError(r.t, os.WriteFile(r.config(), []byte(faulty), 0o600))
		}, want: "unknown keyword 'frobnicate' in 'frontend' section"},
		"a port of another program": {spoil: func(r *real) {
			r.occupy("127.0.0.1")
		}, want: "is used by another program on the machine"},
		// ss does not show this port, so that HAProxy is the first that finds it in use.
		"a port that is taken after the check": {spoil: func(r *real) {
			r.occupy(r.block.Addr(10, 23).String())
		}, want: "has the old one again: after 10 s the port is not as it has to be", pauses: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if x.pauses && testing.Short() {
				t.Skip("SKIPPED: it takes more than 10 s")
			}
			r := newReal(t)
			a, b := r.instance(), r.instance()
			r.serve(r.ports[1])
			r.expose(b, "other", "web", r.ports[1])
			r.operate(sol.LcmOperationInstantiate, b)
			x.spoil(r)
			before := r.text()
			end := r.traffic(r.ports[1])
			r.expose(a, "default", "web", r.ports[2])
			f := r.beginWith(r.options(), sol.LcmOperationInstantiate, a).Fail(t)
			require.Contains(t, f.Detail, x.want)
			require.Eventually(t, func() bool {
				name, err := r.ask(r.ports[1])
				return err == nil && name != ""
			}, time.Minute, 5*time.Millisecond)
			sent := end()
			require.Positive(t, sent.answered)
			if !x.pauses {
				require.Zero(t, sent.lost, "of %d: %v", sent.answered, sent.failure)
			}
			r.reached(r.ports[1], "worker21", "worker22")
			require.Equal(t, before, r.text())
			r.closed(r.ports[2])
		})
	}
}

// occupy makes a program listen on the port that a CNF is to get.
func (r *real) occupy(address string) {
	r.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp",
		net.JoinHostPort(address, strconv.Itoa(r.ports[2])))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = l.Close() })
}
