package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// execCommand marks, in front of its arguments, a command that replaces the shell.
const execCommand = "__exec"

// call rewrites the builtins that the interpreter does not have, or runs on the host.
func (s *shell) call(ctx context.Context, args []string) ([]string, error) {
	switch args[0] {
	case "umask":
		if len(args) == 1 {
			return []string{"echo", fmt.Sprintf("%04o", umask(interp.HandlerCtx(ctx).Env))}, nil
		}
		if mask, err := strconv.ParseUint(args[1], 8, 9); err == nil {
			return []string{"eval", fmt.Sprintf("%s=%04o", umaskVar, mask)}, nil
		}
		return []string{"false"}, nil
	case "kill":
		return append([]string{"/bin/kill"}, args[1:]...), nil
	case "pwd":
		if len(args) > 1 {
			return append([]string{"/bin/pwd"}, args[1:]...), nil
		}
	case "ulimit":
		return []string{"true"}, nil
	case "exec":
		if len(args) > 1 {
			return append([]string{"exec", execCommand}, args[1:]...), nil
		}
	case "trap":
		return trap(args), nil
	case "command", "type", "hash":
		if len(args) > 1 && (args[0] != "command" || args[1] == "-v") {
			return s.find(ctx, args), nil
		}
	case "[", "test":
		if len(args) > 2 && args[1] == "-t" {
			return []string{strconv.FormatBool(s.p.TTY)}, nil
		}
	}
	return args, nil
}

// trap keeps EXIT and ERR of the conditions: a signal that ends the shell runs the trap of EXIT.
func trap(args []string) []string {
	kept := slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool {
		_, isSignal := process.ParseSignal(a)
		return isSignal && a != "0"
	})
	if len(kept) == 1 && kept[0] != "EXIT" && kept[0] != "ERR" {
		return []string{"true"}
	}
	for i, a := range kept {
		if a == "0" && i > 0 {
			kept[i] = "EXIT"
		}
	}
	return append([]string{"trap"}, kept...)
}

// find answers command -v and its like.
func (s *shell) find(ctx context.Context, args []string) []string {
	hc := interp.HandlerCtx(ctx)
	q := &process.Proc{Sys: s.p.Sys, Cred: s.p.Cred, Dir: hc.Dir, Env: exported(hc.Env)}
	var found []string
	for _, name := range args[1:] {
		if strings.HasPrefix(name, "-") {
			continue
		}
		file, err := q.LookPath(name)
		switch {
		case s.funcs[name], interp.IsBuiltin(name):
			found = append(found, name)
		case err == nil:
			found = append(found, file)
		default:
			return []string{"false"}
		}
	}
	if args[0] == "hash" {
		return []string{"true"}
	}
	return append([]string{"printf", `%s\n`}, found...)
}

// exec runs a program as a child process.
func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	inPlace := args[0] == execCommand
	if inPlace {
		args = args[1:]
	}
	if args[0] == connectCommand {
		return s.connect(ctx, hc, args[1])
	}
	var outs []*collected
	out := func(w io.Writer) *process.FD {
		switch w := w.(type) {
		case own:
			if f := s.p.FD(w.n); f != nil {
				return f.Dup()
			}
			return nil
		case descriptor:
			return w.Dup()
		case *os.File:
			return process.NewFD(hostPipe{w})
		}
		c := &collected{w: w}
		outs = append(outs, c)
		return process.NewFD(c)
	}
	c, prog, err := s.p.Spawn(args, func(c *process.Proc) {
		c.Env, c.Dir, c.Umask = exported(hc.Env), hc.Dir, umask(hc.Env)
		if f, ok := hc.Stdin.(*os.File); ok {
			c.SetFD(0, process.NewFD(hostPipe{f}))
		}
		stdout := out(hc.Stdout)
		c.SetFD(1, stdout)
		if stdout != nil && sameWriter(hc.Stdout, hc.Stderr) {
			c.SetFD(2, stdout.Dup())
		} else {
			c.SetFD(2, out(hc.Stderr))
		}
	})
	if err != nil {
		return s.notRun(hc, args[0], err)
	}
	// kill is a builtin of bash: nothing that the machine's journal shows.
	c.Quiet = c.Quiet || args[0] == "/bin/kill"
	if inPlace {
		s.p.Handle(func(sig process.Signal) bool { c.Signal(sig); return true })
	}
	c.Launch(prog)
	status, err := c.Wait(ctx)
	for _, o := range outs {
		o.end()
	}
	if err != nil {
		if inPlace {
			c.Signal(process.SIGKILL)
		}
		return err
	}
	if status != 0 {
		return interp.ExitStatus(status)
	}
	return nil
}

// sameWriter reports whether two outputs are the buffer of one command substitution.
func sameWriter(a, b io.Writer) bool {
	switch a.(type) {
	case own, descriptor, *os.File:
		return false
	}
	return a == b
}

