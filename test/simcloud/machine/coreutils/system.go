package coreutils

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
)

// viaShell runs a program that is also a builtin of the shell.
func viaShell(ctx context.Context, p *process.Proc) int {
	name := p.Name()
	p.Args = append([]string{"bash", "-c", name + ` "$@"`, name}, p.Args[1:]...)
	return shell.Bash(ctx, p)
}

func date(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "ud:Rr:s:I::f:", "utc=u", "universal=u", "date:=d", "rfc-email=R", "iso-8601?=I", "reference:=r", "rfc-3339:=3", "set:=s")
	if !ok {
		return 1
	}
	t := p.Sys.Clock.Now().UTC()
	if f.has("d") {
		if t, ok = parseDate(f.val("d"), t); !ok {
			return p.Errorf("date: invalid date ‘%s’\n", f.val("d"))
		}
	}
	if r := f.val("r"); r != "" {
		i, err := p.FS().Stat(p.Abs(r))
		if err != nil {
			return fail(p, r, err)
		}
		t = i.ModTime().UTC()
	}
	layout := "%a %b %e %H:%M:%S %Z %Y"
	switch {
	case len(f.args) > 0 && strings.HasPrefix(f.args[0], "+"):
		layout = f.args[0][1:]
	case f.has("R"):
		layout = "%a, %d %b %Y %H:%M:%S %z"
	case f.has("I"):
		layout = map[string]string{"": "%F", "date": "%F", "seconds": "%FT%T%:z", "ns": "%FT%T,%N%:z", "minutes": "%FT%R%:z"}[f.val("I")]
	case f.has("3"):
		layout = "%F %T%:z"
	}
	p.Printf("%s\n", shell.Strftime(t.UTC(), layout))
	return 0
}

// span parses 5, 0.5, 2m, 1h.
func span(t string) (time.Duration, bool) {
	unit := time.Second
	if t == "infinity" || t == "inf" {
		return 1 << 62, true
	}
	if n := len(t); n > 0 {
		switch t[n-1] {
		case 's':
			t = t[:n-1]
		case 'm':
			unit, t = time.Minute, t[:n-1]
		case 'h':
			unit, t = time.Hour, t[:n-1]
		case 'd':
			unit, t = 24*time.Hour, t[:n-1]
		}
	}
	v, err := strconv.ParseFloat(t, 64)
	return time.Duration(v * float64(unit)), err == nil && v >= 0
}

func sleep(_ context.Context, p *process.Proc) int {
	total := time.Duration(0)
	for _, a := range p.Args[1:] {
		d, ok := span(a)
		if !ok {
			return p.Errorf("sleep: invalid time interval ‘%s’\n", a)
		}
		total += d
	}
	if len(p.Args) < 2 {
		return p.Errorf("sleep: missing operand\n")
	}
	if p.Sleep(total) != nil {
		return 1
	}
	return 0
}

func env(_ context.Context, p *process.Proc) int {
	if p.Name() == "printenv" {
		status := 0
		for _, n := range p.Args[1:] {
			if v, ok := p.Env[n]; ok {
				p.Printf("%s\n", v)
			} else {
				status = 1
			}
		}
		if len(p.Args) == 1 {
			printEnv(p, p.Env)
		}
		return status
	}
	f, ok := options(p, true, "iu:C:0S:v", "ignore-environment=i", "unset:=u", "chdir:=C", "split-string:=S")
	if !ok {
		return 125
	}
	vars := maps.Clone(p.Env)
	if f.has("i") {
		vars = map[string]string{}
	}
	for _, u := range f.vals["u"] {
		delete(vars, u)
	}
	args := f.args
	if len(args) > 0 && args[0] == "-" {
		vars, args = map[string]string{}, args[1:]
	}
	if s := f.val("S"); s != "" {
		args = append(strings.Fields(s), args...)
	}
	for len(args) > 0 {
		k, v, ok := strings.Cut(args[0], "=")
		if !ok || k == "" {
			break
		}
		vars[k], args = v, args[1:]
	}
	if len(args) == 0 {
		printEnv(p, vars)
		return 0
	}
	return become(p, args, vars, f.val("C"))
}

