package script_test

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
)

// scriptForms are all forms of code that a package can have, each of which calls attack().
var scriptForms = map[string]struct {
	file, text string
	job        script.Job
	limited    bool // its standard output is its result
}{
	"user-data class": {
		"UserData/c.py", "\nclass C:\n    @staticmethod\n    def heal(*a):\n        attack()\n        return {}\n",
		script.Job{Kind: script.UserData, Class: "C", Method: "heal"},
		false,
	},
	"user-data class of version 1": {
		"UserData/c.py", `
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


class C(AbstractUserData):
    @staticmethod
    def instantiate(*a, **k):
        attack()
        return {}
`, script.Job{Kind: script.UserData, Class: "C", Method: "instantiate"}, false,
	},
	"mgmt driver script":   {"Scripts/m.py", "\nattack()\n", script.Job{Kind: script.Mgmt}, true},
	"coordination script":  {"Scripts/c.py", "\nattack()\n", script.Job{}, false},
	"user-data program":    {"UserData/c", "\nattack()\n", script.Job{Program: script.UserDataProgram}, true},
	"mgmt driver program":  {"Scripts/m", "\nattack()\n", script.Job{Program: script.MgmtProgram}, true},
	"coordination program": {"Scripts/c", "\nattack()\n", script.Job{Program: script.CoordinationProgram}, true},
}

// secretOfTheNode is in a file and in the environment of the process that runs scripts.
const secretOfTheNode = "the-secret-of-the-node"

// attacks are what a hostile script does. DATA is a directory of the node that its user can read, PORT a port at which
// the node listens. Each ends by itself, except the endless loop.
var attacks = []struct {
	name, body string
	timeout    time.Duration
	// failure is the reason with which the run ends; "" = it succeeds, and what it has reported says that it has found
	// nothing. limited is that of forms whose standard output is the result.
	failure, limited string
	code             lcm.Code
}{
	{
		name: "endless loop", body: "while True: pass", timeout: time.Second,
		failure: "has not ended within 1s", limited: "has not ended within 1s", code: lcm.CodeTimeout,
	},
	{
		name: "fork bomb", body: `
    n = 0
    try:
        while n < 5000:
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
                os._exit(0)
            n += 1
    except OSError:
        sys.exit("no more processes")`,
		failure: "no more processes", limited: "no more processes", code: lcm.CodeUpstream,
	},
	{
		name: "huge output", body: "for _ in range(3 << 8): sys.stdout.write('x' * 16383 + chr(10))",
		limited: "more than 8 MiB", code: lcm.CodeUpstream,
	},
	{name: "huge log", body: "for _ in range(3 << 8): sys.stderr.write('x' * 16383 + chr(10))"},
	{
		name: "looks around", body: `
    def attempt(what, do):
        try:
            got = do()
        except Exception as e:
            return
        say("REACHED %s: %r" % (what, got))

    for path in [DATA + "/secret.key", "/etc/shadow", "/etc/gybe/gybe.yaml", "/root/.ssh/id_rsa"]:
        attempt(path, lambda: open(path).read())
    for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
        for file in ["environ", "cmdline", "mem"]:
            attempt("a secret", lambda: SECRET.encode() in open("/proc/%s/%s" % (pid, file), "rb").read(1 << 20) or 1 / 0)
    attempt("environment", lambda: [v for k, v in os.environ.items() if SECRET in v or k.startswith("GYBE")][0])
    for path in ["/x", "/usr/x", "/etc/x", "/package/x", "/gybe/gybe_run.py", "/start.py", DATA + "/x", __file__]:
        attempt("write " + path, lambda: open(path, "a"))
    attempt("remove", lambda: os.remove(__file__) or 1)
    for link, to in [("/tmp/a", DATA), ("/tmp/b", DATA + "/secret.key"), ("/package/c", DATA)]:
        attempt("link " + link, lambda: os.symlink(to, link) or os.listdir(link) if to == DATA else open(link).read())
    attempt("socket", lambda: socket.create_connection(("127.0.0.1", PORT), 2))
    attempt("root", lambda: os.setuid(0) or 1)
    say("looked around")`,
	},
	{
		name: "kills its parent", body: `
    for pid in [1, os.getppid(), -1]:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.2)
    sys.exit("is alone")`,
		failure: "the script", limited: "the script", code: lcm.CodeUpstream,
	},
	{
		name: "fills its directory", body: `
    total = 0
    try:
        for n in range(4):
            with open("/tmp/fill%d" % n, "wb", 0) as f:
                for _ in range(150):
                    total += f.write(b"x" * (1 << 20))
    except OSError:
        pass
    say("wrote too much" if total > 256 << 20 else "the limit holds")`,
	},
}

