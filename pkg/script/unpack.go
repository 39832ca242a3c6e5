package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Limits of the unpacked files of a package, in bytes. Larger files are images, which scripts do not need.
const (
	maxFile  = 16 << 20
	maxTotal = 256 << 20
)

// The parts of the directory of a run.
const (
	pattern     = "gybe-script-*"
	packageDir  = "package"
	homeDir     = "home"
	libraryDir  = "library"
	starterFile = "start.py"
)

// workdir is the directory of one run. Only the user that the script runs as has access.
type workdir struct {
	dir  string
	lock *os.File // shows other processes that the directory is in use
}

func (w *workdir) path(part string) string { return filepath.Join(w.dir, part) }

// remove deletes the directory.
func (w *workdir) remove(log *slog.Logger) {
	if err := os.RemoveAll(w.dir); err != nil {
		log.Warn("cannot remove the directory of a script", "dir", w.dir, "error", err)
	}
	_ = w.lock.Close() // was never written
}

// unpack creates the directory of a run: the package without images, our starter, and a home. If the script runs as
// another user, it cannot change these files.
func unpack(ctx context.Context, base string, pkg fs.FS) (_ *workdir, err error) {
	defer func() {
		if _, ok := errors.AsType[*lcm.Error](err); err != nil && !ok {
			err = lcm.Errorf(lcm.CodeUnavailable, "the package cannot be unpacked for its script: %w",
				err).AsTransient()
		}
	}()
	dir, err := os.MkdirTemp(base, pattern)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer func() { _ = root.Close() }() // only a handle
		err = writePackage(ctx, root, pkg)
	}
	if err == nil {
		err = errors.Join(chownToScriptUser(dir), chownToScriptUser(filepath.Join(dir, homeDir)))
	}
	var lock *os.File
	if err == nil {
		lock, err = os.Open(dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	tryLock(lock)
	return &workdir{dir: dir, lock: lock}, nil
}

// writePackage writes the regular files of a package. It skips links and other special files.
func writePackage(ctx context.Context, root *os.Root, pkg fs.FS) error {
	starter, err := ownScripts.ReadFile(starterFile)
	if err != nil {
		return err
	}
	if err := errors.Join(root.WriteFile(starterFile, starter, 0o644), root.Chmod(starterFile, 0o644),
		root.Mkdir(homeDir, 0o700)); err != nil {
		return err
	}
	if err := writeLibrary(root); err != nil {
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
			return errors.Join(root.Mkdir(at, 0o755), root.Chmod(at, 0o755)) // independent of the umask
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() > maxFile {
			return nil
		}
		if total += info.Size(); total > maxTotal {
			return lcm.Errorf(
				lcm.CodeUnprocessable,
				"the files of the package have more than %d MiB without its images: too much to unpack for a script",
				maxTotal>>20,
			)
		}
		return copyFile(root, at, pkg, name, info)
	})
}

// writeLibrary writes the modules that scripts can import without installing them.
func writeLibrary(root *os.Root) error {
	if err := errors.Join(root.Mkdir(libraryDir, 0o755), root.Chmod(libraryDir, 0o755)); err != nil {
		return err
	}
	modules, err := ownScripts.ReadDir(libraryDir)
	if err != nil {
		return err
	}
	for _, m := range modules {
		text, err := ownScripts.ReadFile(path.Join(libraryDir, m.Name()))
		if err != nil {
			return err
		}
		at := filepath.Join(libraryDir, m.Name())
		if err := errors.Join(root.WriteFile(at, text, 0o644), root.Chmod(at, 0o644)); err != nil {
			return err
		}
	}
	return nil
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

// minSweepAge protects directories that are being created.
const minSweepAge = time.Minute

// sweep removes the directories of dead processes.
func (r *Runner) sweep(ctx context.Context) {
	base := r.opts.Dir
	if base == "" {
		base = os.TempDir()
	}
	found, err := filepath.Glob(filepath.Join(base, pattern))
	if err != nil {
		return // the pattern is constant and valid
	}
	for _, dir := range found {
		f, err := os.Open(dir)
		if err != nil {
			continue // another user's
		}
		if info, err := f.Stat(); err == nil && info.IsDir() && time.Since(info.ModTime()) > minSweepAge && tryLock(f) {
			r.opts.Log.InfoContext(ctx, "removing the directory of a dead process", "dir", dir)
			(&workdir{dir: dir, lock: f}).remove(r.opts.Log)
			continue
		}
		_ = f.Close() // only read
	}
}