func printEnv(p *process.Proc, vars map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		p.Printf("%s=%s\n", k, vars[k])
	}
}

// become runs args in place of the present program.
func become(p *process.Proc, args []string, vars map[string]string, dir string) int {
	name := p.Name()
	p.Args, p.Env = args, vars
	if dir != "" {
		p.Dir = p.Abs(dir)
	}
	file, err := p.LookPath(args[0])
	if err == nil {
		var prog process.Program
		if prog, err = p.Load(file); err == nil {
			return p.Replace(prog)
		}
	}
	p.Errorf("%s: ‘%s’: %s\n", name, args[0], process.Reason(err))
	if strings.Contains(process.Reason(err), "No such") {
		return 127
	}
	return 126
}

func id(_ context.Context, p *process.Proc) int {
	me := p.Sys.UserName(p.Cred.UID)
	if p.Name() == "whoami" || p.Name() == "logname" {
		p.Printf("%s\n", me)
		return 0
	}
	f, ok := options(p, false, "ugGnr", "user=u", "group=g", "groups=G", "name=n", "real=r")
	if !ok {
		return 1
	}
	cred := p.Cred
	if len(f.args) > 0 {
		a, ok := p.Sys.Account(f.args[0])
		if !ok {
			return p.Errorf("id: ‘%s’: no such user\n", f.args[0])
		}
		cred, me = a.Cred, a.Name
	}
	gname := p.Sys.GroupName(cred.GID)
	var ids, names []string
	for _, g := range append([]int{cred.GID}, cred.Groups...) {
		ids, names = append(ids, strconv.Itoa(g)), append(names, p.Sys.GroupName(g))
	}
	pick := func(num, name string) {
		if f.has("n") {
			num = name
		}
		p.Printf("%s\n", num)
	}
	switch {
	case p.Name() == "groups":
		p.Printf("%s\n", strings.Join(names, " "))
	case f.has("u"):
		pick(strconv.Itoa(cred.UID), me)
	case f.has("g"):
		pick(strconv.Itoa(cred.GID), gname)
	case f.has("G"):
		pick(strings.Join(ids, " "), strings.Join(names, " "))
	default:
		var all []string
		for i := range ids {
			all = append(all, ids[i]+"("+names[i]+")")
		}
		p.Printf("uid=%d(%s) gid=%d(%s) groups=%s\n", cred.UID, me, cred.GID, gname, strings.Join(all, ","))
	}
	return 0
}

func hostname(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "fsiIdAb", "fqdn=f", "short=s", "all-ip-addresses=I", "ip-address=i", "long=f", "domain=d")
	if !ok {
		return 1
	}
	name := p.Sys.Hostname()
	switch {
	case len(f.args) > 0:
		if p.Cred.UID != 0 {
			return p.Errorf("hostname: you must be root to change the host name\n")
		}
		p.Sys.SetHostname(f.args[0])
		return 0
	case f.has("s"):
		name, _, _ = strings.Cut(name, ".")
	case f.has("d"):
		_, name, _ = strings.Cut(name, ".")
	case f.has("I"), f.has("i"):
		if a, ok := p.Sys.Net.(interface{ Addresses() []string }); ok {
			name = strings.Join(a.Addresses(), " ") + " "
		}
	}
	p.Printf("%s\n", name)
	return 0
}

func uname(_ context.Context, p *process.Proc) int {
	if p.Name() == "arch" {
		p.Printf("x86_64\n")
		return 0
	}
	f, ok := options(p, false, "asnrvmpio", "all=a", "kernel-name=s", "nodename=n", "kernel-release=r", "machine=m", "operating-system=o")
	if !ok {
		return 1
	}
	var out []string
	if len(f.on) == 0 {
		f.on["s"] = 1
	}
	for _, c := range []struct{ k, v string }{
		{"s", "Linux"},
		{"n", p.Sys.Hostname()},
		{"r", "5.15.0-107-generic"},
		{"v", "#117-Ubuntu SMP Fri Apr 26 12:26:49 UTC 2024"},
		{"m", "x86_64"},
		{"p", "x86_64"},
		{"i", "x86_64"},
		{"o", "GNU/Linux"},
	} {
		if f.has(c.k) || f.has("a") {
			out = append(out, c.v)
		}
	}
	p.Printf("%s\n", strings.Join(out, " "))
	return 0
}

