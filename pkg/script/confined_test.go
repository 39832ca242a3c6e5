package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/script"
)

// TestScriptIsConfined: in the sandbox a script sees only the files that it needs, and cannot change them.
func TestScriptIsConfined(t *testing.T) {
	t.Setenv("GYBE_DATABASE_URL", "postgres://gybe:geheim@db/gybe") // not parallel
	opts := options(t, script.Bwrap)
	data := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(data, "secret.key"), []byte("key"), 0o644))
	lines, err := run(t, start(t, opts), `
import os, pickle, socket, subprocess, sys
v = pickle.load(sys.stdin.buffer)

def denied(what, do):
    try:
        print("ALLOWED:", what, do())
    except OSError as e:
        print("denied:", what)

for path in ["/root", "/home", "/etc/gybe", "/etc/shadow", "/etc/ssl/private", "/var", "/opt", "/srv", "/boot", "/sys", v["data"], v["data"] + "/secret.key", "/proc/1/environ"]:
    def look():
        if os.path.isdir(path):
            return os.listdir(path)
        return "geheim" in open(path).read() or open(path).read() == "key" or "root:" in open(path).read()
    try:
        got = look()
        print("ALLOWED:" if got else "empty:", path)
    except OSError:
        print("denied:", path)
for path in ["/package/x", "/package/Scripts/x.py", "/start.py", "/usr/x", "/x", "/etc/hosts", v["data"] + "/x"]:
    denied("write " + path, lambda: open(path, "w"))
denied("remove", lambda: os.remove("/package/Scripts/x.py"))
denied("be root", lambda: os.setuid(0))
denied("mount", lambda: os.chroot("/tmp"))
print(sorted(os.environ), os.getuid(), os.getgid(), [l.split()[1] for l in open("/proc/self/status") if l.startswith(("CapEff", "CapBnd", "NoNewPrivs"))])
print("others:", [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 10])
print("namespace:", subprocess.run(["unshare", "--user", "--map-root-user", "true"], stderr=subprocess.DEVNULL).returncode != 0)
open("/tmp/own", "w").write("x")
print(open("/tmp/own").read(), os.listdir("/tmp"), os.environ["HOME"], os.getcwd())
import ssl, sqlite3, ctypes
print(len(socket.getaddrinfo("localhost", 80)) > 0, os.path.exists(ssl.get_default_verify_paths().openssl_capath))
`, map[string]any{"data": data})
	require.NoError(t, err)
	for _, l := range lines {
		require.NotContains(t, l, "ALLOWED")
	}
	require.Contains(
		t,
		lines,
		"['HOME', 'LANG', 'PATH', 'PWD', 'TMPDIR'] 65534 65534 ['0000000000000000', '0000000000000000', '1']",
	)
	require.Contains(t, lines, "others: []")
	require.Contains(t, lines, "namespace: True")
	require.Contains(t, lines, "x ['own'] /tmp /package")
	require.Equal(t, "True True", lines[len(lines)-1])
}

// TestScriptIsNeverRoot: also without a sandbox, a script has an empty environment and the rights of an ordinary user.
func TestScriptIsNeverRoot(t *testing.T) {
	t.Setenv("GYBE_DATABASE_URL", "postgres://gybe:geheim@db/gybe") // not parallel
	lines, err := run(t, start(t, options(t, script.None)), `
import os
print(sorted(os.environ), os.getuid() != 0, os.getgid() != 0 and 0 not in os.getgroups(), os.access(os.environ["HOME"], os.W_OK), os.getpgid(0) == os.getpid())
if os.stat(__file__).st_uid != os.getuid():
    try:
        open(__file__, "a")
    except OSError:
        print("denied")
else:
    print("denied")
`, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"['HOME', 'LANG', 'PATH', 'TMPDIR'] True True True True", "denied"}, lines)
}

// TestScriptsInAVirtualEnvironment: modules that the operator has installed for scripts are found, in the sandbox, too.
func TestScriptsInAVirtualEnvironment(t *testing.T) {
	t.Parallel()
	opts := options(t, script.Bwrap)
	venv := open(t)
	site := filepath.Join(venv, "lib", "python3", "site-packages")
	require.NoError(t, os.MkdirAll(site, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(venv, "bin"), 0o755))
	// What python3 -m venv makes, without the package that it needs in Debian.
	require.NoError(
		t,
		os.WriteFile(
			filepath.Join(venv, "pyvenv.cfg"),
			[]byte("home = /usr/bin\ninclude-system-site-packages = false\n"),
			0o644,
		),
	)
	require.NoError(t, os.Symlink(opts.Python, filepath.Join(venv, "bin", "python3")))
	opts.Python = filepath.Join(venv, "bin", "python3")
	lines, err := run(t, start(t, opts), "import os, sys; print(sys.prefix, sys.executable, os.environ['PATH'])", nil)
	require.NoError(t, err)
	require.Equal(t, []string{venv + " " + opts.Python + " " + venv + "/bin:/usr/local/bin:/usr/bin:/bin"}, lines)
}

// TestUnusableInterpreter: a wrong interpreter or sandbox is reported at the start, not during an upgrade.
func TestUnusableInterpreter(t *testing.T) {
	opts := options(t, script.Bwrap)
	usable := opts.Python
	for name, want := range map[string]string{
		"/does/not/exist": "scripts.python: interpreter /does/not/exist not found",
		"nosuchpython":    "interpreter nosuchpython not found", "/bin/true": "is not Python",
		"/bin/false": "does not run",
	} {
		opts.Python = name
		_, err := script.New(t.Context(), opts)
		require.ErrorContains(t, err, want)
	}
	opts.Python = usable
	t.Setenv("PATH", "/does/not/exist") // not parallel
	_, err := script.New(t.Context(), opts)
	require.ErrorContains(t, err, "scripts.sandbox: scripts run in bubblewrap, which was not found")
	bin := t.TempDir()
	require.NoError(
		t,
		os.WriteFile(
			filepath.Join(bin, "bwrap"),
			[]byte(
				"#!/bin/sh\n[ \"$1\" = --help ] && exit 0\necho 'bwrap: No permissions to create new namespace' >&2\n"+
					"exit 1\n",
			),
			0o755,
		),
	)
	require.NoError(t, os.Chmod(filepath.Dir(bin), 0o755))
	t.Setenv("PATH", bin)
	_, err = script.New(t.Context(), opts)
	require.ErrorContains(t, err, "cannot run a script (scripts.sandbox: bwrap")
	require.ErrorContains(t, err, "No permissions to create new namespace")
}

// TestOlderSandbox: a bubblewrap that lacks the newest options confines as well.
func TestOlderSandbox(t *testing.T) {
	opts := options(t, script.Bwrap)
	real, err := exec.LookPath("bwrap")
	require.NoError(t, err)
	bin := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "bwrap"), []byte(`#!/bin/sh
[ "$1" = --help ] && exit 0
for word; do case $word in --disable-userns | --size) echo "bwrap: Unknown option $word" >&2; exit 1;; esac; done
exec `+real+` "$@"
`), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH")) // not parallel
	lines, err := run(
		t, start(t, opts), "import os; print(os.getuid(), os.listdir('/tmp'), os.path.exists('/root'))", nil,
	)
	require.NoError(t, err)
	require.Equal(t, []string{"65534 [] False"}, lines)
}
