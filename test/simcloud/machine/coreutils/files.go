package coreutils

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// target says where a source goes: into the directory dst, or to dst itself.
func target(p *process.Proc, src, dst string, noDir bool) string {
	if i, err := p.FS().Stat(p.Abs(dst)); err == nil && i.IsDir() && !noDir {
		return path.Join(dst, path.Base(src))
	}
	return dst
}

// operands splits the operands of cp, mv, ln and install into sources and destination.
func operands(p *process.Proc, f *flags) (src []string, dst string, ok bool) {
	if f.has("t") {
		return f.args, f.val("t"), len(f.args) > 0
	}
	if len(f.args) == 0 {
		p.Errorf("%s: missing file operand\n", p.Name())
		return nil, "", false
	}
	if len(f.args) == 1 {
		p.Errorf("%s: missing destination file operand after '%s'\n", p.Name(), f.args[0])
		return nil, "", false
	}
	src, dst = f.args[:len(f.args)-1], f.args[len(f.args)-1]
	if len(src) > 1 {
		if i, err := p.FS().Stat(p.Abs(dst)); err != nil || !i.IsDir() {
			p.Errorf("%s: target '%s' is not a directory\n", p.Name(), dst)
			return nil, "", false
		}
	}
	return src, dst, true
}

func cp(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "rRafpnuvTt:dLPsli", "recursive=r", "archive=a", "force=f", "preserve?=p", "no-clobber=n", "update=u", "verbose=v",
		"no-target-directory=T", "target-directory:=t", "no-dereference=P", "no-preserve:=np", "parents=parents", "remove-destination=rd")
	if !ok {
		return 1
	}
	src, dst, ok := operands(p, f)
	if !ok {
		return 1
	}
	c := copier{p: p, deep: f.has("r") || f.has("R") || f.has("a"), keep: f.has("p") || f.has("a"), links: f.has("a") || f.has("d") || f.has("P"), f: f}
	status := 0
	for _, s := range src {
		to := target(p, s, dst, f.has("T"))
		if f.has("n") {
			if _, err := p.FS().Lstat(p.Abs(to)); err == nil {
				continue
			}
		}
		status = max(status, c.copy(s, to))
	}
	return status
}

type copier struct {
	p                 *process.Proc
	deep, keep, links bool
	f                 *flags
}

func (c copier) copy(src, dst string) int {
	p, v := c.p, c.p.FS()
	i, err := v.Lstat(p.Abs(src))
	if err == nil && i.Mode()&fs.ModeSymlink != 0 && !c.links {
		i, err = v.Stat(p.Abs(src))
	}
	if err != nil {
		return p.Errorf("cp: cannot stat '%s': %s\n", src, process.Reason(err))
	}
	switch {
	case i.Mode()&fs.ModeSymlink != 0:
		to, _ := v.Readlink(p.Abs(src))
		_ = v.Remove(p.Abs(dst))
		err = v.Symlink(to, p.Abs(dst))
	case i.IsDir():
		if !c.deep {
			return p.Errorf("cp: -r not specified; omitting directory '%s'\n", src)
		}
		if err = v.Mkdir(p.Abs(dst), i.Mode().Perm()&^p.Umask|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			break
		}
		list, rerr := v.ReadDir(p.Abs(src))
		if rerr != nil {
			return p.Errorf("cp: cannot access '%s': %s\n", src, process.Reason(rerr))
		}
		status := 0
		for _, e := range list {
			status = max(status, c.copy(path.Join(src, e.Name()), path.Join(dst, e.Name())))
		}
		c.attributes(i, dst)
		return status
	default:
		var b []byte
		if b, err = p.ReadFile(src); err != nil {
			return p.Errorf("cp: cannot open '%s' for reading: %s\n", src, process.Reason(err))
		}
		if d, serr := v.Stat(p.Abs(dst)); serr == nil && d.Ino() == i.Ino() {
			return p.Errorf("cp: '%s' and '%s' are the same file\n", src, dst)
		}
		err = p.WriteFile(dst, b, i.Mode().Perm())
		if err != nil && c.f.has("f") && v.Remove(p.Abs(dst)) == nil {
			err = p.WriteFile(dst, b, i.Mode().Perm())
		}
	}
	if err != nil {
		return p.Errorf("cp: cannot create regular file '%s': %s\n", dst, process.Reason(err))
	}
	c.attributes(i, dst)
	if c.f.has("v") {
		p.Printf("'%s' -> '%s'\n", src, dst)
	}
	return 0
}

