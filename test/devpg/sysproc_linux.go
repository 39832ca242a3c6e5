package devpg

import "syscall"

// tieToParent lets the kernel stop the server with sig when the thread that started it is gone.
func tieToParent(a *syscall.SysProcAttr, sig syscall.Signal) { a.Pdeathsig = sig }
