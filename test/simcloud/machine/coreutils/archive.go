package coreutils

import (
	archive "archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// maxUnpacked bounds what one archive may hold.
const maxUnpacked = 128 << 20

// tar packs files into, and unpacks them from, a compressed archive.
func tar(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "xczf:C:", "extract=x", "create=c", "gzip=z", "file:=f", "directory:=C")
	if !ok || !f.Has("z") || !f.Has("f") || f.Has("x") == f.Has("c") {
		p.Errorf("tar: -czf and -xzf are simulated\n")
		return 2
	}
	dir := p.Abs(f.Val("C"))
	if dir == "" {
		dir = p.Dir
	}
	do := unpack
	if f.Has("c") {
		do = pack
	}
	if err := do(p, f.Val("f"), dir, f.Args); err != nil {
		p.Errorf("tar: %s\ntar: Error is not recoverable: exiting now\n", process.Reason(err))
		return 2
	}
	return 0
}

func unpack(p *process.Proc, name, dir string, members []string) error {
	data, err := readAll(p, name)
	if err != nil {
		return errors.New(name + ": Cannot open: " + process.Reason(err))
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return errors.New("gzip: stdin: not in gzip format")
	}
	tr := archive.NewReader(io.LimitReader(z, maxUnpacked))
	missing := slices.Clone(members)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.New("this does not look like a tar archive")
		}
		member := path.Clean(h.Name)
		if strings.HasPrefix(member, "..") || len(members) > 0 && !slices.Contains(members, member) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == member })
		if err := unpackOne(p, path.Join(dir, member), h, tr); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return errors.New(missing[0] + ": Not found in archive")
	}
	return nil
}

func unpackOne(p *process.Proc, to string, h *archive.Header, r io.Reader) error {
	v, mode := p.FS(), h.FileInfo().Mode().Perm()
	if h.Typeflag == archive.TypeDir {
		return v.MkdirAll(to, mode)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return errors.New("unexpected EOF in archive")
	}
	if err := v.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	_ = v.Remove(to)
	if err := v.WriteFile(to, b, 0o600); err != nil {
		return err
	}
	return v.Chmod(to, mode&^p.Umask)
}

func pack(p *process.Proc, name, dir string, members []string) error {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	tw := archive.NewWriter(z)
	var add func(member string) error
	add = func(member string) error {
		i, err := p.FS().Stat(path.Join(dir, member))
		if err != nil {
			return errors.New(member + ": Cannot stat: " + process.Reason(err))
		}
		h := &archive.Header{
			Name: member, Mode: int64(i.Mode().Perm()), ModTime: i.ModTime(), Typeflag: archive.TypeDir,
		}
		if i.IsDir() {
			list, err := p.FS().ReadDir(path.Join(dir, member))
			err = errors.Join(err, tw.WriteHeader(h))
			for _, e := range list {
				err = errors.Join(err, add(path.Join(member, e.Name())))
			}
			return err
		}
		b, err := p.FS().ReadFile(path.Join(dir, member))
		if err != nil {
			return err
		}
		h.Typeflag, h.Size = archive.TypeReg, int64(len(b))
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err = tw.Write(b)
		return err
	}
	for _, m := range members {
		if err := add(path.Clean(m)); err != nil {
			return err
		}
	}
	if err := errors.Join(tw.Close(), z.Close()); err != nil {
		return err
	}
	if name == "-" {
		_, err := p.Out().Write(buf.Bytes())
		return err
	}
	return p.WriteFile(name, buf.Bytes(), 0o666)
}
