package coreutils

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// moves splits the operands of cp, mv and install into pairs of source and destination.
func moves(p *process.Proc, f *process.Flags) (pairs [][2]string, ok bool) {
	if len(f.Args) < 2 {
		p.Errorf("%s: missing destination file operand after '%s'\n", p.Name(), strings.Join(f.Args, " "))
		return nil, false
	}
	src, dst := f.Args[:len(f.Args)-1], f.Args[len(f.Args)-1]
	i, err := p.FS().Stat(p.Abs(dst))
	into := err == nil && i.IsDir() && !f.On("T")
	if len(src) > 1 && !into {
		p.Errorf("%s: target '%s' is not a directory\n", p.Name(), dst)
		return nil, false
	}
	for _, s := range src {
		to := dst
		if into {
			to = path.Join(dst, path.Base(s))
		}
		pairs = append(pairs, [2]string{s, to})
	}
	return pairs, true
}

func cp(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "rfp", "recursive=r", "force=f")
	if !ok {
		return 1
	}
	pairs, ok := moves(p, f)
	if !ok {
		return 1
	}
	status := 0
	for _, m := range pairs {
		status = max(status, copyTree(p, m[0], m[1], f.Has("r")))
		if f.Has("p") && status == 0 {
			status = preserve(p, m[0], m[1])
		}
	}
	return status
}

// preserve gives a copied file the owner and the mode of the original.
func preserve(p *process.Proc, src, dst string) int {
	v := p.FS()
	i, err := v.Stat(p.Abs(src))
	if err == nil {
		err = errors.Join(v.Chmod(p.Abs(dst), i.Mode()), v.Chown(p.Abs(dst), int(i.Uid()), int(i.Gid())))
	}
	if err != nil {
		return p.Errorf("cp: failed to preserve ownership for '%s': %s\n", dst, process.Reason(err))
	}
	return 0
}

func copyTree(p *process.Proc, src, dst string, deep bool) int {
	v := p.FS()
	i, err := v.Stat(p.Abs(src))
	switch {
	case err != nil:
		return p.Errorf("cp: cannot stat '%s': %s\n", src, process.Reason(err))
	case !i.IsDir():
		b, err := p.ReadFile(src)
		if err != nil {
			return p.Errorf("cp: cannot open '%s' for reading: %s\n", src, process.Reason(err))
		}
		if err := p.WriteFile(dst, b, i.Mode().Perm()); err != nil {
			return p.Errorf("cp: cannot create regular file '%s': %s\n", dst, process.Reason(err))
		}
		return 0
	case !deep:
		return p.Errorf("cp: -r not specified; omitting directory '%s'\n", src)
	}
	if err := v.Mkdir(p.Abs(dst), i.Mode().Perm()&^p.Umask|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return p.Errorf("cp: cannot create directory '%s': %s\n", dst, process.Reason(err))
	}
	list, err := v.ReadDir(p.Abs(src))
	if err != nil {
		return p.Errorf("cp: cannot access '%s': %s\n", src, process.Reason(err))
	}
	status := 0
	for _, e := range list {
		status = max(status, copyTree(p, path.Join(src, e.Name()), path.Join(dst, e.Name()), true))
	}
	return status
}

func mv(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "fT", "force=f", "no-target-directory=T")
	if !ok {
		return 1
	}
	pairs, ok := moves(p, f)
	if !ok {
		return 1
	}
	status := 0
	for _, m := range pairs {
		if _, err := p.FS().Lstat(p.Abs(m[0])); err != nil {
			status = p.Errorf("mv: cannot stat '%s': %s\n", m[0], process.Reason(err))
		} else if err := p.FS().Rename(p.Abs(m[0]), p.Abs(m[1])); err != nil {
			status = p.Errorf("mv: cannot move '%s' to '%s': %s\n", m[0], m[1], process.Reason(err))
		}
	}
	return status
}