func (c copier) attributes(i memfs.Info, dst string) {
	if !c.keep || i.Mode()&fs.ModeSymlink != 0 {
		return
	}
	v, name := c.p.FS(), c.p.Abs(dst)
	_ = v.Chmod(name, i.Mode())
	_ = v.Chown(name, int(i.Uid()), int(i.Gid()))
	_ = v.Chtimes(name, i.ModTime())
}

func mv(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "fnuvTt:ib", "force=f", "no-clobber=n", "verbose=v", "no-target-directory=T", "target-directory:=t", "backup?=b")
	if !ok {
		return 1
	}
	src, dst, ok := operands(p, f)
	if !ok {
		return 1
	}
	status := 0
	for _, s := range src {
		to := target(p, s, dst, f.has("T"))
		if f.has("n") {
			if _, err := p.FS().Lstat(p.Abs(to)); err == nil {
				continue
			}
		}
		if _, err := p.FS().Lstat(p.Abs(s)); err != nil {
			status = p.Errorf("mv: cannot stat '%s': %s\n", s, process.Reason(err))
			continue
		}
		if err := p.FS().Rename(p.Abs(s), p.Abs(to)); err != nil {
			status = p.Errorf("mv: cannot move '%s' to '%s': %s\n", s, to, process.Reason(err))
		} else if f.has("v") {
			p.Printf("renamed '%s' -> '%s'\n", s, to)
		}
	}
	return status
}

func rm(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "rRfvdiI", "recursive=r", "force=f", "verbose=v", "dir=d", "preserve-root=pr", "one-file-system=ofs")
	if !ok {
		return 1
	}
	if len(f.args) == 0 && !f.has("f") {
		return p.Errorf("rm: missing operand\n")
	}
	status := 0
	for _, n := range f.args {
		i, err := p.FS().Lstat(p.Abs(n))
		if err != nil {
			if !f.has("f") || !errors.Is(err, fs.ErrNotExist) {
				status = p.Errorf("rm: cannot remove '%s': %s\n", n, process.Reason(err))
			}
			continue
		}
		if i.IsDir() && !f.has("r") && !f.has("R") && !f.has("d") {
			status = p.Errorf("rm: cannot remove '%s': Is a directory\n", n)
			continue
		}
		if path.Clean(p.Abs(n)) == "/" {
			return p.Errorf("rm: it is dangerous to operate recursively on '/'\n")
		}
		if f.has("r") || f.has("R") {
			err = p.FS().RemoveAll(strings.TrimRight(p.Abs(n), "/"))
		} else {
			err = p.FS().Remove(p.Abs(n))
		}
		if err != nil {
			status = p.Errorf("rm: cannot remove '%s': %s\n", n, process.Reason(err))
		}
	}
	return status
}

func mkdir(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "pm:vZ", "parents=p", "mode:=m", "verbose=v")
	if !ok {
		return 1
	}
	if len(f.args) == 0 {
		return p.Errorf("mkdir: missing operand\n")
	}
	status := 0
	for _, n := range f.args {
		abs := p.Abs(n)
		_, had := p.FS().Stat(abs)
		var err error
		if f.has("p") {
			err = p.FS().MkdirAll(path.Clean(abs), 0o777&^p.Umask)
		} else {
			err = p.FS().Mkdir(abs, 0o777&^p.Umask)
		}
		if err != nil {
			status = p.Errorf("mkdir: cannot create directory ‘%s’: %s\n", n, process.Reason(err))
			continue
		}
		if m := f.val("m"); m != "" && (had != nil || !f.has("p")) {
			mode, ok := parseMode(m, fs.ModeDir|0o777)
			if !ok {
				return p.Errorf("mkdir: invalid mode ‘%s’\n", m)
			}
			_ = p.FS().Chmod(abs, mode)
		}
	}
	return status
}

func rmdir(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "pv", "parents=p", "ignore-fail-on-non-empty=i")
	if !ok {
		return 1
	}
	status := 0
	for _, n := range f.args {
		i, err := p.FS().Lstat(p.Abs(n))
		if err == nil && !i.IsDir() {
			err = errors.New("Not a directory")
		}
		if err == nil {
			err = p.FS().Remove(p.Abs(n))
		}
		if err != nil && !f.has("i") {
			status = p.Errorf("rmdir: failed to remove '%s': %s\n", n, process.Reason(err))
		}
	}
	return status
}