func nproc(_ context.Context, p *process.Proc) int {
	n := 2
	if b, err := p.Sys.FS.As(memfs.Root).ReadFile("/proc/cpuinfo"); err == nil {
		n = max(strings.Count(string(b), "processor\t"), 1)
	}
	p.Printf("%d\n", n)
	return 0
}

func seq(_ context.Context, p *process.Proc) int {
	args, sep, format, width := p.Args[1:], "\n", "", false
	for len(args) > 1 && args[0][0] == '-' && (args[0][1] < '0' || args[0][1] > '9') {
		switch args[0] {
		case "-s":
			sep, args = args[1], args[1:]
		case "-f":
			format, args = args[1], args[1:]
		case "-w":
			width = true
		default:
			rest, ok := strings.CutPrefix(args[0], "-s")
			if !ok {
				return p.Errorf("seq: invalid option -- '%s'\n", args[0])
			}
			sep = rest
		}
		args = args[1:]
	}
	first, step := 1.0, 1.0
	var last float64
	nums := make([]float64, len(args))
	for i, a := range args {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil {
			return p.Errorf("seq: invalid floating point argument: ‘%s’\n", a)
		}
		nums[i] = v
	}
	switch len(nums) {
	case 1:
		last = nums[0]
	case 2:
		first, last = nums[0], nums[1]
	case 3:
		first, step, last = nums[0], nums[1], nums[2]
	default:
		return p.Errorf("seq: missing operand\n")
	}
	if step == 0 {
		return p.Errorf("seq: invalid Zero increment value: ‘0’\n")
	}
	var out []string
	for i := 0; ; i++ {
		v := first + float64(i)*step
		if step > 0 && v > last+1e-10 || step < 0 && v < last-1e-10 || i > 1e6 {
			break
		}
		t := strconv.FormatFloat(v, 'f', -1, 64)
		if format != "" {
			t = fmt.Sprintf(strings.ReplaceAll(format, "g", "v"), v)
		}
		if width {
			t = fmt.Sprintf("%0*s", len(strconv.FormatFloat(last, 'f', -1, 64)), t)
		}
		out = append(out, t)
	}
	if len(out) > 0 {
		_, _ = io.WriteString(p.Out(), strings.Join(out, sep)+"\n")
	}
	return 0
}

func yes(ctx context.Context, p *process.Proc) int {
	text := "y"
	if len(p.Args) > 1 {
		text = strings.Join(p.Args[1:], " ")
	}
	block := []byte(strings.Repeat(text+"\n", 100))
	for ctx.Err() == nil {
		if _, err := p.Out().Write(block); err != nil {
			return 1
		}
	}
	return 1
}

func expr(_ context.Context, p *process.Proc) int {
	a := p.Args[1:]
	put := func(v string) int {
		p.Printf("%s\n", v)
		return b2i(v == "" || v == "0")
	}
	if len(a) == 1 {
		return put(a[0])
	}
	if len(a) == 2 && a[0] == "length" {
		return put(strconv.Itoa(len(a[1])))
	}
	if len(a) == 3 {
		x, err1 := strconv.Atoi(a[0])
		y, err2 := strconv.Atoi(a[2])
		num := err1 == nil && err2 == nil
		switch a[1] {
		case "=", "==":
			return put(strconv.Itoa(b2i(a[0] == a[2])))
		case "!=":
			return put(strconv.Itoa(b2i(a[0] != a[2])))
		case "+", "-", "*", "/", "%", "<", ">", "<=", ">=":
			if !num {
				p.Errorf("expr: non-integer argument\n")
				return 2
			}
			if y == 0 && (a[1] == "/" || a[1] == "%") {
				p.Errorf("expr: division by zero\n")
				return 2
			}
			return put(strconv.Itoa(map[string]func() int{
				"+": func() int { return x + y }, "-": func() int { return x - y }, "*": func() int { return x * y }, "/": func() int { return x / y },
				"%": func() int { return x % y }, "<": func() int { return b2i(x < y) }, ">": func() int { return b2i(x > y) },
				"<=": func() int { return b2i(x <= y) }, ">=": func() int { return b2i(x >= y) },
			}[a[1]]()))
		case "|":
			if a[0] != "" && a[0] != "0" {
				return put(a[0])
			}
			return put(a[2])
		case "&":
			if a[0] == "" || a[0] == "0" || a[2] == "" || a[2] == "0" {
				return put("0")
			}
			return put(a[0])
		case ":":
			re, err := compile("^"+a[2], false, false)
			if err != nil {
				return 2
			}
			m := re.FindStringSubmatch(a[0])
			if len(m) > 1 {
				return put(m[1])
			}
			if m == nil {
				return put("0")
			}
			return put(strconv.Itoa(len(m[0])))
		}
	}
	p.Errorf("expr: syntax error\n")
	return 2
}

