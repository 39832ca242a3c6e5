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

// unprivilegedID is the id of the unprivileged user and group that a script has if Gybe runs as root, and in a sandbox.
const unprivilegedID = 65534

// Paths in a sandbox.
const (
	sandboxPackage = "/package"
	sandboxStarter = "/start.py"
	sandboxLibrary = "/gybe"
	sandboxTmp     = 256 << 20 // bytes of /tmp
	sandboxShm     = 64 << 20  // bytes of /dev/shm
)

// visibleEtcFiles are the visible files of /etc: names, addresses and certificates, and no secrets.
var visibleEtcFiles = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services",
	"/etc/protocols", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/alternatives", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
	"/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
}

// sandbox is an installed bubblewrap.
type sandbox struct {
	path string
	// options is its help text, for options that only newer versions have.
	options string
}

func findSandbox(ctx context.Context) (sandbox, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return sandbox{}, fmt.Errorf(
			"scripts run in bubblewrap, which was not found; install it, or set scripts.sandbox to none if scripts "+
				"of packages may have all rights of gybe: %w",
			err,
		)
	}
	help, err := exec.CommandContext(ctx, path, "--help").CombinedOutput() //nolint:gosec // found in our PATH
	if err != nil {
		return sandbox{}, fmt.Errorf("%s --help: %w: %s", path, err, bytes.TrimSpace(help))
	}
	return sandbox{path, string(help)}, nil
}

// argv returns the arguments before those of the interpreter.
func (s sandbox) argv(python interpreter, dir *workdir, network string) []string {
	id := strconv.Itoa(unprivilegedID)
	a := []string{
		s.path, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--uid",
		id, "--gid", id, "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
	}
	if network != NetworkHost {
		a = append(a, "--unshare-net")
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
	for _, p := range visibleEtcFiles {
		a = append(a, "--ro-bind-try", p, p)
	}
	a = append(a, "--proc", "/proc", "--dev", "/dev")
	if strings.Contains(s.options, "--size") { // older ones have no /dev/shm that can be written
		a = append(a, "--size", strconv.Itoa(sandboxShm), "--tmpfs", "/dev/shm")
	}
	a = append(a, "--remount-ro", "/dev")
	if strings.Contains(s.options, "--size") {
		a = append(a, "--size", strconv.Itoa(sandboxTmp))
	}
	a = append(a, "--tmpfs", "/tmp")
	for _, d := range python.dirs {
		if d != "/usr" && !strings.HasPrefix(d, "/usr/") {
			a = append(a, "--ro-bind", d, d)
		}
	}
	return append(
		a,
		"--ro-bind",
		dir.path(packageDir),
		sandboxPackage,
		"--ro-bind",
		dir.path(libraryDir),
		sandboxLibrary,
		"--ro-bind",
		dir.path(starterFile),
		sandboxStarter,
		"--remount-ro",
		"/",
		"--",
	)
}