func ln(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "sfnvTt:r", "symbolic=s", "force=f", "no-dereference=n", "verbose=v", "no-target-directory=T", "relative=r")
	if !ok {
		return 1
	}
	if len(f.args) == 1 {
		f.args = append(f.args, ".")
	}
	src, dst, ok := operands(p, f)
	if !ok {
		return 1
	}
	status := 0
	for _, s := range src {
		to := dst
		link := false
		if i, err := p.FS().Lstat(p.Abs(dst)); err == nil {
			link = i.Mode()&fs.ModeSymlink != 0
		}
		if !(f.has("n") && link) {
			to = target(p, s, dst, f.has("T"))
		}
		if f.has("f") {
			_ = p.FS().Remove(p.Abs(to))
		}
		var err error
		if f.has("s") {
			err = p.FS().Symlink(s, p.Abs(to))
		} else {
			err = p.FS().Link(p.Abs(s), p.Abs(to))
		}
		if err != nil {
			status = p.Errorf("ln: failed to create link '%s': %s\n", to, process.Reason(err))
		}
	}
	return status
}

// parseMode applies a mode of chmod, octal or symbolic, to old.
func parseMode(t string, old fs.FileMode) (fs.FileMode, bool) {
	special := func(n uint64) fs.FileMode {
		m := fs.FileMode(n & 0o777)
		if n&0o1000 != 0 {
			m |= fs.ModeSticky
		}
		if n&0o2000 != 0 {
			m |= fs.ModeSetgid
		}
		if n&0o4000 != 0 {
			m |= fs.ModeSetuid
		}
		return m
	}
	if n, err := strconv.ParseUint(t, 8, 32); err == nil {
		return special(n), n <= 0o7777
	}
	mode := old
	for part := range strings.SplitSeq(t, ",") {
		at := strings.IndexAny(part, "+-=")
		if at < 0 {
			return 0, false
		}
		who := part[:at]
		if strings.Trim(who, "ugoa") != "" {
			return 0, false
		}
		if who == "" || strings.Contains(who, "a") {
			who = "ugo"
		}
		var bits fs.FileMode
		for _, c := range part[at+1:] {
			switch c {
			case 'r':
				bits |= 4
			case 'w':
				bits |= 2
			case 'x':
				bits |= 1
			case 'X':
				if old.IsDir() || old&0o111 != 0 {
					bits |= 1
				}
			case 't', 's':
			default:
				return 0, false
			}
		}
		for _, w := range who {
			shift := map[rune]int{'u': 6, 'g': 3, 'o': 0}[w]
			switch part[at] {
			case '+':
				mode |= bits << shift
			case '-':
				mode &^= bits << shift
			case '=':
				mode = mode&^(7<<shift) | bits<<shift
			}
		}
		if strings.Contains(part[at:], "t") {
			if part[at] == '-' {
				mode &^= fs.ModeSticky
			} else {
				mode |= fs.ModeSticky
			}
		}
	}
	return mode, true
}

// tree calls do for name and, with deep, everything below.
func tree(p *process.Proc, name string, deep bool, do func(name string, i memfs.Info) error) int {
	i, err := p.FS().Lstat(p.Abs(name))
	if err == nil && i.Mode()&fs.ModeSymlink != 0 && !deep {
		i, err = p.FS().Stat(p.Abs(name))
	}
	if err != nil {
		return p.Errorf("%s: cannot access '%s': %s\n", p.Name(), name, process.Reason(err))
	}
	status := 0
	if deep && i.IsDir() {
		list, _ := p.FS().ReadDir(p.Abs(name))
		for _, e := range list {
			status = max(status, tree(p, path.Join(name, e.Name()), true, do))
		}
	}
	if i.Mode()&fs.ModeSymlink != 0 {
		return status
	}
	if err := do(name, i); err != nil {
		status = 1
	}
	return status
}

