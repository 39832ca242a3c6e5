package coreutils

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func ps(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "p:efAaxuo:lwC:qjhs:g:", "pid:=p", "no-headers=nh", "no-heading=nh", "sort:=sort", "ppid:=ppid", "format:=o", "forest=forest")
	if !ok {
		return 1
	}
	var pids []int
	for _, v := range append(f.vals["p"], f.args...) {
		for one := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r == ' ' }) {
			if n, ok := atoi(one); ok {
				pids = append(pids, n)
			}
		}
	}
	all := f.has("e") || f.has("A") || f.has("a") || f.has("x") || slices.ContainsFunc(f.args, func(a string) bool { return strings.ContainsAny(a, "ax") })
	cols := []string{"pid", "tty", "time", "cmd"}
	if f.has("f") || f.has("u") || slices.ContainsFunc(f.args, func(a string) bool { return strings.Contains(a, "u") }) {
		cols = []string{"user", "pid", "ppid", "tty", "time", "cmd"}
	}
	head := !f.has("nh") && !f.has("h")
	if f.has("o") {
		cols, head = nil, head && !strings.HasSuffix(f.val("o"), "=")
		for c := range strings.FieldsFuncSeq(strings.Join(f.vals["o"], ","), func(r rune) bool { return r == ',' || r == ' ' }) {
			cols = append(cols, strings.TrimSuffix(c, "="))
		}
	}
	if head {
		p.Printf("%s\n", strings.ToUpper(strings.Join(cols, " ")))
	}
	found := false
	for _, q := range p.Sys.Procs() {
		switch {
		case len(pids) > 0 || f.has("p"):
			if !slices.Contains(pids, q.PID) {
				continue
			}
		case f.has("C"):
			if procName(q) != f.val("C") {
				continue
			}
		case f.has("ppid"):
			if strconv.Itoa(q.PPID) != f.val("ppid") {
				continue
			}
		case !all && q.SID != p.SID:
			continue
		}
		found = true
		row := make([]string, len(cols))
		for i, c := range cols {
			row[i] = procColumn(p, q, c)
		}
		p.Printf("%s\n", strings.Join(row, " "))
	}
	return b2i(!found)
}

// procName is the process name as the kernel knows it: the script for a script, else the program.
func procName(q *process.Proc) string {
	l := q.Cmdline()
	if len(l) == 0 {
		return "?"
	}
	name := l[0]
	return name[strings.LastIndexByte(name, '/')+1:]
}

func procColumn(p, q *process.Proc, c string) string {
	switch c {
	case "pid":
		return strconv.Itoa(q.PID)
	case "ppid":
		return strconv.Itoa(q.PPID)
	case "pgid", "pgrp":
		return strconv.Itoa(q.Group())
	case "sid", "sess":
		return strconv.Itoa(q.SID)
	case "user", "euser", "uname":
		return p.Sys.UserName(q.Cred.UID)
	case "uid":
		return strconv.Itoa(q.Cred.UID)
	case "tty", "tt":
		return "?"
	case "time":
		return "00:00:00"
	case "etimes":
		return strconv.Itoa(int(p.Sys.Clock.Now().Sub(q.Started).Seconds()))
	case "stat", "s", "state":
		return "S"
	case "comm", "ucmd":
		return procName(q)
	}
	return strings.Join(q.Cmdline(), " ")
}

// pgrep is pgrep, pkill, killall and pidof.
func pgrep(_ context.Context, p *process.Proc) int {
	sig, show := process.SIGTERM, p.Name() == "pgrep" || p.Name() == "pidof"
	args := p.Args[:1]
	for _, a := range p.Args[1:] {
		if len(a) > 1 && a[0] == '-' && !show {
			if s, ok := process.ParseSignal(a[1:]); ok {
				sig = s
				continue
			}
		}
		args = append(args, a)
	}
	p.Args = args
	f, ok := options(p, false, "fxlacqwsvu:P:n", "full=f", "exact=x", "count=c", "list-name=l", "list-full=a", "wait=w", "signal:=sig", "user:=u")
	if !ok || len(f.args) == 0 {
		return 2
	}
	if v := f.val("sig"); v != "" {
		sig, _ = process.ParseSignal(v)
	}
	exact := f.has("x") || p.Name() == "killall" || p.Name() == "pidof"
	count := 0
	var found []string
	for _, pat := range f.args {
		src := pat
		if exact {
			src = "^(" + pat + ")$"
		}
		re, err := compile(src, true, false)
		if err != nil {
			return 2
		}
		for _, q := range p.Sys.Procs() {
			text := procName(q)
			if f.has("f") {
				text = strings.Join(q.Cmdline(), " ")
			}
			if q.PID == p.PID || !re.MatchString(text) || f.has("u") && p.Sys.UserName(q.Cred.UID) != f.val("u") {
				continue
			}
			count++
			if !show {
				if err := p.Kill(q.PID, sig); errors.Is(err, syscall.EPERM) {
					p.Errorf("%s: killing pid %d failed: Operation not permitted\n", p.Name(), q.PID)
				}
				continue
			}
			line := strconv.Itoa(q.PID)
			if f.has("a") {
				line += " " + strings.Join(q.Cmdline(), " ")
			} else if f.has("l") {
				line += " " + procName(q)
			}
			found = append(found, line)
		}
	}
	switch {
	case count == 0:
		if p.Name() == "killall" && !f.has("q") {
			p.Errorf("%s: no process found\n", f.args[0])
		}
		return 1
	case show && f.has("c"):
		p.Printf("%d\n", count)
	case p.Name() == "pidof":
		p.Printf("%s\n", strings.Join(found, " "))
	case show:
		p.Printf("%s\n", strings.Join(found, "\n"))
	}
	return 0
}
