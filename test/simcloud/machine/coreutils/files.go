package coreutils

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

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
			err = syscall.ENOTDIR
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
		if !f.has("n") || !link {
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
