package coreutils

import (
	archive "archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// maxUnpacked bounds what one archive may hold.
const maxUnpacked = 128 << 20

func tar(_ context.Context, p *process.Proc) int {
	if len(p.Args) > 1 && p.Args[1] != "" && p.Args[1][0] != '-' {
		p.Args = slices.Concat(p.Args[:1], []string{"-" + p.Args[1]}, p.Args[2:]) // the old style: tar xzf
	}
	f, ok := options(p, false, "xctzf:C:vpPOjJkha", "extract=x", "get=x", "create=c", "list=t", "gzip=z", "file:=f", "directory:=C", "verbose=v",
		"strip-components:=strip", "no-same-owner=nso", "same-owner=so", "exclude:=exclude", "overwrite=ow", "to-stdout=O", "wildcards=wc",
		"no-same-permissions=nsp", "preserve-permissions=p", "absolute-names=P", "transform:=tf", "auto-compress=a")
	if !ok {
		return 2
	}
	if f.has("j") || f.has("J") {
		p.Errorf("tar: only gzip is simulated\n")
		return 2
	}
	dir := p.Dir
	if c := f.val("C"); c != "" {
		dir = p.Abs(c)
		if i, err := p.FS().Stat(dir); err != nil || !i.IsDir() {
			p.Errorf("tar: %s: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now\n", c)
			return 2
		}
	}
	var err error
	if f.has("c") {
		err = tarCreate(p, f, dir)
	} else {
		err = tarRead(p, f, dir)
	}
	if err != nil {
		p.Errorf("tar: %s\ntar: Error is not recoverable: exiting now\n", process.Reason(err))
		return 2
	}
	return 0
}

var errNotTar = errors.New("this does not look like a tar archive")

func tarRead(p *process.Proc, f *flags, dir string) error {
	name := "-"
	if f.has("f") {
		name = f.val("f")
	}
	data, err := readAll(p, name)
	if err != nil {
		return errors.New(name + ": Cannot open: " + process.Reason(err))
	}
	r := io.Reader(bytes.NewReader(data))
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return errNotTar
		}
		r = z
	} else if f.has("z") {
		return errors.New("gzip: stdin: not in gzip format")
	}
	tr := archive.NewReader(io.LimitReader(r, maxUnpacked))
	found := map[string]bool{}
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errNotTar
		}
		clean := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
		if !tarWanted(clean, f, found) {
			continue
		}
		if f.has("t") || f.has("v") {
			p.Printf("%s\n", h.Name)
		}
		if f.has("t") {
			continue
		}
		if err := tarExtract(p, f, dir, clean, h, tr); err != nil {
			return err
		}
	}
	for _, w := range f.args {
		if !found[w] {
			return errors.New(w + ": Not found in archive")
		}
	}
	return nil
}

// tarWanted reports whether a member was asked for.
func tarWanted(name string, f *flags, found map[string]bool) bool {
	if len(f.args) == 0 {
		return true
	}
	for _, w := range f.args {
		c := strings.TrimSuffix(strings.TrimPrefix(w, "./"), "/")
		if name == c || strings.HasPrefix(name, c+"/") {
			found[w] = true
			return true
		}
	}
	return false
}

func tarExtract(p *process.Proc, f *flags, dir, name string, h *archive.Header, r io.Reader) error {
	parts := strings.Split(name, "/")
	strip := f.num("strip", 0)
	if len(parts) <= strip || slices.Contains(parts, "..") {
		return nil
	}
	dst := path.Join(dir, strings.Join(parts[strip:], "/"))
	if f.has("P") && path.IsAbs(h.Name) {
		dst = path.Clean(h.Name)
	}
	v := p.FS()
	if f.has("O") {
		_, err := io.Copy(p.Out(), r)
		return err
	}
	if err := v.MkdirAll(path.Dir(dst), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case archive.TypeDir:
		return v.MkdirAll(dst, h.FileInfo().Mode().Perm())
	case archive.TypeSymlink:
		_ = v.Remove(dst)
		return v.Symlink(h.Linkname, dst)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return errors.New("unexpected EOF in archive")
	}
	_ = v.Remove(dst)
	if err := v.WriteFile(dst, b, 0o600); err != nil {
		return err
	}
	return v.Chmod(dst, h.FileInfo().Mode().Perm()&^p.Umask)
}

