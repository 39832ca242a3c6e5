package coreutils

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// find supports -name, -iname, -path, -type, -maxdepth, -mindepth, -newer, -mmin, -mtime, -size, -user, -perm, -empty,
// -not, !, -o, -a, parentheses, -print, -print0, -delete, -exec … ; and +, -quit and -prune.
func find(_ context.Context, p *process.Proc) int {
	args := p.Args[1:]
	var roots []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "!" && args[0] != "(" {
		roots, args = append(roots, args[0]), args[1:]
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	fd := &finder{p: p, args: args, maxDepth: 1 << 30}
	expr, err := fd.or()
	if err == nil && fd.i < len(fd.args) {
		err = fmt.Errorf("unknown predicate `%s'", fd.args[fd.i])
	}
	if err != nil {
		return p.Errorf("find: %v\n", err)
	}
	for _, r := range roots {
		if _, err := p.FS().Lstat(p.Abs(r)); err != nil {
			fd.status = p.Errorf("find: ‘%s’: %s\n", r, process.Reason(err))
			continue
		}
		fd.walk(r, 0, expr)
	}
	for _, b := range fd.batches {
		if len(b.names) > 0 {
			fd.status = max(fd.status, p.Call(slices.Concat(b.cmd, b.names), nil))
		}
	}
	return fd.status
}

type findBatch struct{ cmd, names []string }

type finder struct {
	p                  *process.Proc
	args               []string
	i                  int
	maxDepth, minDepth int
	acts, depthFirst   bool
	prune, quit        bool
	status             int
	batches            []*findBatch
}

type findTest func(name string, i memfs.Info) bool

func (f *finder) walk(name string, depth int, expr findTest) {
	i, err := f.p.FS().Lstat(f.p.Abs(name))
	if err != nil || f.quit || f.p.Context().Err() != nil {
		return
	}
	test := func() {
		f.prune = false
		if depth >= f.minDepth && !f.quit && expr(name, i) && !f.acts {
			f.p.Printf("%s\n", name)
		}
	}
	if !f.depthFirst {
		test()
	}
	if i.IsDir() && depth < f.maxDepth && !f.prune {
		list, err := f.p.FS().ReadDir(f.p.Abs(name))
		if err != nil {
			f.status = f.p.Errorf("find: ‘%s’: %s\n", name, process.Reason(err))
		}
		for _, e := range list {
			f.walk(strings.TrimSuffix(name, "/")+"/"+e.Name(), depth+1, expr)
		}
	}
	if f.depthFirst {
		test()
	}
}

func (f *finder) or() (findTest, error) {
	left, err := f.and()
	for err == nil && f.i < len(f.args) && (f.args[f.i] == "-o" || f.args[f.i] == "-or") {
		f.i++
		var right findTest
		l := left
		if right, err = f.and(); err == nil {
			left = func(n string, i memfs.Info) bool { return l(n, i) || right(n, i) }
		}
	}
	return left, err
}

func (f *finder) and() (findTest, error) {
	left := findTest(func(string, memfs.Info) bool { return true })
	for f.i < len(f.args) && f.args[f.i] != "-o" && f.args[f.i] != "-or" && f.args[f.i] != ")" {
		if f.args[f.i] == "-a" || f.args[f.i] == "-and" {
			f.i++
			continue
		}
		right, err := f.one()
		if err != nil {
			return nil, err
		}
		l := left
		left = func(n string, i memfs.Info) bool { return l(n, i) && right(n, i) }
	}
	return left, nil
}

func (f *finder) one() (findTest, error) {
	op := f.args[f.i]
	f.i++
	yes := func(string, memfs.Info) bool { return true }
	switch op {
	case "!", "-not":
		t, err := f.one()
		if err != nil {
			return nil, err
		}
		return func(n string, i memfs.Info) bool { return !t(n, i) }, nil
	case "(":
		t, err := f.or()
		if err == nil && (f.i >= len(f.args) || f.args[f.i] != ")") {
			err = errors.New("invalid expression; I was expecting to find a ')' somewhere but did not see one")
		}
		f.i++
		return t, err
	case "-print":
		f.acts = true
		return func(n string, _ memfs.Info) bool { f.p.Printf("%s\n", n); return true }, nil
	case "-print0":
		f.acts = true
		return func(n string, _ memfs.Info) bool { f.p.Printf("%s\x00", n); return true }, nil
	case "-delete":
		f.acts, f.depthFirst = true, true
		return func(n string, _ memfs.Info) bool {
			if err := f.p.FS().Remove(f.p.Abs(n)); err != nil {
				f.status = f.p.Errorf("find: cannot delete ‘%s’: %s\n", n, process.Reason(err))
				return false
			}
			return true
		}, nil
	case "-depth":
		f.depthFirst = true
		return yes, nil
	case "-quit":
		f.acts = true
		return func(string, memfs.Info) bool { f.quit = true; return true }, nil
	case "-prune":
		return func(string, memfs.Info) bool { f.prune = true; return true }, nil
	case "-empty":
		return func(n string, i memfs.Info) bool {
			if i.IsDir() {
				l, _ := f.p.FS().ReadDir(f.p.Abs(n))
				return len(l) == 0
			}
			return i.Size() == 0
		}, nil
	case "-xdev", "-mount", "-follow", "-noleaf":
		return yes, nil
	case "-exec":
		return f.exec()
	}
	if f.i >= len(f.args) {
		return nil, fmt.Errorf("missing argument to `%s'", op)
	}
	arg := f.args[f.i]
	f.i++
	switch op {
	case "-name", "-iname":
		fold := func(t string) string { return t }
		if op == "-iname" {
			fold = strings.ToLower
		}
		return func(n string, _ memfs.Info) bool { ok, _ := path.Match(fold(arg), fold(path.Base(n))); return ok }, nil
	case "-path", "-wholename":
		re, err := compile("^"+strings.NewReplacer(".", `\.`, "*", ".*", "?", ".").Replace(arg)+"$", true, false)
		if err != nil {
			return nil, err
		}
		return func(n string, _ memfs.Info) bool { return re.MatchString(n) }, nil
	case "-type":
		return func(_ string, i memfs.Info) bool {
			switch m := i.Mode(); arg {
			case "f":
				return m.IsRegular()
			case "d":
				return m.IsDir()
			case "l":
				return m&fs.ModeSymlink != 0
			}
			return false
		}, nil
	case "-maxdepth", "-mindepth":
		n, err := strconv.Atoi(arg)
		if op == "-maxdepth" {
			f.maxDepth = n
		} else {
			f.minDepth = n
		}
		return yes, err
	case "-newer":
		ref, err := f.p.FS().Stat(f.p.Abs(arg))
		return func(_ string, i memfs.Info) bool { return i.ModTime().After(ref.ModTime()) }, err
	case "-mmin", "-mtime":
		unit := map[string]time.Duration{"-mmin": time.Minute, "-mtime": 24 * time.Hour}[op]
		n, err := strconv.Atoi(strings.TrimLeft(arg, "+-"))
		return func(_ string, i memfs.Info) bool {
			age := int(f.p.Sys.Clock.Now().Sub(i.ModTime()) / unit)
			switch arg[0] {
			case '+':
				return age > n
			case '-':
				return age < n
			}
			return age == n
		}, err
	case "-user":
		return func(_ string, i memfs.Info) bool { return f.p.Sys.UserName(int(i.Uid())) == arg }, nil
	case "-perm":
		n, err := strconv.ParseUint(strings.TrimLeft(arg, "-/"), 8, 32)
		return func(_ string, i memfs.Info) bool {
			m := uint64(i.Mode().Perm())
			if arg[0] == '-' {
				return m&n == n
			}
			return m == n
		}, err
	case "-size":
		n, err := size(strings.TrimSuffix(strings.TrimLeft(arg, "+-"), "c"))
		return func(_ string, i memfs.Info) bool {
			switch arg[0] {
			case '+':
				return i.Size() > n
			case '-':
				return i.Size() < n
			}
			return i.Size() == n
		}, err
	}
	return nil, fmt.Errorf("unknown predicate `%s'", op)
}

func (f *finder) exec() (findTest, error) {
	f.acts = true
	start := f.i
	for f.i < len(f.args) && f.args[f.i] != ";" && (f.args[f.i] != "+" || f.args[f.i-1] != "{}") {
		f.i++
	}
	if f.i >= len(f.args) {
		return nil, errors.New("missing argument to `-exec'")
	}
	cmd, plus := f.args[start:f.i], f.args[f.i] == "+"
	f.i++
	if plus {
		b := &findBatch{cmd: cmd[:len(cmd)-1]}
		f.batches = append(f.batches, b)
		return func(n string, _ memfs.Info) bool { b.names = append(b.names, n); return true }, nil
	}
	return func(n string, _ memfs.Info) bool {
		args := make([]string, len(cmd))
		for i, a := range cmd {
			args[i] = strings.ReplaceAll(a, "{}", n)
		}
		return f.p.Call(args, nil) == 0
	}, nil
}
