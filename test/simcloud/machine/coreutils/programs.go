// Package coreutils holds the ordinary Unix programs of a simulated machine: text, files, processes, hashes and
// archives. They work for real, on the machine's own files and processes, with the options that scripts use; an unknown
// option is refused with status 2, never ignored.
package coreutils

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Programs is every program of this package by name. TestProgramsHaveUsers records who needs each of them.
var Programs = map[string]process.Program{
	"awk": awk, "arch": uname, "base64": base64Text, "cat": cat, "chmod": chmod, "chown": chown, "cmp": cmpFiles,
	"cp": cp, "cut": cut, "date": date, "dd": dd, "dirname": dirname, "env": env, "flock": flock, "getent": getent,
	"grep": grep, "head": head, "hostname": hostname, "id": id, "install": install, "kill": kill, "ls": ls,
	"mkdir": mkdir, "mktemp": mktemp, "mv": mv, "pgrep": pgrep, "pkill": pgrep, "printenv": printenv, "pwd": pwd,
	"readlink": readlink, "rm": rm, "sed": sed, "seq": seq, "setsid": setsid, "sha256sum": sha256sum, "sleep": sleep,
	"stat": stat, "sudo": sudo, "tail": tail, "tar": tar, "tee": tee, "test": viaShell, "timeout": timeout,
	"touch": touch, "tr": tr, "true": nop, "tty": tty, "uname": uname, "wc": wc,
	"whoami": id,
}

func nop(context.Context, *process.Proc) int { return 0 }

// fail prints "prog: subject: reason" and returns status 1.
func fail(p *process.Proc, subject string, err error) int {
	return p.Errorf("%s: %s: %s\n", p.Name(), subject, process.Reason(err))
}

// open opens an operand for reading; "-" is standard input.
func open(p *process.Proc, name string) (io.Reader, func(), error) {
	if name == "-" {
		return p.In(), func() {}, nil
	}
	f, err := p.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	if file := f.File(); file != nil && file.Stat().IsDir() {
		f.Close()
		return nil, nil, syscall.EISDIR
	}
	return f.Reader(p.Context()), f.Close, nil
}

// each calls do for every input: the operands, or standard input without any. It prints what cannot be opened and
// returns the status.
func each(p *process.Proc, names []string, do func(name string, r io.Reader) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, n := range names {
		r, done, err := open(p, n)
		if err == nil {
			err = do(n, r)
			done()
		}
		if err != nil {
			if p.Context().Err() != nil {
				return 1
			}
			status = fail(p, n, err)
		}
	}
	return status
}

// lines calls do for every line without its newline; ended tells whether it had one. do returns false to stop.
func lines(r io.Reader, do func(line string, ended bool) bool) error {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if line != "" {
			t, ended := strings.CutSuffix(line, "\n")
			if !do(t, ended) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// output is buffered standard output; flush it before returning.
func output(p *process.Proc) *bufio.Writer { return bufio.NewWriterSize(p.Out(), 32<<10) }

func flush(w *bufio.Writer, status int) int {
	if w.Flush() != nil && status == 0 {
		return 1
	}
	return status
}

// readAll reads an operand whole.
func readAll(p *process.Proc, name string) ([]byte, error) {
	r, done, err := open(p, name)
	if err != nil {
		return nil, err
	}
	defer done()
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	return b.Bytes(), err
}