func (s *shell) notRun(hc interp.HandlerContext, name string, err error) error {
	reason, status := process.Reason(err), interp.ExitStatus(126)
	if errors.Is(err, fs.ErrNotExist) {
		status = 127
		if !strings.Contains(name, "/") {
			reason = "command not found"
		}
	}
	at := fmt.Sprintf("line %d", hc.Pos.Line())
	if s.posix {
		at, reason = strconv.Itoa(int(hc.Pos.Line())), strings.TrimPrefix(reason, "command ")
	}
	_, _ = fmt.Fprintf(hc.Stderr, "%s: %s: %s: %s\n", s.name, at, name, reason)
	return status
}

// connect reports whether something accepts connections at /dev/tcp/HOST/PORT.
func (s *shell) connect(ctx context.Context, hc interp.HandlerContext, target string) error {
	host, port, _ := strings.Cut(strings.TrimPrefix(target, "/dev/tcp/"), "/")
	conn, err := s.p.Sys.Net.Dial(ctx, net.JoinHostPort(host, port))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		_, _ = fmt.Fprintf(hc.Stderr, "%s: connect: %s\n", s.name, process.Reason(err))
		return interp.ExitStatus(1)
	}
	_ = conn.Close()
	return nil
}

// open opens the target of a redirection, or a script to source.
func (s *shell) open(ctx context.Context, name string, flag int, _ fs.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	failed := func(err error) error {
		reason := err
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			reason = errors.New(process.Reason(pe.Err))
		}
		return &fs.PathError{Op: s.name + ":", Path: name, Err: reason}
	}
	writer := map[string]io.Writer{
		"/dev/stdout": hc.Stdout, "/dev/fd/1": hc.Stdout, "/dev/stderr": hc.Stderr, "/dev/fd/2": hc.Stderr,
	}[name]
	if writer != nil && flag&os.O_WRONLY != 0 {
		return passThrough{writer}, nil
	}
	abs := name
	if !path.IsAbs(abs) {
		abs = path.Join(hc.Dir, abs)
	}
	f, err := s.p.FS().Open(abs, flag, 0o666&^umask(hc.Env))
	if err != nil {
		return nil, failed(err)
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return descriptor{process.NewFD(process.OpenFile(f)), s.ctx}, nil
	}
	// The interpreter wants a file of the host for standard input.
	defer func() { _ = f.Close() }()
	if f.Stat().IsDir() {
		return nil, failed(errors.New("Is a directory")) //nolint:staticcheck // bash's text
	}
	if abs == "/dev/null" {
		return inputOf(strings.NewReader(""))
	}
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, failed(err)
	}
	return inputOf(strings.NewReader(string(b)))
}

// passThrough is another output under a name.
type passThrough struct{ io.Writer }

// Read implements io.Reader.
func (passThrough) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (passThrough) Close() error { return nil }

func (s *shell) stat(_ context.Context, name string, follow bool) (fs.FileInfo, error) {
	if follow {
		return s.p.FS().Stat(name)
	}
	return s.p.FS().Lstat(name)
}

func (s *shell) access(_ context.Context, name string, mode interp.AccessMode) error {
	return s.p.FS().Access(name, int(mode))
}

func (s *shell) readDir(_ context.Context, name string) ([]fs.DirEntry, error) {
	return s.p.FS().ReadDir(name)
}

// environ are the variables that a shell begins with.
type environ map[string]expand.Variable

// Get implements expand.Environ.
func (e environ) Get(name string) expand.Variable { return e[name] }

// Each implements expand.Environ.
func (e environ) Each(f func(string, expand.Variable) bool) {
	for k, v := range e {
		if !f(k, v) {
			return
		}
	}
}

func environOf(p *process.Proc) environ {
	e := environ{}
	set := func(name, value string) { e[name] = expand.Variable{Set: true, Kind: expand.String, Str: value} }
	set("HOME", "/")
	uid := strconv.Itoa(p.Cred.UID)
	for name, value := range map[string]string{
		"UID": uid, "EUID": uid, "GID": strconv.Itoa(p.Cred.GID), "BASH": "/bin/bash",
		"BASH_VERSION": "5.1.16(1)-release", "HOSTNAME": p.Sys.Hostname(), pidVar: strconv.Itoa(p.PID),
		ppidVar: strconv.Itoa(p.PPID), umaskVar: fmt.Sprintf("%04o", p.Umask),
	} {
		set(name, value)
	}
	for name, value := range p.Env {
		e[name] = expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value}
	}
	return e
}

// exported are the variables that a child process gets.
func exported(env expand.Environ) map[string]string {
	out := map[string]string{}
	for name, v := range env.Each {
		if v.IsSet() && v.Exported && v.Kind == expand.String {
			out[name] = v.Str
		} else {
			delete(out, name)
		}
	}
	return out
}

func umask(env expand.Environ) fs.FileMode {
	mask, err := strconv.ParseUint(env.Get(umaskVar).String(), 8, 9)
	if err != nil {
		return 0o022
	}
	return fs.FileMode(mask)
}
