package coreutils

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func timeout(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "s:", "signal:=s")
	if !ok || len(f.Args) < 2 {
		return 125
	}
	d, ok := span(f.Args[0])
	sig, known := process.ParseSignal("TERM")
	if f.Has("s") {
		sig, known = process.ParseSignal(f.Val("s"))
	}
	if !ok || !known {
		p.Errorf("timeout: invalid time interval or signal\n")
		return 125
	}
	// timeout leads a process group of its own and signals all of it.
	c, prog, err := p.Spawn(f.Args[1:], func(c *process.Proc) { c.NewSession() })
	if err != nil {
		return p.NoExec(f.Args[1], err)
	}
	p.Handle(func(s process.Signal) bool { _ = p.Kill(-c.PID, s); return false })
	c.Launch(prog)
	t := time.NewTimer(max(p.Sys.Clock.Real(d), time.Millisecond))
	defer t.Stop()
	expired := false
	for {
		select {
		case <-c.Done():
			st, _ := c.Wait(ctx)
			if expired && sig != process.SIGKILL {
				return 124
			}
			return st
		case <-ctx.Done():
			return 1
		case <-t.C:
			if expired = true; p.Kill(-c.PID, sig) != nil {
				c.Signal(sig)
			}
		}
	}
}

// flock runs a command under the lock of a file.
func flock(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "nw:E:o", "nonblock=n", "wait:=w", "conflict-exit-code:=E", "close=o")
	if !ok || len(f.Args) < 2 {
		p.Errorf("flock: a file and a command are needed; descriptors are not simulated\n")
		return 64
	}
	fd, err := p.Open(f.Args[0], os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		fd, err = p.Open(f.Args[0], os.O_RDONLY, 0)
	}
	if err != nil {
		p.Errorf("flock: cannot open lock file %s: %s\n", f.Args[0], process.Reason(err))
		return 66
	}
	defer fd.Close()
	file := fd.File()
	if file == nil {
		return 65
	}
	wait := ctx
	if f.Has("w") {
		d, ok := span(f.Val("w"))
		if !ok {
			p.Errorf("flock: invalid timeout value: '%s'\n", f.Val("w"))
			return 64
		}
		var cancel context.CancelFunc
		wait, cancel = p.Sys.Clock.WithTimeout(ctx, d)
		defer cancel()
	}
	if err := file.Lock(wait, true, !f.Has("n")); err != nil {
		return f.Num("E", 1)
	}
	return p.Call(f.Args[1:], func(c *process.Proc) {
		if !f.Has("o") {
			c.SetFD(c.FreeFD(3), fd.Dup()) // the lock lives as long as a descriptor of the file
		}
	})
}

func setsid(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "f", "fork=f")
	if !ok || len(f.Args) == 0 {
		return 1
	}
	if !f.Has("f") && p.Group() != p.PID {
		p.NewSession()
		return become(p, f.Args, p.Env)
	}
	c, prog, err := p.Spawn(f.Args, func(c *process.Proc) { c.NewSession() })
	if err != nil {
		p.Errorf("setsid: failed to execute %s: %s\n", f.Args[0], process.Reason(err))
		return 127
	}
	c.Launch(prog)
	return 0
}

// sudo lets members of the group sudo do everything without a password.
func sudo(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "EHnu:", "preserve-env?=pe", "non-interactive=n", "user:=u")
	if !ok {
		return 1
	}
	g, known := p.Sys.Group("sudo")
	if p.Cred.UID != 0 && (!known || !slices.Contains(p.Cred.Groups, g)) {
		return p.Errorf("%s is not in the sudoers file.  This incident will be reported.\n", p.Sys.UserName(p.Cred.UID))
	}
	name := "root"
	if f.Has("u") {
		name = f.Val("u")
	}
	a, ok := p.Sys.Account(name)
	if !ok {
		return p.Errorf("sudo: unknown user: %s\n", name)
	}
	env, args := map[string]string{}, f.Args
	if f.Has("E") || f.Has("pe") && f.Val("pe") == "" {
		env = maps.Clone(p.Env)
	}
	for _, k := range append(strings.Split(f.Val("pe"), ","), "TERM", "LANG", "LC_ALL") {
		if v, ok := p.Env[k]; ok {
			env[k] = v
		}
	}
	maps.Copy(env, map[string]string{
		"HOME": a.Home, "USER": a.Name, "LOGNAME": a.Name, "SHELL": a.Shell, "SUDO_USER": p.Sys.UserName(p.Cred.UID),
		"SUDO_UID": strconv.Itoa(p.Cred.UID), "SUDO_GID": strconv.Itoa(p.Cred.GID),
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin",
	})
	for len(args) > 0 && strings.Contains(args[0], "=") {
		k, v, _ := strings.Cut(args[0], "=")
		env[k], args = v, args[1:]
	}
	if len(args) == 0 {
		return p.Errorf("usage: sudo [-EHn] [-u user] [VAR=value] command\n")
	}
	c, prog, err := p.Spawn(args, func(c *process.Proc) { c.Cred, c.Env = a.Cred, env })
	if err != nil {
		if process.Errno(err) == syscall.ENOENT {
			return p.Errorf("sudo: %s: command not found\n", args[0])
		}
		return p.Errorf("sudo: unable to execute %s: %s\n", args[0], process.Reason(err))
	}
	p.Handle(func(s process.Signal) bool { c.Signal(s); return true })
	c.Launch(prog)
	st, _ := c.Wait(p.Context())
	return st
}
