package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// What of a package is unpacked for a run, in bytes: larger files are images, and no script needs them.
const (
	maxFile  = 16 << 20
	maxTotal = 256 << 20
)

// The parts of a directory that is made for a run.
const (
	pattern     = "gybe-script-*"
	packageDir  = "package"
	homeDir     = "home"
	starterFile = "start.py"
)

// workdir is the directory of one run. Only the user that the script runs as gets in.
type workdir struct {
	dir  string
	lock *os.File // tells other processes that somebody needs the directory
}

func (w *workdir) path(part string) string { return filepath.Join(w.dir, part) }

// remove deletes the directory.
func (w *workdir) remove(log *slog.Logger) {
	if err := os.RemoveAll(w.dir); err != nil {
		log.Warn("the directory of a script is not removed", "dir", w.dir, "error", err)
	}
	_ = w.lock.Close() // was never written
}

// unpack makes the directory of a run: the package without images, our starter, and a home. Its files are not the script's to change, where
// that is another user.
func unpack(ctx context.Context, base string, pkg fs.FS) (_ *workdir, err error) {
	defer func() {
		if _, ok := errors.AsType[*lcm.Error](err); err != nil && !ok {
			err = lcm.Errorf(lcm.CodeUnavailable, "the package cannot be unpacked for its script: %w", err).AsTransient()
		}
	}()
	dir, err := os.MkdirTemp(base, pattern)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer func() { _ = root.Close() }() // only a handle
		err = fill(ctx, root, pkg)
	}
	if err == nil {
		err = errors.Join(give(dir), give(filepath.Join(dir, homeDir)))
	}
	var lock *os.File
	if err == nil {
		lock, err = os.Open(dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	hold(lock)
	return &workdir{dir: dir, lock: lock}, nil
}

// fill writes the files. Links and whatever else is no plain file are left out.
func fill(ctx context.Context, root *os.Root, pkg fs.FS) error {
	starter, err := own.ReadFile(starterFile)
	if err != nil {
		return err
	}
	if err := errors.Join(root.WriteFile(starterFile, starter, 0o644), root.Chmod(starterFile, 0o644), root.Mkdir(homeDir, 0o700)); err != nil {
		return err
	}
	total := int64(0)
	return fs.WalkDir(pkg, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		at := filepath.Join(packageDir, filepath.FromSlash(name))
		if d.IsDir() {
			return errors.Join(root.Mkdir(at, 0o755), root.Chmod(at, 0o755)) // whatever our umask is
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() > maxFile {
			return nil
		}
		if total += info.Size(); total > maxTotal {
			return lcm.Errorf(lcm.CodeUnprocessable, "the files of the package have more than %d MiB without its images: too much to unpack for a script", maxTotal>>20)
		}
		return copyFile(root, at, pkg, name, info)
	})
}

func copyFile(root *os.Root, at string, pkg fs.FS, name string, info fs.FileInfo) (err error) {
	from, err := pkg.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	to, err := root.Create(at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	n, err := io.Copy(to, io.LimitReader(from, info.Size()))
	if err == nil && n != info.Size() {
		err = fmt.Errorf("%s has %d bytes instead of %d", name, n, info.Size())
	}
	return errors.Join(err, to.Chmod(mode))
}

// sweepAge spares directories that are just being made.
const sweepAge = time.Minute

// sweep removes what dead processes have left.
func (r *Runner) sweep(ctx context.Context) {
	base := r.opts.Dir
	if base == "" {
		base = os.TempDir()
	}
	found, err := filepath.Glob(filepath.Join(base, pattern))
	if err != nil {
		return // a bad pattern, which ours is not
	}
	for _, dir := range found {
		f, err := os.Open(dir)
		if err != nil {
			continue // another user's
		}
		if info, err := f.Stat(); err == nil && info.IsDir() && time.Since(info.ModTime()) > sweepAge && hold(f) {
			r.opts.Log.InfoContext(ctx, "removes what a dead process has left", "dir", dir)
			(&workdir{dir: dir, lock: f}).remove(r.opts.Log)
			continue
		}
		_ = f.Close() // only read
	}
}
