package script

import (
	"os"
	"syscall"
)

// attributes of a script's process: a group of its own, dead when we are, and never root.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return a
}

// give hands a directory to whom scripts run as.
func give(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

// asWhom tells the operator whose rights count.
func asWhom() string {
	if os.Geteuid() == 0 {
		return "as nobody, because gybe runs as root"
	}
	return "as the user of gybe"
}

// killGroup kills a process and all that have stayed in its group.
func killGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return err
	}
	return nil
}

// hold locks a directory until the file is closed or its process is dead; false when another holds it.
func hold(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
