package coreutils

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func touch(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "acmr:d:t:h", "no-create=c", "reference:=r", "date:=d")
	if !ok {
		return 1
	}
	at := p.Sys.Clock.Now()
	if r := f.val("r"); r != "" {
		i, err := p.FS().Stat(p.Abs(r))
		if err != nil {
			return p.Errorf("touch: failed to get attributes of '%s': %s\n", r, process.Reason(err))
		}
		at = i.ModTime()
	}
	if d := f.val("d"); d != "" {
		t, ok := parseDate(d, at)
		if !ok {
			return p.Errorf("touch: invalid date format ‘%s’\n", d)
		}
		at = t
	}
	status := 0
	for _, n := range f.args {
		_, err := p.FS().Stat(p.Abs(n))
		if err != nil && f.has("c") {
			continue
		}
		if err != nil {
			err = p.WriteFile(n, nil, 0o666)
		}
		if err == nil {
			if err = p.FS().Chtimes(p.Abs(n), at); err != nil && p.FS().Access(p.Abs(n), memfs.Write) == nil {
				err = nil
			}
		}
		if err != nil {
			status = p.Errorf("touch: cannot touch '%s': %s\n", n, process.Reason(err))
		}
	}
	return status
}

func mktemp(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "dup:tq", "directory=d", "dry-run=u", "tmpdir?=p", "suffix:=s", "quiet=q")
	if !ok {
		return 1
	}
	dir := p.Env["TMPDIR"]
	if dir == "" {
		dir = "/tmp"
	}
	tmpl := "tmp.XXXXXXXXXX"
	inDir := true
	if len(f.args) > 0 {
		tmpl, inDir = f.args[0], f.has("t") || f.has("p")
	}
	if f.val("p") != "" {
		dir = f.val("p")
	}
	if inDir {
		tmpl = path.Join(dir, tmpl)
	}
	end := strings.LastIndexByte(tmpl, 'X') + 1
	start := end
	for start > 0 && tmpl[start-1] == 'X' {
		start--
	}
	if end-start < 3 {
		return p.Errorf("mktemp: too few X's in template ‘%s’\n", tmpl)
	}
	name := tmpl[:start] + rand.Text()[:min(end-start, 20)] + tmpl[end:] + f.val("s")
	var err error
	switch {
	case f.has("u"):
	case f.has("d"):
		err = p.FS().Mkdir(p.Abs(name), 0o700)
	default:
		var fd *process.FD
		if fd, err = p.Open(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
			fd.Close()
		}
	}
	if err != nil {
		kind := "file"
		if f.has("d") {
			kind = "directory"
		}
		return p.Errorf("mktemp: failed to create %s via template ‘%s’: %s\n", kind, tmpl, process.Reason(err))
	}
	p.Printf("%s\n", name)
	return 0
}

func install(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "dm:o:g:DTt:vpCcs", "directory=d", "mode:=m", "owner:=o", "group:=g", "target-directory:=t",
		"no-target-directory=T", "verbose=v", "preserve-timestamps=p", "compare=C")
	if !ok {
		return 1
	}
	mode := fs.FileMode(0o755)
	if m := f.val("m"); m != "" {
		if mode, ok = parseMode(m, 0); !ok {
			return p.Errorf("install: invalid mode ‘%s’\n", m)
		}
	}
	own := func(name string) int {
		uid, gid := -1, -1
		if o := f.val("o"); o != "" {
			a, ok := p.Sys.Account(o)
			if !ok {
				return p.Errorf("install: invalid user ‘%s’\n", o)
			}
			uid = a.Cred.UID
		}
		if g := f.val("g"); g != "" {
			n, ok := p.Sys.Group(g)
			if !ok {
				return p.Errorf("install: invalid group ‘%s’\n", g)
			}
			gid = n
		}
		if uid != -1 || gid != -1 {
			if err := p.FS().Chown(p.Abs(name), uid, gid); err != nil {
				return p.Errorf("install: cannot change ownership of ‘%s’: %s\n", name, process.Reason(err))
			}
		}
		_ = p.FS().Chmod(p.Abs(name), mode)
		return 0
	}
	if f.has("d") {
		status := 0
		for _, n := range f.args {
			if err := p.FS().MkdirAll(p.Abs(n), 0o755); err != nil {
				status = p.Errorf("install: cannot create directory ‘%s’: %s\n", n, process.Reason(err))
				continue
			}
			status = max(status, own(n))
		}
		return status
	}
	src, dst, ok := operands(p, f)
	if !ok {
		return 1
	}
	for _, s := range src {
		to := target(p, s, dst, f.has("T"))
		if f.has("D") {
			_ = p.FS().MkdirAll(p.Abs(path.Dir(to)), 0o755)
		}
		b, err := p.ReadFile(s)
		if err != nil {
			return p.Errorf("install: cannot stat '%s': %s\n", s, process.Reason(err))
		}
		_ = p.FS().Remove(p.Abs(to))
		if err := p.FS().WriteFile(p.Abs(to), b, 0o600); err != nil {
			return p.Errorf("install: cannot create regular file '%s': %s\n", to, process.Reason(err))
		}
		if st := own(to); st != 0 {
			return st
		}
	}
	return 0
}

func truncate(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "s:c", "size:=s", "no-create=c")
	if !ok || !f.has("s") {
		return 1
	}
	n, err := size(f.val("s"))
	if err != nil {
		return p.Errorf("truncate: %v\n", err)
	}
	status := 0
	for _, name := range f.args {
		fd, err := p.Open(name, os.O_WRONLY|os.O_CREATE, 0o666)
		if err == nil {
			err = fd.File().Truncate(n)
			fd.Close()
		}
		if err != nil {
			status = p.Errorf("truncate: cannot open '%s' for writing: %s\n", name, process.Reason(err))
		}
	}
	return status
}

func mkfifo(_ context.Context, p *process.Proc) int {
	return p.Errorf("mkfifo: cannot create fifo '%s': not simulated\n", strings.Join(p.Args[1:], " "))
}
