package coreutils

import (
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func timeout(ctx context.Context, p *process.Proc) int {
	f, ok := options(p, true, "s:k:v", "signal:=s", "kill-after:=k", "foreground=f", "preserve-status=p", "verbose=v")
	if !ok || len(f.args) < 2 {
		return 125
	}
	d, ok := span(f.args[0])
	if !ok {
		p.Errorf("timeout: invalid time interval ‘%s’\n", f.args[0])
		return 125
	}
	sig := process.SIGTERM
	if s := f.val("s"); s != "" {
		if sig, ok = process.ParseSignal(s); !ok {
			p.Errorf("timeout: ‘%s’: invalid signal\n", s)
			return 125
		}
	}
	c, prog, err := p.Spawn(f.args[1:], func(c *process.Proc) {
		if !f.has("f") {
			c.NewSession() // timeout leads a process group of its own and signals all of it
		}
	})
	if err != nil {
		return p.NoExec(f.args[1], err)
	}
	p.Handle(func(s process.Signal) bool { _ = p.Kill(-c.PID, s); return false })
	c.Launch(prog)
	var limit <-chan time.Time
	if d > 0 {
		t := time.NewTimer(max(p.Sys.Clock.Real(d), time.Millisecond))
		defer t.Stop()
		limit = t.C
	}
	expired := false
	for {
		select {
		case <-c.Done():
			st, _ := c.Wait(ctx)
			if expired && !f.has("p") {
				if sig == process.SIGKILL {
					return 137
				}
				return 124
			}
			return st
		case <-ctx.Done():
			return 1
		case <-limit:
			expired, limit = true, nil
			if f.has("f") {
				c.Signal(sig)
			} else if p.Kill(-c.PID, sig) != nil {
				c.Signal(sig)
			}
			if k, ok := span(f.val("k")); ok && f.has("k") && sig != process.SIGKILL {
				t := time.NewTimer(p.Sys.Clock.Real(k))
				defer t.Stop()
				limit, sig = t.C, process.SIGKILL
			}
		}
	}
}

func flock(ctx context.Context, p *process.Proc) int {
	f, ok := options(p, true, "sxunw:E:c:oFv", "shared=s", "exclusive=x", "unlock=u", "nonblock=n", "nb=n", "wait:=w", "timeout:=w",
		"conflict-exit-code:=E", "command:=c", "close=o", "no-fork=F")
	if !ok || len(f.args) == 0 {
		return 64
	}
	var fd *process.FD
	fdNum, err := strconv.Atoi(f.args[0])
	onFD := err == nil && len(f.args) == 1 && !f.has("c")
	if onFD {
		if fd = p.FD(fdNum); fd == nil || fd.File() == nil {
			p.Errorf("flock: %d: Bad file descriptor\n", fdNum)
			return 65
		}
	} else {
		if fd, err = p.Open(f.args[0], os.O_RDWR|os.O_CREATE, 0o666); err != nil {
			if fd, err = p.Open(f.args[0], os.O_RDONLY, 0); err != nil {
				p.Errorf("flock: cannot open lock file %s: %s\n", f.args[0], process.Reason(err))
				return 66
			}
		}
		defer fd.Close()
	}
	file := fd.File()
	if file == nil {
		return 65
	}
	if f.has("u") {
		file.Unlock()
		return 0
	}
	wait := ctx
	if f.has("w") {
		d, ok := span(f.val("w"))
		if !ok {
			p.Errorf("flock: invalid timeout value: '%s'\n", f.val("w"))
			return 64
		}
		var cancel context.CancelFunc
		wait, cancel = p.Sys.Clock.WithTimeout(ctx, d)
		defer cancel()
	}
	if err := file.Lock(wait, !f.has("s"), !f.has("n")); err != nil {
		if ctx.Err() == nil {
			return f.num("E", 1)
		}
		return 1
	}
	if onFD {
		return 0
	}
	cmd := f.args[1:]
	if f.has("c") {
		cmd = []string{"sh", "-c", f.val("c")}
	} else if len(cmd) > 1 && (cmd[0] == "-c" || cmd[0] == "--command") {
		cmd = append([]string{"sh"}, cmd...)
	}
	if len(cmd) == 0 {
		return 0
	}
	return p.Call(cmd, func(c *process.Proc) {
		if !f.has("o") {
			c.SetFD(c.FreeFD(3), fd.Dup()) // the lock lives as long as a descriptor of the file
		}
	})
}

func setsid(_ context.Context, p *process.Proc) int {
	f, ok := options(p, true, "cfw", "ctty=c", "fork=f", "wait=w")
	if !ok || len(f.args) == 0 {
		return 1
	}
	if !f.has("f") && p.Group() != p.PID {
		p.NewSession()
		return become(p, f.args, p.Env, "")
	}
	c, prog, err := p.Spawn(f.args, func(c *process.Proc) { c.NewSession() })
	if err != nil {
		p.Errorf("setsid: failed to execute %s: %s\n", f.args[0], process.Reason(err))
		return 127
	}
	c.Launch(prog)
	if f.has("w") {
		st, _ := c.Wait(p.Context())
		return st
	}
	return 0
}

func nohup(_ context.Context, p *process.Proc) int {
	if len(p.Args) < 2 {
		return 125
	}
	p.Ignore(process.SIGHUP)
	return become(p, p.Args[1:], p.Env, "")
}

// nice runs its command and ignores what it asks of the scheduler (nice, ionice, stdbuf, time, chrt).
func nice(_ context.Context, p *process.Proc) int {
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		takes := map[string]bool{"-n": true, "-c": true, "-o": true, "-e": true, "-i": true, "-f": true, "-p": true}[args[0]] && p.Name() != "time"
		args = args[1:]
		if takes && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		p.Printf("0\n")
		return 0
	}
	return become(p, args, p.Env, "")
}