// attackText is a script of a form with an attack.
func attackText(form, body, data string, port int) string {
	text := "import os, signal, socket, sys, time\n"
	if !strings.HasSuffix(scriptForms[form].file, ".py") {
		text = "#!/usr/bin/env python3\n" + text
	}
	if !strings.HasPrefix(body, "\n") {
		body = "\n    " + body
	}
	return strings.NewReplacer("PORT", strconv.Itoa(port), "DATA", strconv.Quote(data)).Replace(text +
		"SECRET = '" + secretOfTheNode[:10] + "' + '" + secretOfTheNode[10:] + "'\n" +
		"def say(text):\n    print(text, file=sys.stderr)\n\ndef attack():" + body + "\n" + scriptForms[form].text)
}

// TestHostileScriptsAreStopped: code of a package in any form that does damage is stopped, or finds nothing to damage.
// It is reported, and the node goes on as before.
func TestHostileScriptsAreStopped(t *testing.T) {
	opts := options(t, script.Bwrap)
	opts.Network = script.NetworkNone
	t.Setenv("GYBE_DATABASE_URL", secretOfTheNode) // not parallel
	data := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(data, "secret.key"), []byte(secretOfTheNode), 0o644))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	address, _ := l.Addr().(*net.TCPAddr)
	r := start(t, opts)
	for form, f := range scriptForms {
		for _, a := range attacks {
			t.Run(form+", "+a.name, func(t *testing.T) {
				j := f.job
				j.Package = fstest.MapFS{f.file: {Data: []byte(attackText(form, a.body, data, address.Port))}}
				j.Script, j.Input, j.Timeout = f.file, userData(), cmp.Or(a.timeout, limit)
				require.NoError(t, r.StartJob(t.Context(), keyOf(t), j))
				lines, err := outcome(t, r, keyOf(t))
				want := a.failure
				if f.limited {
					want = a.limited
				}
				if want == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, want)
					require.Equal(t, a.code, lcm.AsError(err).Code)
				}
				size := 0
				for _, line := range lines {
					size += len(line)
					require.NotContains(t, line, "REACHED")
					require.NotContains(t, line, "too much")
					require.NotContains(t, line, secretOfTheNode)
				}
				require.Less(t, size, 2<<20)
				if a.name == "looks around" {
					require.Contains(t, lines, "looked around")
				}
				left, err := os.ReadDir(data)
				require.NoError(t, err)
				require.Len(t, left, 1, "the node's directory is as it was")
			})
		}
	}
	_, err = run(t, r, "print('the next script')", nil)
	require.NoError(t, err)
}

// TestProcessesOfAHostileScriptEnd: no process of a script of any form outlives it, also those that have left its
// process group and its session.
func TestProcessesOfAHostileScriptEnd(t *testing.T) {
	t.Parallel()
	r := start(t, options(t, script.Bwrap)) // the network of the node, for the connection to the test
	for form, f := range scriptForms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			l := newLifelines(t)
			address, _ := l.Addr().(*net.TCPAddr)
			const body = `
    line = socket.create_connection(("127.0.0.1", PORT))
    os.set_inheritable(line.fileno(), True)
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1000)
    sys.exit("has twenty children")`
			j := f.job
			j.Package = fstest.MapFS{f.file: {Data: []byte(attackText(form, body, "", address.Port))}}
			j.Script, j.Input, j.Timeout = f.file, userData(), limit
			require.NoError(t, r.StartJob(t.Context(), keyOf(t), j))
			_, err := outcome(t, r, keyOf(t))
			require.ErrorContains(t, err, "has twenty children")
			l.accept(1)()
		})
	}
}

// TestLinksOutOfADirectory: a script without a sandbox leaves links in its directory, and only the links are removed.
func TestLinksOutOfADirectory(t *testing.T) {
	t.Parallel()
	outside := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "file"), []byte("x"), 0o644))
	_, err := run(t, start(t, options(t, script.None)), `
import os, pickle, sys
outside = pickle.load(sys.stdin.buffer)["outside"]
os.symlink(outside, os.environ["HOME"] + "/link")
os.symlink(outside + "/file", os.environ["HOME"] + "/file")
`, map[string]any{"outside": outside})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(outside, "file"))
}
