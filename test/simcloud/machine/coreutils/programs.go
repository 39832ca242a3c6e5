// Package coreutils holds the ordinary Unix programs of a simulated machine: text, files, processes, hashes and
// archives. They work for real, on the machine's own files and processes, with the options that scripts use; an option
// nobody knows is refused with status 2, never ignored.
package coreutils

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Programs is every program of this package by name.
var Programs = map[string]process.Program{
	"cat": cat, "head": head, "tail": tail, "wc": wc, "sort": sortLines, "uniq": uniq, "cut": cut, "tr": tr, "tee": tee, "rev": rev,
	"tac": tac, "nl": nl, "paste": paste, "fold": fold, "column": column, "comm": comm, "join": joinFiles, "expand": cat,
	"grep": grep, "egrep": grep, "fgrep": grep, "sed": sed, "awk": awk, "mawk": awk, "gawk": awk,
	"cp": cp, "mv": mv, "rm": rm, "mkdir": mkdir, "rmdir": rmdir, "ln": ln, "chmod": chmod, "chown": chown, "chgrp": chown,
	"touch": touch, "stat": stat, "ls": ls, "mktemp": mktemp, "install": install, "truncate": truncate, "readlink": readlink,
	"realpath": readlink, "basename": basename, "dirname": dirname, "find": find, "du": du, "df": df, "sync": nop, "dd": dd,
	"cmp": cmpFiles, "diff": diff, "tar": tar, "gzip": gzipFile, "gunzip": gzipFile, "zcat": gzipFile, "mkfifo": mkfifo, "file": file,
	"md5sum": checksum, "sha1sum": checksum, "sha256sum": checksum, "sha512sum": checksum, "base64": base64Text, "od": od,
	"xxd": od, "hexdump": od,
	"date": date, "sleep": sleep, "timeout": timeout, "env": env, "printenv": env, "id": id, "whoami": id, "groups": id, "logname": id,
	"hostname": hostname, "uname": uname, "arch": uname, "nproc": nproc, "seq": seq, "yes": yes, "xargs": xargs, "true": nop,
	"false": falsity, "test": viaShell, "[": viaShell, "printf": viaShell, "echo": viaShell, "kill": viaShell, "pwd": viaShell,
	"expr": expr, "flock": flock, "setsid": setsid, "nohup": nohup, "nice": nice, "ionice": nice, "stdbuf": nice, "time": nice,
	"chrt": nice, "ps": ps, "pgrep": pgrep, "pkill": pgrep, "killall": pgrep, "pidof": pgrep, "sudo": sudo, "su": su, "runuser": su,
	"tty": tty, "stty": nop, "clear": nop, "reset": nop, "uptime": uptime, "free": free, "getent": getent, "which": which,
	"getconf": getconf, "tput": nop, "locale": nop, "setpriv": nice, "nsenter": nice, "shred": rm, "unlink": rm, "w": uptime,
}

func nop(context.Context, *process.Proc) int     { return 0 }
func falsity(context.Context, *process.Proc) int { return 1 }

// flags are the options of one call.
type flags struct {
	on   map[string]int
	vals map[string][]string
	args []string
}

func (f *flags) has(name string) bool { return f.on[name] > 0 }

// given are those letters whose option is there.
func (f *flags) given(letters string) string {
	return strings.Map(func(r rune) rune {
		if f.has(string(r)) {
			return r
		}
		return -1
	}, letters)
}

func (f *flags) val(name string) string {
	if v := f.vals[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

func (f *flags) num(name string, def int) int {
	if v, err := strconv.Atoi(f.val(name)); err == nil {
		return v
	}
	return def
}

// options parses arguments as getopt_long does. short is like "ab:c" (a colon: takes a value, two: an optional
// attached one); each long is "name=x" for the short x, "name:=x" when it takes a value, "name?=x" when the value is
// optional, and x may be several letters to have no short form. Options may follow operands unless strict. On an
// unknown option it complains and returns false.
func options(p *process.Proc, strict bool, short string, long ...string) (*flags, bool) {
	f := &flags{on: map[string]int{}, vals: map[string][]string{}}
	set := func(name, v string) {
		f.on[name]++
		f.vals[name] = append(f.vals[name], v)
	}
	args := p.Args[1:]
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
			f.args = append(f.args, args...)
			return f, true
		case strings.HasPrefix(a, "--"):
			name, v, has := strings.Cut(a[2:], "=")
			target, kind, ok := findLong(name, long)
			if !ok {
				p.Errorf("%s: unrecognized option '%s'\n", p.Name(), a)
				return nil, false
			}
			if kind == ':' && !has {
				if len(args) == 0 {
					p.Errorf("%s: option '--%s' requires an argument\n", p.Name(), name)
					return nil, false
				}
				v, args = args[0], args[1:]
			}
			set(target, v)
		case len(a) > 1 && a[0] == '-':
			for i := 1; i < len(a); i++ {
				at := strings.IndexByte(short, a[i])
				if at < 0 || a[i] == ':' {
					p.Errorf("%s: invalid option -- '%c'\n", p.Name(), a[i])
					return nil, false
				}
				name := string(a[i])
				if at+1 >= len(short) || short[at+1] != ':' {
					set(name, "")
					continue
				}
				v := a[i+1:]
				if v == "" && !strings.HasPrefix(short[at+1:], "::") {
					if len(args) == 0 {
						p.Errorf("%s: option requires an argument -- '%c'\n", p.Name(), a[i])
						return nil, false
					}
					v, args = args[0], args[1:]
				}
				set(name, v)
				break
			}
		default:
			f.args = append(f.args, a)
			if strict {
				f.args = append(f.args, args...)
				return f, true
			}
		}
	}
	return f, true
}

func findLong(name string, long []string) (target string, kind byte, ok bool) {
	for _, l := range long {
		n, t, _ := strings.Cut(l, "=")
		k := byte(0)
		if c := n[len(n)-1]; c == ':' || c == '?' {
			n, k = n[:len(n)-1], c
		}
		if n == name {
			return t, k, true
		}
	}
	return "", 0, false
}

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

// slurp reads all lines of all inputs.
func slurp(p *process.Proc, names []string) ([]string, int) {
	var out []string
	status := each(p, names, func(_ string, r io.Reader) error {
		return lines(r, func(l string, _ bool) bool { out = append(out, l); return true })
	})
	return out, status
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

func basename(_ context.Context, p *process.Proc) int {
	f, ok := options(p, true, "as:z", "suffix:=s", "multiple=a")
	if !ok || len(f.args) == 0 {
		return 1
	}
	suffix, names := f.val("s"), f.args
	if !f.has("a") && !f.has("s") {
		if len(f.args) > 1 {
			suffix = f.args[1]
		}
		names = f.args[:1]
	}
	for _, n := range names {
		b := path.Base(n)
		if b != suffix {
			b = strings.TrimSuffix(b, suffix)
		}
		p.Printf("%s\n", b)
	}
	return 0
}

func dirname(_ context.Context, p *process.Proc) int {
	for _, n := range p.Args[1:] {
		d := path.Dir(strings.TrimRight(n, "/"))
		if strings.Trim(n, "/") == "" {
			d = "/"
		}
		p.Printf("%s\n", d)
	}
	return 0
}