// sudo lets members of the group sudo do everything without a password.
func sudo(_ context.Context, p *process.Proc) int {
	f, ok := options(p, true, "EnHiskKvlu:g:SbAp:D:", "preserve-env?=pe", "non-interactive=n", "set-home=H", "login=i", "shell=s", "user:=u",
		"group:=g", "stdin=S", "background=b", "chdir:=D", "reset-timestamp=k", "validate=v", "list=l")
	if !ok {
		return 1
	}
	if p.Cred.UID != 0 {
		g, ok := p.Sys.Group("sudo")
		if !ok || !slices.Contains(p.Cred.Groups, g) {
			return p.Errorf("%s is not in the sudoers file.  This incident will be reported.\n", p.Sys.UserName(p.Cred.UID))
		}
	}
	name := "root"
	if f.has("u") {
		name = strings.TrimPrefix(f.val("u"), "#")
	}
	a, ok := p.Sys.Account(name)
	if !ok {
		return p.Errorf("sudo: unknown user: %s\n", name)
	}
	vars, args := map[string]string{}, f.args
	caller := p.Sys.UserName(p.Cred.UID)
	for len(args) > 0 && strings.Contains(args[0], "=") {
		k, v, _ := strings.Cut(args[0], "=")
		vars[k], args = v, args[1:]
	}
	if len(args) == 0 && !f.has("i") && !f.has("s") {
		if f.has("v") || f.has("k") || f.has("K") || f.has("l") {
			return 0
		}
		return p.Errorf("usage: sudo -h | -K | -k | -V\n")
	}
	keep := map[string]string{}
	if f.has("E") || f.has("pe") && f.val("pe") == "" {
		keep = maps.Clone(p.Env)
	}
	for k := range strings.SplitSeq(f.val("pe"), ",") {
		if v, ok := p.Env[k]; ok {
			keep[k] = v
		}
	}
	for _, k := range []string{"TERM", "LANG", "DISPLAY", "LC_ALL"} {
		if v, ok := p.Env[k]; ok {
			keep[k] = v
		}
	}
	maps.Copy(keep, map[string]string{
		"HOME": a.Home, "USER": a.Name, "LOGNAME": a.Name, "SHELL": a.Shell, "SUDO_USER": caller, "SUDO_UID": strconv.Itoa(p.Cred.UID),
		"SUDO_GID": strconv.Itoa(p.Cred.GID), "SUDO_COMMAND": strings.Join(args, " "),
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin",
	})
	maps.Copy(keep, vars)
	dir := p.Dir
	if f.has("i") {
		dir = a.Home
	}
	if d := f.val("D"); d != "" {
		dir = p.Abs(d)
	}
	if f.has("i") || f.has("s") {
		sh := []string{a.Shell}
		if len(args) > 0 {
			sh = append(sh, "-c", strings.Join(args, " "))
		}
		args = sh
	}
	c, prog, err := p.Spawn(args, func(c *process.Proc) { c.Cred, c.Env, c.Dir = a.Cred, keep, dir })
	if err != nil {
		if process.Errno(err) == syscall.ENOENT {
			return p.Errorf("sudo: %s: command not found\n", args[0])
		}
		return p.Errorf("sudo: unable to execute %s: %s\n", args[0], process.Reason(err))
	}
	p.Handle(func(s process.Signal) bool { c.Signal(s); return true })
	c.Launch(prog)
	if f.has("b") {
		return 0
	}
	st, _ := c.Wait(p.Context())
	return st
}