func tty(_ context.Context, p *process.Proc) int {
	if p.TTY {
		p.Printf("/dev/pts/0\n")
		return 0
	}
	p.Printf("not a tty\n")
	return 1
}

func uptime(_ context.Context, p *process.Proc) int {
	up := p.Sys.Uptime()
	if slices.Contains(p.Args, "-s") {
		p.Printf("%s\n", p.Sys.Clock.Now().Add(-up).UTC().Format("2006-01-02 15:04:05"))
		return 0
	}
	p.Printf(" %s up %d min,  1 user,  load average: 0.00, 0.00, 0.00\n", p.Sys.Clock.Now().UTC().Format("15:04:05"), int(up.Minutes()))
	return 0
}

func free(_ context.Context, p *process.Proc) int {
	total := 2048
	if b, err := p.Sys.FS.As(memfs.Root).ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			if kb, ok := atoi(f[1]); ok {
				total = kb / 1024
			}
		}
	}
	p.Printf("               total        used        free      shared  buff/cache   available\n")
	p.Printf("Mem: %15d %11d %11d %11d %11d %11d\nSwap: %14d %11d %11d\n", total, total/5, total/2, 1, total*3/10, total*3/4, 0, 0, 0)
	return 0
}

func getent(_ context.Context, p *process.Proc) int {
	if len(p.Args) < 2 {
		return 1
	}
	files := map[string]string{"passwd": "/etc/passwd", "group": "/etc/group", "hosts": "/etc/hosts", "ahosts": "/etc/hosts", "ahostsv4": "/etc/hosts"}
	name, ok := files[p.Args[1]]
	if !ok {
		return p.Errorf("Unknown database: %s\n", p.Args[1])
	}
	b, _ := p.FS().ReadFile(name)
	status := 0
	for _, key := range append(p.Args[2:], make([]string, b2i(len(p.Args) == 2))...) {
		found := false
		for l := range strings.Lines(string(b)) {
			l = strings.TrimSuffix(l, "\n")
			if name == "/etc/hosts" {
				f := strings.Fields(l)
				if len(f) < 2 || strings.HasPrefix(l, "#") || key != "" && !slices.Contains(f, key) {
					continue
				}
				p.Printf("%-15s %s\n", f[0], strings.Join(f[1:], " "))
			} else {
				f := strings.Split(l, ":")
				if key != "" && f[0] != key && (len(f) < 3 || f[2] != key) {
					continue
				}
				p.Printf("%s\n", l)
			}
			found = true
			if key != "" {
				break
			}
		}
		if !found {
			status = 2
		}
	}
	return status
}

func which(_ context.Context, p *process.Proc) int {
	status := 0
	for _, n := range p.Args[1:] {
		if n == "-a" || n == "-s" {
			continue
		}
		file, err := p.LookPath(n)
		if err != nil {
			status = 1
			continue
		}
		p.Printf("%s\n", file)
	}
	return status
}

func getconf(_ context.Context, p *process.Proc) int {
	v, ok := map[string]string{"LONG_BIT": "64", "PAGESIZE": "4096", "PAGE_SIZE": "4096", "_NPROCESSORS_ONLN": strconv.Itoa(min(runtime.NumCPU(), 2))}[p.Args[len(p.Args)-1]]
	if !ok {
		return p.Errorf("getconf: Unrecognized variable `%s'\n", p.Args[len(p.Args)-1])
	}
	p.Printf("%s\n", v)
	return 0
}