func install(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "m:", "mode:=m")
	if !ok {
		return 1
	}
	mode := fs.FileMode(0o755)
	if m := f.Val("m"); m != "" {
		if mode, ok = parseMode(m, 0); !ok {
			return p.Errorf("install: invalid mode ‘%s’\n", m)
		}
	}
	pairs, ok := moves(p, f)
	if !ok {
		return 1
	}
	for _, m := range pairs {
		b, err := p.ReadFile(m[0])
		if err != nil {
			return p.Errorf("install: cannot stat '%s': %s\n", m[0], process.Reason(err))
		}
		_ = p.FS().Remove(p.Abs(m[1]))
		if err := p.FS().WriteFile(p.Abs(m[1]), b, 0o600); err != nil {
			return p.Errorf("install: cannot create regular file '%s': %s\n", m[1], process.Reason(err))
		}
		_ = p.FS().Chmod(p.Abs(m[1]), mode)
	}
	return 0
}

func rm(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "rf", "recursive=r", "force=f")
	if !ok {
		return 1
	}
	if len(f.Args) == 0 && !f.Has("f") {
		return p.Errorf("rm: missing operand\n")
	}
	status := 0
	for _, n := range f.Args {
		i, err := p.FS().Lstat(p.Abs(n))
		switch {
		case err != nil && f.Has("f") && errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
		case i.IsDir() && !f.Has("r"):
			status = p.Errorf("rm: cannot remove '%s': Is a directory\n", n)
			continue
		case path.Clean(p.Abs(n)) == "/":
			return p.Errorf("rm: it is dangerous to operate recursively on '/'\n")
		case f.Has("r"):
			err = p.FS().RemoveAll(strings.TrimRight(p.Abs(n), "/"))
		default:
			err = p.FS().Remove(p.Abs(n))
		}
		if err != nil {
			status = p.Errorf("rm: cannot remove '%s': %s\n", n, process.Reason(err))
		}
	}
	return status
}

func mkdir(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "pm:", "parents=p", "mode:=m")
	if !ok {
		return 1
	}
	if len(f.Args) == 0 {
		return p.Errorf("mkdir: missing operand\n")
	}
	mode, make := fs.FileMode(0o777)&^p.Umask, p.FS().Mkdir
	if m := f.Val("m"); m != "" {
		if mode, ok = parseMode(m, fs.ModeDir|0o777); !ok {
			return p.Errorf("mkdir: invalid mode ‘%s’\n", m)
		}
	}
	if f.Has("p") {
		make = p.FS().MkdirAll
	}
	status := 0
	for _, n := range f.Args {
		if err := make(path.Clean(p.Abs(n)), mode); err != nil {
			status = p.Errorf("mkdir: cannot create directory ‘%s’: %s\n", n, process.Reason(err))
		}
	}
	return status
}

func touch(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "")
	if !ok {
		return 1
	}
	status := 0
	for _, n := range f.Args {
		_, err := p.FS().Stat(p.Abs(n))
		if err != nil {
			err = p.WriteFile(n, nil, 0o666)
		} else if err = p.FS().Chtimes(p.Abs(n), p.Sys.Clock.Now()); err != nil &&
			p.FS().Access(p.Abs(n), memfs.Write) == nil {
			err = nil
		}
		if err != nil {
			status = p.Errorf("touch: cannot touch '%s': %s\n", n, process.Reason(err))
		}
	}
	return status
}

func mktemp(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "d", "directory=d")
	if !ok {
		return 1
	}
	template := "/tmp/tmp.XXXXXXXXXX"
	if len(f.Args) > 0 {
		template = f.Args[0]
	}
	stem := strings.TrimRight(template, "X")
	if len(template)-len(stem) < 3 {
		return p.Errorf("mktemp: too few X's in template ‘%s’\n", template)
	}
	name := stem + rand.Text()[:min(len(template)-len(stem), 20)]
	var err error
	if f.Has("d") {
		err = p.FS().Mkdir(p.Abs(name), 0o700)
	} else if fd, oerr := p.Open(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); oerr == nil {
		fd.Close()
	} else {
		err = oerr
	}
	if err != nil {
		return p.Errorf("mktemp: failed to create ‘%s’: %s\n", template, process.Reason(err))
	}
	p.Printf("%s\n", name)
	return 0
}

