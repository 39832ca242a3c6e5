package script

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// nobody is the user and group that a script runs as when Gybe runs as root, and that it believes to be in a sandbox.
const nobody = 65534

// Where things are in a sandbox.
const (
	sandboxPackage = "/package"
	sandboxStarter = "/start.py"
	sandboxTmp     = 256 << 20 // bytes of /tmp
)

// seen is what a script sees of /etc: names, addresses and certificates. Nothing of it is secret.
var seen = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/localtime",
	"/etc/passwd", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/mime.types",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
}

// sandbox is a bubblewrap.
type sandbox struct {
	path string
	// options are those that newer versions have.
	options string
}

func findSandbox(ctx context.Context) (sandbox, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return sandbox{}, fmt.Errorf("scripts are run in bubblewrap, which is not there; install it, or set scripts.sandbox to none if scripts of packages may do what gybe may: %w", err)
	}
	help, err := exec.CommandContext(ctx, path, "--help").CombinedOutput() //nolint:gosec // found in our PATH
	if err != nil {
		return sandbox{}, fmt.Errorf("%s --help: %w: %s", path, err, bytes.TrimSpace(help))
	}
	return sandbox{path, string(help)}, nil
}

// argv are the words before those of the interpreter. The network is shared: a script has to reach VNFCs and servers.
func (s sandbox) argv(python interpreter, dir *workdir) []string {
	id := strconv.Itoa(nobody)
	a := []string{
		s.path, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--uid", id, "--gid", id,
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
	}
	if strings.Contains(s.options, "--disable-userns") {
		a = append(a, "--disable-userns")
	}
	for _, d := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
		if to, err := os.Readlink(d); err == nil {
			a = append(a, "--symlink", to, d)
		} else {
			a = append(a, "--ro-bind-try", d, d)
		}
	}
	for _, p := range seen {
		a = append(a, "--ro-bind-try", p, p)
	}
	a = append(a, "--proc", "/proc", "--dev", "/dev")
	if strings.Contains(s.options, "--size") {
		a = append(a, "--size", strconv.Itoa(sandboxTmp))
	}
	a = append(a, "--tmpfs", "/tmp")
	for _, d := range python.dirs {
		if d != "/usr" && !strings.HasPrefix(d, "/usr/") {
			a = append(a, "--ro-bind", d, d)
		}
	}
	return append(a, "--ro-bind", dir.path(packageDir), sandboxPackage, "--ro-bind", dir.path(starterFile), sandboxStarter, "--remount-ro", "/", "--")
}