func su(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "lc:ms:u:p", "login=l", "command:=c", "shell:=s", "user:=u", "preserve-environment=p")
	if !ok {
		return 1
	}
	args, name := f.args, "root"
	login := f.has("l")
	if len(args) > 0 && args[0] == "-" {
		login, args = true, args[1:]
	}
	if f.has("u") {
		name = f.val("u")
	} else if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	a, ok := p.Sys.Account(name)
	if !ok {
		return p.Errorf("%s: user %s does not exist or the user entry does not contain all the required fields\n", p.Name(), name)
	}
	if p.Cred.UID != 0 {
		return p.Errorf("%s: Authentication failure\n", p.Name())
	}
	cmd := []string{"bash"}
	if f.has("c") {
		cmd = append(cmd, "-c", f.val("c"))
	} else if f.has("u") && len(args) > 0 {
		cmd = args
	}
	return p.Call(cmd, func(c *process.Proc) {
		c.Cred = a.Cred
		c.Env["HOME"], c.Env["USER"], c.Env["LOGNAME"], c.Env["SHELL"] = a.Home, a.Name, a.Name, a.Shell
		if login {
			c.Dir = a.Home
		}
	})
}

func xargs(_ context.Context, p *process.Proc) int {
	f, ok := options(p, true, "n:I:i::0rd:P:tL:x", "null=0", "no-run-if-empty=r", "max-args:=n", "replace?=I", "delimiter:=d", "max-procs:=P")
	if !ok {
		return 1
	}
	data, err := io.ReadAll(p.In())
	if err != nil {
		return 1
	}
	cmd := f.args
	if len(cmd) == 0 {
		cmd = []string{"echo"}
	}
	repl := ""
	if f.has("I") || f.has("i") {
		if repl = f.val("I") + f.val("i"); repl == "" {
			repl = "{}"
		}
	}
	var items []string
	switch {
	case f.has("0"):
		items = strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	case f.has("d"):
		d := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00").Replace(f.val("d"))
		items = strings.Split(strings.TrimSuffix(string(data), d), d)
	case repl != "" || f.has("L"):
		for l := range strings.Lines(string(data)) {
			if l = strings.TrimSpace(l); l != "" {
				items = append(items, l)
			}
		}
	default:
		items = splitQuoted(string(data))
	}
	if len(items) == 1 && items[0] == "" {
		items = nil
	}
	var calls [][]string
	switch n := f.num("n", f.num("L", 0)); {
	case repl != "":
		for _, it := range items {
			c := make([]string, len(cmd))
			for i, a := range cmd {
				c[i] = strings.ReplaceAll(a, repl, it)
			}
			calls = append(calls, c)
		}
	case len(items) == 0:
		if !f.has("r") {
			calls = append(calls, cmd)
		}
	case n > 0:
		for ch := range slices.Chunk(items, n) {
			calls = append(calls, slices.Concat(cmd, ch))
		}
	default:
		calls = append(calls, slices.Concat(cmd, items))
	}
	return runCalls(p, calls, max(f.num("P", 1), 1))
}

// runCalls runs commands, several at once with parallel > 1; 123 if one fails, 127 if one cannot be found.
func runCalls(p *process.Proc, calls [][]string, parallel int) int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	status := 0
	for _, c := range calls {
		slots <- struct{}{}
		ch, prog, err := p.Spawn(c, func(c *process.Proc) {
			if null, err := c.Open("/dev/null", os.O_RDONLY, 0); err == nil {
				c.SetFD(0, null)
			}
		})
		if err != nil {
			p.Errorf("xargs: %s: %s\n", c[0], process.Reason(err))
			<-slots
			status = 127
			break
		}
		ch.Launch(prog)
		wg.Go(func() {
			st, err := ch.Wait(p.Context())
			mu.Lock()
			if err != nil || st != 0 {
				status = max(status, 123)
			}
			mu.Unlock()
			<-slots
		})
	}
	wg.Wait()
	return status
}

// splitQuoted splits at blanks; quotes and backslashes protect them.
func splitQuoted(t string) []string {
	var out []string
	var b strings.Builder
	in, quote := false, rune(0)
	esc := false
	for _, r := range t {
		switch {
		case esc:
			b.WriteRune(r)
			esc = false
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				b.WriteRune(r)
			}
		case r == '\\':
			esc, in = true, true
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ' || r == '\n' || r == '\t':
			if in {
				out = append(out, b.String())
				b.Reset()
				in = false
			}
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if in {
		out = append(out, b.String())
	}
	return out
}