func cmpFiles(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "s", "silent=s")
	if !ok || len(f.Args) != 2 {
		return 2
	}
	var data [2][]byte
	for i, name := range f.Args {
		b, err := readAll(p, name)
		if err != nil {
			if !f.Has("s") {
				fail(p, name, err)
			}
			return 2
		}
		data[i] = b
	}
	if bytes.Equal(data[0], data[1]) {
		return 0
	}
	if !f.Has("s") {
		p.Printf("%s %s differ\n", f.Args[0], f.Args[1])
	}
	return 1
}

// dd copies blocks from a file to standard output or another file.
func dd(_ context.Context, p *process.Proc) int {
	opt := map[string]string{"bs": "512", "count": "1048576", "of": "/dev/stdout"}
	for _, a := range p.Args[1:] {
		k, v, _ := strings.Cut(a, "=")
		opt[k] = v
	}
	bs, ok := atoi(opt["bs"])
	count, good := atoi(opt["count"])
	if !ok || !good {
		return p.Errorf("dd: invalid number\n")
	}
	r, done, err := open(p, opt["if"])
	if err != nil {
		return p.Errorf("dd: failed to open '%s': %s\n", opt["if"], process.Reason(err))
	}
	defer done()
	b := make([]byte, min(bs*count, 64<<20))
	n, _ := r.Read(b)
	if err := p.WriteFile(opt["of"], b[:n], 0o666); err != nil {
		return p.Errorf("dd: failed to open '%s': %s\n", opt["of"], process.Reason(err))
	}
	return 0
}

func readlink(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "f", "canonicalize=f")
	if !ok {
		return 1
	}
	read := p.FS().Readlink
	if f.Has("f") {
		read = p.FS().Real
	}
	status := 0
	for _, n := range f.Args {
		if out, err := read(p.Abs(n)); err != nil {
			status = 1
		} else {
			p.Printf("%s\n", out)
		}
	}
	return status
}

func ls(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "la1")
	if !ok {
		return 2
	}
	if len(f.Args) == 0 {
		f.Args = []string{"."}
	}
	status := 0
	for _, n := range f.Args {
		i, err := p.FS().Lstat(p.Abs(n))
		if err != nil {
			p.Errorf("ls: cannot access '%s': %s\n", n, process.Reason(err))
			status = 2
			continue
		}
		if !i.IsDir() {
			listed(p, f, n, i)
			continue
		}
		list, err := p.FS().ReadDir(p.Abs(n))
		if err != nil {
			p.Errorf("ls: cannot open directory '%s': %s\n", n, process.Reason(err))
			status = 2
		}
		for _, e := range list {
			if i, err := p.FS().Lstat(p.Abs(path.Join(n, e.Name()))); err == nil && (e.Name()[0] != '.' || f.Has("a")) {
				listed(p, f, e.Name(), i)
			}
		}
	}
	return status
}

func listed(p *process.Proc, f *process.Flags, name string, i memfs.Info) {
	if f.Has("l") {
		p.Printf("%s %d %s %s %5d %s ", i.Mode(), i.Links(), p.Sys.UserName(int(i.Uid())),
			p.Sys.GroupName(int(i.Gid())), i.Size(),
			i.ModTime().UTC().Format("Jan _2 15:04"))
	}
	p.Printf("%s\n", name)
}

func dirname(_ context.Context, p *process.Proc) int {
	for _, n := range p.Args[1:] {
		if n = strings.TrimRight(n, "/"); n == "" {
			n = "/"
		}
		p.Printf("%s\n", path.Dir(n))
	}
	return 0
}