func chmod(_ context.Context, p *process.Proc) int {
	// A mode may look like an option: -x, -w.
	args := p.Args[1:]
	deep, quiet, mode, ref := false, false, "", ""
	var names []string
	for i, a := range args {
		switch {
		case a == "-R" || a == "--recursive":
			deep = true
		case a == "-f" || a == "-v" || a == "-c" || a == "--":
			quiet = quiet || a == "-f"
		case strings.HasPrefix(a, "--reference="):
			ref = a[len("--reference="):]
			mode = "ref"
		case mode == "":
			mode = a
		default:
			names = append(names, args[i])
		}
	}
	if len(names) == 0 {
		return p.Errorf("chmod: missing operand\n")
	}
	var like fs.FileMode
	if ref != "" {
		i, err := p.FS().Stat(p.Abs(ref))
		if err != nil {
			return fail(p, ref, err)
		}
		like = i.Mode()
	}
	status := 0
	for _, n := range names {
		st := tree(p, n, deep, func(name string, i memfs.Info) error {
			m, ok := like, true
			if ref == "" {
				m, ok = parseMode(mode, i.Mode())
			}
			if !ok {
				p.Errorf("chmod: invalid mode: ‘%s’\n", mode)
				return errors.New("mode")
			}
			if err := p.FS().Chmod(p.Abs(name), m); err != nil {
				p.Errorf("chmod: changing permissions of '%s': %s\n", name, process.Reason(err))
				return err
			}
			return nil
		})
		status = max(status, st)
	}
	return status
}

func chown(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "RfvchLP", "recursive=R", "reference:=ref", "no-dereference=h", "silent=f", "verbose=v")
	if !ok {
		return 1
	}
	uid, gid := -1, -1
	names := f.args
	if r := f.val("ref"); r != "" {
		i, err := p.FS().Stat(p.Abs(r))
		if err != nil {
			return p.Errorf("%s: failed to get attributes of '%s': %s\n", p.Name(), r, process.Reason(err))
		}
		uid, gid = int(i.Uid()), int(i.Gid())
	} else {
		if len(names) < 2 {
			return p.Errorf("%s: missing operand\n", p.Name())
		}
		spec := names[0]
		names = names[1:]
		user, group, colon := strings.Cut(strings.Replace(spec, ".", ":", 1), ":")
		if p.Name() == "chgrp" {
			user, group, colon = "", spec, true
		}
		if user != "" {
			a, ok := p.Sys.Account(user)
			if ok {
				uid = a.Cred.UID
				if colon && group == "" {
					gid = a.Cred.GID
				}
			} else if n, err := strconv.Atoi(user); err == nil {
				uid = n
			} else {
				return p.Errorf("%s: invalid user: ‘%s’\n", p.Name(), spec)
			}
		}
		if group != "" {
			g, ok := p.Sys.Group(group)
			if !ok {
				n, err := strconv.Atoi(group)
				if err != nil {
					return p.Errorf("%s: invalid group: ‘%s’\n", p.Name(), spec)
				}
				g = n
			}
			gid = g
		}
	}
	status := 0
	for _, n := range names {
		status = max(status, tree(p, n, f.has("R"), func(name string, _ memfs.Info) error {
			err := p.FS().Chown(p.Abs(name), uid, gid)
			if err != nil {
				p.Errorf("%s: changing ownership of '%s': %s\n", p.Name(), name, process.Reason(err))
			}
			return err
		}))
	}
	return status
}

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

func parseDate(t string, now time.Time) (time.Time, bool) {
	if rest, ok := strings.CutPrefix(t, "@"); ok {
		n, err := strconv.ParseFloat(rest, 64)
		return time.Unix(0, int64(n*1e9)).UTC(), err == nil
	}
	switch t {
	case "now", "":
		return now, true
	case "today":
		return now, true
	case "yesterday":
		return now.AddDate(0, 0, -1), true
	case "tomorrow":
		return now.AddDate(0, 0, 1), true
	}
	for _, l := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02", time.UnixDate, time.RFC1123Z,
		time.RFC1123, "Jan _2 15:04:05 2006 MST", "2006-01-02 15:04:05 MST", "Mon Jan _2 15:04:05 2006",
	} {
		if v, err := time.Parse(l, t); err == nil {
			return v, true
		}
	}
	f := strings.Fields(strings.TrimPrefix(strings.TrimSuffix(t, " ago"), "+"))
	if len(f) == 2 {
		var n int
		if _, err := fmt.Sscanf(f[0], "%d", &n); err == nil {
			if strings.HasSuffix(t, " ago") {
				n = -n
			}
			unit := map[string]time.Duration{
				"sec": time.Second, "second": time.Second, "min": time.Minute, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
				"week": 7 * 24 * time.Hour,
			}[strings.TrimSuffix(f[1], "s")]
			if unit != 0 {
				return now.Add(time.Duration(n) * unit), true
			}
		}
	}
	return time.Time{}, false
}
