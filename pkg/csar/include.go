package csar

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// IncludePath is an optional file in the root of a source folder: files that the package takes from other source
// folders beside it, one a line, as FOLDER/PATH. They get the same PATH in this package. A PATH that is a folder stands
// for all files in it. Files of the folder itself win.
const IncludePath = ".csarinclude"

// included is a file that a source folder takes from another one.
type included struct {
	folder string // of the file system
	name   string // in that folder, and in the package
}

// open opens the file. Links do not lead out of its folder.
func (i included) open() (fs.File, error) {
	root, err := os.OpenRoot(i.folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the file stays open
	return openRegular(root, i.name)
}

// include adds the files that IncludePath names.
func (a *Archive) include(root *os.Root) error {
	data, err := root.ReadFile(IncludePath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", IncludePath, err)
	}
	base, err := filepath.Abs(root.Name())
	if err != nil {
		return fmt.Errorf("read %s: %w", IncludePath, err)
	}
	own := map[string]bool{}
	for _, f := range a.files {
		own[f.name] = true
	}
	from := overlay{own: a.fsys, taken: map[string]included{}}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		folder, name, ok := strings.Cut(line, "/")
		if !ok || !fs.ValidPath(line) || folder == "." {
			return metadataError(IncludePath, n, printable(quote(line))+
				" is not like FOLDER/PATH, with the name of a folder beside this one")
		}
		if err := a.includeAll(from.taken, own, included{folder: filepath.Join(filepath.Dir(base), folder), name: name},
			n); err != nil {
			return err
		}
	}
	a.fsys = from
	return lines.Err()
}

// includeAll adds one file, or all files in a folder.
func (a *Archive) includeAll(taken map[string]included, own map[string]bool, what included, line int) error {
	if info, err := os.Lstat(filepath.Join(what.folder, filepath.FromSlash(what.name))); err == nil &&
		info.Mode()&fs.ModeSymlink != 0 {
		return reject(NotRegular, what.name, "not a regular file", "name the file itself")
	}
	return fs.WalkDir(os.DirFS(what.folder), what.name, func(p string, d fs.DirEntry, err error) error {
		switch {
		case own[what.name]:
			return fs.SkipAll
		case err != nil:
			return metadataError(
				IncludePath, line, fmt.Sprintf("%s has no file %s", printable(quote(what.folder)), printable(quote(p))),
			)
		case d.IsDir():
			return nil
		case slices.ContainsFunc(
			alwaysIgnored, func(pattern string) bool { ok, _ := path.Match(pattern, path.Base(p)); return ok },
		):
			return nil
		}
		if !d.Type().IsRegular() {
			return reject(NotRegular, p, "not a regular file", "put a copy of the file itself in the folder")
		}
		name, problem := cleanName(p, a.lim)
		if problem != "" {
			return reject(UnsafeName, p, problem, "")
		}
		if _, twice := taken[name]; own[name] || twice {
			return nil
		}
		if len(a.files) >= a.lim.Entries {
			return reject(TooManyEntries, "", fmt.Sprintf("the folder has more than %d files", a.lim.Entries), "")
		}
		f := included{folder: what.folder, name: name}
		taken[name] = f
		a.files = append(a.files, file{name: name, open: func() (io.ReadCloser, error) { return f.open() }})
		return nil
	})
}

// overlay is a source folder together with the files that it takes from others.
type overlay struct {
	own   fs.FS
	taken map[string]included
}

// Open implements fs.FS.
func (o overlay) Open(name string) (fs.File, error) {
	if f, ok := o.taken[name]; ok {
		return f.open()
	}
	return o.own.Open(name)
}
