package coreutils

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
)

// viaShell runs a program that is also a builtin of the shell.
func viaShell(ctx context.Context, p *process.Proc) int {
	name := p.Name()
	p.Args = append([]string{"bash", "-c", name + ` "$@"`, name}, p.Args[1:]...)
	return shell.Bash(ctx, p)
}

func atoi(t string) (int, bool) {
	n, err := strconv.Atoi(t)
	return n, err == nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// date prints the machine's time: as a number of seconds, or in full.
func date(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "u", "utc=u")
	if !ok {
		return 1
	}
	now := p.Sys.Clock.Now().UTC()
	switch strings.Join(f.Args, " ") {
	case "":
		p.Printf("%s\n", now.Format(time.UnixDate))
	case "+%s":
		p.Printf("%d\n", now.Unix())
	default:
		return p.Errorf("date: format ‘%s’ is not simulated\n", f.Args[0])
	}
	return 0
}

// span parses 5, 0.5s, 2m, 1h and infinity.
func span(t string) (time.Duration, bool) {
	if t == "infinity" {
		return 1 << 62, true
	}
	if t != "" && t[len(t)-1] >= '0' && t[len(t)-1] <= '9' {
		t += "s"
	}
	d, err := time.ParseDuration(t)
	return d, err == nil && d >= 0
}

func sleep(_ context.Context, p *process.Proc) int {
	if len(p.Args) != 2 {
		return p.Errorf("sleep: one operand is simulated\n")
	}
	d, ok := span(p.Args[1])
	if !ok {
		return p.Errorf("sleep: invalid time interval ‘%s’\n", p.Args[1])
	}
	return b2i(p.Sleep(d) != nil)
}

func env(_ context.Context, p *process.Proc) int {
	vars, args := maps.Clone(p.Env), p.Args[1:]
	for len(args) > 0 {
		k, v, ok := strings.Cut(args[0], "=")
		if !ok || k == "" {
			return become(p, args, vars)
		}
		vars[k], args = v, args[1:]
	}
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		p.Printf("%s=%s\n", k, vars[k])
	}
	return 0
}

func printenv(_ context.Context, p *process.Proc) int {
	status := 0
	for _, n := range p.Args[1:] {
		if v, ok := p.Env[n]; ok {
			p.Printf("%s\n", v)
		} else {
			status = 1
		}
	}
	return status
}

// become runs args in place of the present program.
func become(p *process.Proc, args []string, vars map[string]string) int {
	name := p.Name()
	p.Args, p.Env = args, vars
	file, err := p.LookPath(args[0])
	if err == nil {
		var prog process.Program
		if prog, err = p.Load(file); err == nil {
			return p.Replace(prog)
		}
	}
	p.Errorf("%s: ‘%s’: %s\n", name, args[0], process.Reason(err))
	return 127
}

func id(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "ugn", "user=u", "group=g", "name=n")
	if !ok || len(f.Args) > 0 {
		return p.Errorf("id: only the caller is simulated\n")
	}
	user, group := p.Sys.UserName(p.Cred.UID), p.Sys.GroupName(p.Cred.GID)
	switch {
	case p.Name() == "whoami", f.Has("u") && f.Has("n"):
		p.Printf("%s\n", user)
	case f.Has("g") && f.Has("n"):
		p.Printf("%s\n", group)
	case f.Has("u"):
		p.Printf("%d\n", p.Cred.UID)
	case f.Has("g"):
		p.Printf("%d\n", p.Cred.GID)
	default:
		var all []string
		for _, g := range append([]int{p.Cred.GID}, p.Cred.Groups...) {
			all = append(all, strconv.Itoa(g)+"("+p.Sys.GroupName(g)+")")
		}
		p.Printf("uid=%d(%s) gid=%d(%s) groups=%s\n", p.Cred.UID, user, p.Cred.GID, group, strings.Join(all, ","))
	}
	return 0
}

func hostname(_ context.Context, p *process.Proc) int {
	if len(p.Args) > 1 {
		return p.Errorf("hostname: options and operands are not simulated\n")
	}
	p.Printf("%s\n", p.Sys.Hostname())
	return 0
}

// uname is uname and arch.
func uname(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "mrn", "machine=m", "kernel-release=r", "nodename=n")
	if !ok {
		return 1
	}
	switch {
	case p.Name() == "arch" || f.Has("m"):
		p.Printf("x86_64\n")
	case f.Has("r"):
		p.Printf("5.15.0-107-generic\n")
	case f.Has("n"):
		p.Printf("%s\n", p.Sys.Hostname())
	default:
		p.Printf("Linux\n")
	}
	return 0
}

func tty(_ context.Context, p *process.Proc) int {
	if p.TTY {
		p.Printf("/dev/pts/0\n")
		return 0
	}
	p.Printf("not a tty\n")
	return 1
}

// getent looks one name up in a file of /etc.
func getent(_ context.Context, p *process.Proc) int {
	if len(p.Args) != 3 || !slices.Contains([]string{"passwd", "group", "hosts"}, p.Args[1]) {
		return p.Errorf("getent: one name in passwd, group or hosts is simulated\n")
	}
	b, _ := p.FS().ReadFile("/etc/" + p.Args[1])
	for l := range strings.Lines(string(b)) {
		fields := strings.Split(l, ":")[:1]
		if p.Args[1] == "hosts" {
			fields = strings.Fields(l)
		}
		if !strings.HasPrefix(l, "#") && slices.Contains(fields, p.Args[2]) {
			p.Printf("%s\n", strings.TrimSuffix(l, "\n"))
			return 0
		}
	}
	return 2
}

// pgrep is pgrep and pkill.
func pgrep(_ context.Context, p *process.Proc) int {
	sig, kill := process.SIGTERM, p.Name() == "pkill"
	if kill && len(p.Args) > 1 {
		if s, ok := process.ParseSignal(strings.TrimPrefix(p.Args[1], "-")); ok {
			sig, p.Args = s, append(p.Args[:1:1], p.Args[2:]...)
		}
	}
	f, ok := p.Options(false, "fx", "full=f", "exact=x")
	if !ok || len(f.Args) != 1 {
		return 2
	}
	pattern := f.Args[0]
	if f.Has("x") {
		pattern = "^(" + pattern + ")$"
	}
	re, err := compile(pattern, true, false)
	if err != nil {
		return 2
	}
	status := 1
	for _, q := range p.Sys.Procs() {
		line := q.Cmdline()
		text := strings.Join(line, " ")
		if !f.Has("f") && len(line) > 0 {
			text = line[0][strings.LastIndexByte(line[0], '/')+1:]
		}
		if q.PID == p.PID || !re.MatchString(text) {
			continue
		}
		status = 0
		if !kill {
			p.Printf("%d\n", q.PID)
		} else if err := p.Kill(q.PID, sig); err != nil {
			p.Errorf("pkill: killing pid %d failed: %s\n", q.PID, process.Reason(err))
		}
	}
	return status
}
