package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Source is the source tree of a package in memory, the text of each file by its path, for packages that are changes of
// another one.
type Source map[string]string

// ReadSource reads a source tree.
func ReadSource(dir string) (Source, error) {
	s := Source{}
	return s, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		s[filepath.ToSlash(rel)] = string(raw)
		return err
	})
}

// Edit replaces a text in the files whose paths match a pattern of path.Match. It is an error if none of them has it.
func (s Source) Edit(pattern, old, replacement string) error {
	found := false
	for file, text := range s {
		ok, err := path.Match(pattern, file)
		if err != nil {
			return err
		}
		if ok && strings.Contains(text, old) {
			s[file] = strings.ReplaceAll(text, old, replacement)
			found = true
		}
	}
	if !found {
		return fmt.Errorf("no file %s has %q", pattern, old)
	}
	return nil
}

// Build builds the package.
func (s Source) Build(ctx context.Context, archive string) (err error) {
	dir, err := os.MkdirTemp("", "gybe-source")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range s {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return BuildPackage(ctx, dir, archive)
}
