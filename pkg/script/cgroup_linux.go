package script

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errNoProcess is the error for a process that has ended.
var errNoProcess = syscall.ESRCH

// findGroups returns the control groups for runs, or the reason why there are none.
func findGroups() (*groups, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	name, dir, err := ownGroup(string(mounts), string(own))
	if err != nil {
		return nil, err
	}
	// systemd's DelegateSubgroup=, and a predecessor in the same container, start this process in a group below the
	// delegated one.
	above := path.Dir(name) == "/" && path.Base(name) == nodeGroup
	switch {
	case isDelegated(filepath.Dir(dir), above):
		return newGroups(filepath.Dir(dir))
	case isDelegated(dir, name == "/"):
		return newGroups(dir)
	}
	return nil, fmt.Errorf("the control group %s is not delegated to gybe (Delegate=yes in the unit)", dir)
}

// isDelegated reports whether a group belongs to this process. systemd marks those that it does not manage itself. The
// group that a container sees as its root belongs to the container.
func isDelegated(dir string, isRoot bool) bool {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); err != nil {
		return false // the root of the machine
	}
	for _, mark := range []string{"trusted.delegate", "user.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, mark, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return isRoot && unix.Access(filepath.Join(dir, enabledFile), unix.W_OK) == nil
}

// join makes a process start in a group.
func (g group) join(a *syscall.SysProcAttr) {
	if g.file != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.file.Fd())
	}
}

// awaitEmpty waits until a group has no processes, for at most killTime: the kernel reports it in cgroup.events.
func awaitEmpty(dir string) {
	f, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // only read
	for end := time.Now().Add(killTime); time.Now().Before(end); {
		text := make([]byte, 256)
		n, err := f.ReadAt(text, 0)
		if n == 0 && err != nil || !strings.Contains(string(text[:n]), "populated 1") {
			return
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}, 1000) // an error: read again
	}
}
