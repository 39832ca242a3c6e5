package csar

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// IgnorePath is an optional file in the root of a source folder: patterns, one per line, of files that do not belong in
// the package. A pattern is a path from the root or, without a slash, a name anywhere; * and ? match as in a shell. A
// directory that matches is left out with its content.
const IgnorePath = ".csarignore"

// alwaysIgnored are patterns for files of editors and operating systems.
var alwaysIgnored = []string{
	".git", ".gitignore", ".gitattributes", ".DS_Store", "__MACOSX", "Thumbs.db", "*~", ".*.swp", "__pycache__",
	IgnorePath, IncludePath,
}

// OpenDir reads a source folder as if it were an archive. TOSCA.meta need not have hashes, and the ones it has are not
// compared: Build computes them.
func OpenDir(root *os.Root, lim Limits) (*Archive, error) {
	a := &Archive{fsys: root.FS(), lim: lim}
	if err := a.addDir(root); err != nil {
		return nil, err
	}
	if err := a.include(root); err != nil {
		return nil, err
	}
	a.sort()
	var err error
	if a.info, err = inspect(a, source); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Archive) addDir(root *os.Root) error {
	ignored, err := readIgnore(root)
	if err != nil {
		return err
	}
	seen, entries := newNames(), 0
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read source folder: %w", err)
		}
		switch {
		case p == ".":
			return nil
		case ignored.match(p) && d.IsDir():
			return fs.SkipDir
		case ignored.match(p):
			return nil
		}
		if entries++; entries > a.lim.Entries {
			return reject(TooManyEntries, "", fmt.Sprintf("the folder has more than %d files", a.lim.Entries), "")
		}
		name, problem := cleanName(p, a.lim)
		if problem != "" {
			return reject(UnsafeName, p, problem, "")
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return reject(NotRegular, p, "not a regular file", "put a copy of the file itself in the folder")
		}
		if err := seen.add(name, d.IsDir()); err != nil {
			return err
		}
		if !d.IsDir() {
			a.files = append(a.files, fileOf(root, name))
		}
		return nil
	})
}

type ignore []string

func readIgnore(root *os.Root) (ignore, error) {
	patterns := ignore(alwaysIgnored)
	data, err := root.ReadFile(IgnorePath)
	if errors.Is(err, fs.ErrNotExist) {
		return patterns, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", IgnorePath, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		p := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "/"), "/")
		if p == "" || strings.HasPrefix(p, "#") {
			continue
		}
		if _, err := path.Match(p, ""); err != nil {
			return nil, metadataError(IgnorePath, n, "the pattern "+printable(quote(p))+" is malformed")
		}
		patterns = append(patterns, p)
	}
	return patterns, lines.Err()
}

func (ig ignore) match(name string) bool {
	for _, p := range ig {
		what := name
		if !strings.Contains(p, "/") {
			what = path.Base(name)
		}
		if ok, _ := path.Match(p, what); ok {
			return true
		}
	}
	return false
}
