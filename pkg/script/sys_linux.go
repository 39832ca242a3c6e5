package script

import (
	"os"
	"syscall"
)

// attributes returns those of a script's process: its own process group, killed with this process, and never root.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: unprivilegedID, Gid: unprivilegedID}
	}
	return a
}

// chownToScriptUser changes the owner of a directory to the user of scripts.
func chownToScriptUser(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, unprivilegedID, unprivilegedID)
}

// describeScriptUser describes the user of scripts for an error message.
func describeScriptUser() string {
	if os.Geteuid() == 0 {
		return "as an unprivileged user, because gybe runs as root"
	}
	return "as the user of gybe"
}

// killGroup kills a process group.
func killGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return err
	}
	return nil
}

// tryLock locks a directory until the file is closed or its process is dead; false if another process holds the lock.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
