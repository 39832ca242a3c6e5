package script_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gybe-nfv/gybe/pkg/script"
)

// reach is a script that tries to connect to each of its addresses.
const reach = `
import pickle, socket, sys
for name, family, address in pickle.load(sys.stdin.buffer)["addresses"]:
    if family == "tcp":
        s, to = socket.socket(), (address.rpartition(":")[0], int(address.rpartition(":")[2]))
    else:
        s, to = socket.socket(socket.AF_UNIX), address
    s.settimeout(5)
    try:
        s.connect(to)
        print("REACHED", name)
    except OSError as e:
        print("unreachable", name)
print("interfaces", sorted(name for _, name in socket.if_nameindex()))
`

// TestScriptReachesNothing: by default a script has no route to services of the node: the API, metrics and profiles,
// and PostgreSQL, by TCP on loopback and other addresses, and by abstract sockets.
func TestScriptReachesNothing(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(api.Close)
	local := strings.TrimPrefix(api.URL, "http://")
	abstract, err := net.Listen("unix", "@gybe-test-"+t.Name()+local)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, abstract.Close()) })
	addresses := [][3]string{
		{"loopback", "tcp", local}, {"abstract socket", "unix", "\x00" + abstract.Addr().String()[1:]},
	}
	outside, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, outside.Close()) })
	_, port, err := net.SplitHostPort(outside.Addr().String())
	require.NoError(t, err)
	own, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			addresses = append(addresses, [3]string{ip.IP.String(), "tcp", net.JoinHostPort(ip.IP.String(), port)})
		}
	}
	input := map[string]any{"addresses": addresses}

	for _, network := range []string{"", script.NetworkNone} {
		opts := options(t, script.Bwrap)
		opts.Network = network
		lines, err := run(t, start(t, opts), reach, input)
		require.NoError(t, err)
		require.Len(t, lines, len(addresses)+1)
		for _, l := range lines {
			require.NotContains(t, l, "REACHED")
		}
		require.Equal(t, "interfaces ['lo']", lines[len(addresses)])
	}

	opts := options(t, script.Bwrap)
	opts.Network = script.NetworkHost
	lines, err := run(t, start(t, opts), reach, input)
	require.NoError(t, err)
	for i, a := range addresses {
		require.Equal(t, "REACHED "+a[0], lines[i], "the setting host means the node's network")
	}
}

// TestScriptInheritsNoFiles: descriptors that Gybe has inherited, and that are not closed when it starts a program.
func TestScriptInheritsNoFiles(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		f, err := os.CreateTemp(t.TempDir(), "inherited")
		require.NoError(t, err)
		defer f.Close()
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETFD, 0)
		require.NoError(t, err)
		lines, err := run(t, r, `
import os
fds = [int(fd) for fd in os.listdir("/proc/self/fd")]
print([fd for fd in fds if fd > 2 and os.path.exists("/proc/self/fd/%d" % fd)])
`, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"[]"}, lines)
	})
}

// TestScriptCannotFillTheMemory: no directory that a script can write is without a limit.
func TestScriptCannotFillTheMemory(t *testing.T) {
	t.Parallel()
	lines, err := run(t, start(t, options(t, script.Bwrap)), `
import os
def fill(path):
    total, n = 0, 0
    try:
        while total < 600 << 20:
            n += 1
            with open("%s/fill%d" % (path, n), "wb") as f:
                for _ in range(50):
                    total += f.write(b"x" * (1 << 20))
    except OSError as e:
        return "%d MiB" % (total >> 20)
    return "MORE THAN %d MiB" % (total >> 20)
import multiprocessing
print(multiprocessing.Lock().acquire())
for path in ["/dev", "/dev/shm", "/dev/pts", "/tmp", "/run", "/proc", "/"]:
    print(path, fill(path))
with open("/dev/null", "w") as f:
    f.write("x")
print(len(open("/dev/urandom", "rb").read(16)))
`, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"True", "/dev 0 MiB", "/dev/shm 64 MiB", "/dev/pts 0 MiB", "/tmp 256 MiB", "/run 0 MiB", "/proc 0 MiB",
		"/ 0 MiB", "16",
	}, lines)
}

// TestScriptCannotStartEndlessProcesses: its own processes are limited, not those of the node.
func TestScriptCannotStartEndlessProcesses(t *testing.T) {
	t.Parallel()
	lines, err := run(t, start(t, options(t, script.Bwrap)), `
import os, signal, time
n = 0
try:
    while n < 2000:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(s, signal.SIG_IGN)
            time.sleep(1000)
            os._exit(0)
        n += 1
except OSError:
    pass
print(400 < n < 513)
`, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"True"}, lines)
}
