// Package shell is the bash (and sh) of a simulated machine: the interpreter of mvdan.cc/sh on the files, processes and
// network of the simulation. ADR 025 says where it differs from the real ones.
package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// shell is one shell process.
type shell struct {
	p     *process.Proc
	posix bool
	name  string //  $0
	funcs map[string]bool
	ctx   context.Context //nolint:containedctx // of what the shell runs: ends with a signal
	run   *interp.Runner
}

// Bash is the program bash.
func Bash(_ context.Context, p *process.Proc) int { return start(p, false) }

// Sh is the program sh: without bash's extensions of the syntax.
func Sh(_ context.Context, p *process.Proc) int { return start(p, true) }

// command is what the command line of a shell asks for.
type command struct {
	flags, args []string
	text        *string // of -c
}

// parseArgs reads the command line; what is wrong with it is an error.
func parseArgs(args []string) (c command, err error) {
	c.args = args[1:]
	hasText := false
	for len(c.args) > 0 && len(c.args[0]) > 1 && strings.ContainsAny(c.args[0][:1], "-+") {
		a := c.args[0]
		c.args = c.args[1:]
		if a == "--" {
			break
		}
		if a == "--login" {
			continue
		}
		for _, flag := range a[1:] {
			switch flag {
			case 'c':
				hasText = true
			case 'l', 's', 'i':
			case 'o':
				if len(c.args) == 0 {
					return c, errors.New("-o: option requires an argument")
				}
				c.flags, c.args = append(c.flags, a[:1]+"o", c.args[0]), c.args[1:]
			default:
				c.flags = append(c.flags, a[:1]+string(flag))
			}
		}
	}
	if hasText {
		if len(c.args) == 0 {
			return c, errors.New("-c: option requires an argument")
		}
		c.text, c.args = &c.args[0], c.args[1:]
	}
	return c, nil
}

func start(p *process.Proc, posix bool) int {
	s := &shell{p: p, posix: posix, name: p.Args[0]}
	c, err := parseArgs(p.Args)
	if err != nil {
		p.Errorf("%s: %s\n", s.name, err)
		return 2
	}
	var src string
	switch {
	case c.text != nil:
		src = *c.text
		if len(c.args) > 0 {
			s.name, c.args = c.args[0], c.args[1:]
		}
	case len(c.args) > 0:
		s.name, c.args = c.args[0], c.args[1:]
		b, err := p.ReadFile(s.name)
		if err != nil {
			p.Errorf("%s: %s: %s\n", p.Args[0], s.name, process.Reason(err))
			return 127
		}
		src = string(b)
	default:
		return s.interpret(c, nil)
	}
	sc, err := parse(src, posix)
	if err != nil {
		return s.syntaxError(err)
	}
	s.funcs = sc.funcs
	return s.interpret(c, sc)
}

func (s *shell) syntaxError(err error) int {
	text, line := syntaxText(err)
	s.p.Errorf("%s: line %d: syntax error: %s\n", s.name, line, text)
	return 2
}

// interpret runs a script, or without one what comes on standard input, and returns the exit status.
func (s *shell) interpret(c command, sc *script) int {
	ctx, cancel := context.WithCancelCause(s.p.Context())
	defer cancel(nil)
	s.ctx = ctx
	s.p.Handle(func(sig process.Signal) bool {
		cancel(process.Killed{Signal: sig})
		return true
	})
	opts := []interp.RunnerOption{
		interp.Env(environOf(s.p)), func(r *interp.Runner) error { r.Dir = s.p.Dir; return nil },
		interp.StdIO(nil, own{s.p, 1}, own{s.p, 2}),
		interp.Params(append(c.flags, append([]string{"--"}, c.args...)...)...), interp.CallHandler(s.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(s.open), interp.StatHandler(s.stat), interp.AccessHandler(s.access),
		interp.ReadDirHandler2(s.readDir),
	}
	if sc != nil && sc.reads && s.p.FD(0) != nil {
		in, done, err := s.stdin(ctx)
		if err != nil {
			s.p.Errorf("%s: %s\n", s.name, err)
			return 1
		}
		defer done()
		opts = append(opts, interp.StdIO(in, own{s.p, 1}, own{s.p, 2}))
	}
	var err error
	if s.run, err = interp.New(opts...); err != nil {
		s.p.Errorf("%s: %s\n", s.name, err)
		return 2
	}
	if sc == nil {
		return s.commands()
	}
	err = s.run.Run(ctx, &syntax.File{Name: s.name, Stmts: sc.file.Stmts})
	if sc.background {
		s.awaitJobs()
	}
	return s.status(err)
}

// awaitJobs waits for the commands in the background, which use the descriptors of this process.
func (s *shell) awaitJobs() {
	if wait, err := parse("wait", false); err == nil {
		_ = s.run.Run(context.WithoutCancel(s.ctx), wait.file.Stmts[0])
	}
}

// status makes an exit status of what the interpreter returned. A signal that ends the shell runs the trap of EXIT.
func (s *shell) status(err error) int {
	if killed, ok := errors.AsType[process.Killed](context.Cause(s.ctx)); ok {
		if s.p.Context().Err() == nil {
			_ = s.run.Run(s.p.Context(), &syntax.File{Name: s.name})
		}
		return 128 + int(killed.Signal)
	}
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		return s.p.Errorf("%s: %s\n", s.name, err)
	}
	return 0
}

// commands runs commands as they arrive on standard input.
func (s *shell) commands() int {
	var err error
	sc := &script{funcs: map[string]bool{}}
	for st, perr := range newParser(s.posix).StmtsSeq(&byteReader{s.p.In()}) {
		if perr == nil {
			perr = sc.adapt(st)
		}
		if perr != nil {
			return s.syntaxError(perr)
		}
		s.funcs = sc.funcs
		err = s.run.Run(s.ctx, st)
		if s.run.Exited() || s.ctx.Err() != nil {
			return s.status(err)
		}
	}
	var last error
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		last = status
	}
	_ = s.run.Run(s.ctx, &syntax.File{Name: s.name}) // the trap of EXIT
	return s.status(last)
}

// byteReader hands out one byte at a time, so that the parser never takes input meant for a command.
type byteReader struct{ r io.Reader }

// Read implements io.Reader.
func (l *byteReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return l.r.Read(b[:1])
}

// stdin makes a file of the host of standard input, which the builtin read needs.
func (s *shell) stdin(ctx context.Context) (io.Reader, func(), error) {
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	in := s.p.FD(0).Reader(ctx)
	go func() {
		defer close(ended)
		_, _ = io.Copy(pw, in)
		_ = pw.Close()
	}()
	return pr, func() {
		cancel()
		_ = pr.Close()
		<-ended
	}, nil
}
