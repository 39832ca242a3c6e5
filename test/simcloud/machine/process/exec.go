package process

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// defaultPath is used without PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// LookPath finds the file that name runs, along PATH of the process. The error is ENOENT or EACCES.
func (p *Proc) LookPath(name string) (string, error) {
	v := p.FS()
	if strings.Contains(name, "/") {
		return name, executable(v, p.Abs(name))
	}
	list, ok := p.Env["PATH"]
	if !ok {
		list = defaultPath
	}
	var denied error
	for dir := range strings.SplitSeq(list, ":") {
		if dir == "" {
			dir = "."
		}
		full := path.Join(dir, name)
		err := executable(v, p.Abs(full))
		if err == nil {
			return full, nil
		}
		if errno(err) == syscall.EACCES {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", &fs.PathError{Op: "exec", Path: name, Err: syscall.ENOENT}
}

func executable(v memfs.View, name string) error {
	i, err := v.Stat(name)
	if err != nil {
		return err
	}
	if i.IsDir() {
		return &fs.PathError{Op: "exec", Path: name, Err: syscall.EISDIR}
	}
	return v.Access(name, memfs.Exec)
}

// Load prepares what executing the file at name with p.Args means: it returns the program, and puts an interpreter's
// name and the script in front of the arguments if the file is a script. A text file without #! gives ENOEXEC.
func (p *Proc) Load(name string) (Program, error) {
	for range 4 {
		head, err := p.head(name)
		if err != nil {
			return nil, err
		}
		if bin, ok := Binary(head); ok {
			prog := p.Sys.Lookup(bin)
			if prog == nil {
				return nil, &fs.PathError{Op: "exec", Path: name, Err: syscall.ENOEXEC}
			}
			return prog, nil
		}
		line, ok := strings.CutPrefix(string(head), "#!")
		if !ok {
			return nil, &fs.PathError{Op: "exec", Path: name, Err: syscall.ENOEXEC}
		}
		line, _, _ = strings.Cut(line, "\n")
		interp, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		args := []string{interp}
		if arg = strings.TrimSpace(arg); arg != "" {
			args = append(args, arg)
		}
		p.Args = append(append(args, name), p.Args[1:]...)
		name = interp
		if err := executable(p.FS(), p.Abs(name)); err != nil {
			return nil, err
		}
	}
	return nil, &fs.PathError{Op: "exec", Path: name, Err: syscall.ELOOP}
}

func (p *Proc) head(name string) ([]byte, error) {
	// The kernel reads the file whatever the read permission says.
	f, err := p.Sys.FS.As(memfs.Root).Open(p.Abs(name), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 256)
	n, _ := f.Read(b)
	return b[:n], nil
}

// Replace runs a loaded program in this running process, as execve(2) does, with the machine's hooks around it.
func (p *Proc) Replace(prog Program) int {
	p.Announce()
	start := p.Sys.Clock.Now()
	status, done := 0, false
	if p.Sys.Before != nil && !p.Quiet {
		status, done = p.Sys.Before(p.ctx, p)
	}
	if !done {
		status = prog(p.ctx, p)
	}
	if k, ok := errors.AsType[Killed](context.Cause(p.ctx)); ok {
		status = 128 + int(k.Signal)
	}
	if p.Sys.After != nil && !p.Quiet {
		status = p.Sys.After(p, status, p.Sys.Clock.Now().Sub(start))
	}
	return status
}

// Launch starts a process that Spawn made.
func (p *Proc) Launch(prog Program) {
	p.Start(func(_ context.Context, p *Proc) int { return p.Replace(prog) })
}

// Spawn makes a child that will run args found along PATH, with the parent's environment and descriptors, and returns
// it together with its program. setup may change the child before the program is loaded.
func (p *Proc) Spawn(args []string, setup func(c *Proc)) (*Proc, Program, error) {
	c, err := p.Fork()
	if err != nil {
		return nil, nil, err
	}
	c.Args = args
	c.Env = maps.Clone(p.Env)
	if setup != nil {
		setup(c)
	}
	file, err := c.LookPath(c.Args[0])
	if err == nil {
		var prog Program
		if prog, err = c.Load(file); err == nil {
			return c, prog, nil
		}
		if errno(err) == syscall.ENOEXEC {
			// What execvp(3) does: a text file without #! is given to the shell.
			if sh := p.Sys.Lookup("sh"); sh != nil {
				c.Args = append([]string{"sh", file}, c.Args[1:]...)
				return c, sh, nil
			}
		}
	}
	c.finish(127)
	return nil, nil, err
}

// Call spawns args, waits and returns the exit status; 127 or 126 with a message if it cannot be run. If the caller is
// killed during this time, it returns at once and the child goes on, as on Unix.
func (p *Proc) Call(args []string, setup func(c *Proc)) int {
	c, prog, err := p.Spawn(args, setup)
	if err != nil {
		return p.NoExec(args[0], err)
	}
	c.Launch(prog)
	status, err := c.Wait(p.ctx)
	if err != nil {
		return 128 + int(SIGKILL)
	}
	return status
}

// NoExec prints why name could not be run, as env(1) or nohup(1) would, and returns 127 or 126.
func (p *Proc) NoExec(name string, err error) int {
	p.Errorf("%s: failed to run command ‘%s’: %s\n", p.Name(), name, Reason(err))
	if errno(err) == syscall.ENOENT {
		return 127
	}
	return 126
}

// Errno is the errno inside err, 0 if there is none.
func Errno(err error) syscall.Errno { return errno(err) }