func tarCreate(p *process.Proc, f *flags, dir string) error {
	var buf bytes.Buffer
	w := io.Writer(&buf)
	var z *gzip.Writer
	if f.has("z") || f.has("a") && strings.HasSuffix(f.val("f"), "gz") {
		z = gzip.NewWriter(&buf)
		w = z
	}
	tw := archive.NewWriter(w)
	var add func(abs, name string) error
	add = func(abs, name string) error {
		i, err := p.FS().Lstat(abs)
		if err != nil {
			return errors.New(name + ": Cannot stat: " + process.Reason(err))
		}
		link := ""
		if i.Mode()&fs.ModeSymlink != 0 {
			link, _ = p.FS().Readlink(abs)
		}
		h, err := archive.FileInfoHeader(i, link)
		if err != nil {
			return err
		}
		h.Name, h.Uid, h.Gid = name, int(i.Uid()), int(i.Gid())
		if i.IsDir() {
			h.Name += "/"
		}
		if f.has("v") {
			p.Errorf("%s\n", h.Name)
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if i.IsDir() {
			list, err := p.FS().ReadDir(abs)
			if err != nil {
				return err
			}
			for _, e := range list {
				if err := add(path.Join(abs, e.Name()), name+"/"+e.Name()); err != nil {
					return err
				}
			}
			return nil
		}
		if i.Mode().IsRegular() {
			b, err := p.FS().ReadFile(abs)
			if err != nil {
				return err
			}
			_, err = tw.Write(b)
			return err
		}
		return nil
	}
	for _, n := range f.args {
		abs, name := n, strings.TrimLeft(n, "/")
		if !path.IsAbs(n) {
			abs = path.Join(dir, n)
		}
		if f.has("P") {
			name = n
		}
		if err := add(abs, strings.TrimSuffix(name, "/")); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	if z != nil {
		if err := z.Close(); err != nil {
			return err
		}
	}
	if o := f.val("f"); o != "" && o != "-" {
		return p.WriteFile(o, buf.Bytes(), 0o666)
	}
	_, err := p.Out().Write(buf.Bytes())
	return err
}

// gzipFile is gzip, gunzip and zcat.
func gzipFile(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "cdkfnqvt123456789", "stdout=c", "to-stdout=c", "decompress=d", "keep=k", "force=f", "test=t")
	if !ok {
		return 1
	}
	un := f.has("d") || p.Name() == "gunzip" || p.Name() == "zcat"
	names := f.args
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, n := range names {
		data, err := readAll(p, n)
		if err != nil {
			return fail(p, n, err)
		}
		var out bytes.Buffer
		if un {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err == nil {
				_, err = io.Copy(&out, io.LimitReader(z, maxUnpacked))
			}
			if err != nil {
				return p.Errorf("\ngzip: %s: not in gzip format\n", strings.Replace(n, "-", "stdin", 1))
			}
		} else {
			z := gzip.NewWriter(&out)
			_, _ = z.Write(data)
			_ = z.Close()
		}
		if f.has("t") {
			continue
		}
		if n == "-" || f.has("c") || p.Name() == "zcat" {
			if _, err := p.Out().Write(out.Bytes()); err != nil {
				return 1
			}
			continue
		}
		to := n + ".gz"
		if un {
			to = strings.TrimSuffix(n, ".gz")
		}
		if err := p.WriteFile(to, out.Bytes(), 0o666); err != nil {
			return fail(p, to, err)
		}
		if !f.has("k") {
			_ = p.FS().Remove(p.Abs(n))
		}
	}
	return 0
}
