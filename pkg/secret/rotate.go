package secret

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// AddKey adds a new key to the end of a key file, so that it opens and does not seal yet, and returns its id.
func AddKey(path string) (id string, err error) {
	line := Generate()
	id, _, _ = strings.Cut(line, " ")
	return id, rewrite(path, func(lines []string) ([]string, error) { return append(lines, line), nil })
}

// Activate makes a key of a key file the primary one; "" is the last key. It returns the ids of the key that seals from
// now on, and of the one that did before.
func Activate(path, id string) (now, before string, err error) {
	err = rewrite(path, func(lines []string) ([]string, error) {
		places := keyLines(lines)
		at := places[len(places)-1]
		if id != "" {
			if at = slices.IndexFunc(lines, func(l string) bool { return idOf(l) == id }); at < 0 {
				return nil, fmt.Errorf("%s has no key %s", path, id)
			}
		}
		now, before = idOf(lines[at]), idOf(lines[places[0]])
		line := lines[at]
		lines = slices.Delete(lines, at, at+1)
		return slices.Insert(lines, places[0], line), nil
	})
	return now, before, err
}

// RemoveKey removes a key that is not the primary one from a key file, and that it was exposed.
func RemoveKey(path, id string) error {
	return rewrite(path, func(lines []string) ([]string, error) {
		at := slices.IndexFunc(lines, func(l string) bool { return idOf(l) == id })
		switch {
		case at < 0:
			return nil, fmt.Errorf("%s has no key %s", path, id)
		case at == keyLines(lines)[0]:
			return nil, fmt.Errorf("the key %s of %s seals; activate another one first", id, path)
		}
		return slices.DeleteFunc(slices.Delete(lines, at, at+1), func(l string) bool {
			e, ok := parseExposure(l)
			return ok && e.Key == id
		}), nil
	})
}

// keyLines are the indexes of the lines with keys.
func keyLines(lines []string) (at []int) {
	for n, l := range lines {
		if idOf(l) != "" {
			at = append(at, n)
		}
	}
	return at
}

// idOf is the id of the key in a line; "" for another line.
func idOf(line string) string {
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
		return ""
	}
	id, _, _ := strings.Cut(line, " ")
	return id
}

// rewrite replaces a key file at once, so that no reader sees a part of it. It keeps the owner, and the mode without
// the rights of all users; keys that they could read are marked. Two commands at the same time run one after the other.
func rewrite(path string, change func([]string) ([]string, error)) error {
	path, err := filepath.EvalSymlinks(path) // the file that a link leads to is replaced, not the link
	if err != nil {
		return fmt.Errorf("change the key file: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("change the key file: %w", err)
	}
	defer func() { _ = dir.Close() }() // which unlocks it
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the folder of the key file: %w", err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("change the key file: %w", err)
	}
	if _, err := Parse(old); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	lines := strings.Split(strings.TrimRight(string(old), "\n"), "\n")
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("change the key file: %w", err)
	}
	if isExposed(info) {
		lines = markExposed(lines, info.Mode().Perm().String())
	}
	if lines, err = change(lines); err != nil {
		return err
	}
	text := []byte(strings.Join(lines, "\n") + "\n")
	if _, err := Parse(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(text, old) {
		return nil
	}
	if err := replaceFile(path, text); err != nil {
		return fmt.Errorf("change the key file: %w", err)
	}
	return dir.Sync()
}

// replaceFile writes a file beside another one, with its owner and mode, and gives it the name of that one.
func replaceFile(path string, text []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // it has another name when all went well
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		err = tmp.Chown(int(owner.Uid), int(owner.Gid))
	}
	_, writeErr := tmp.Write(text)
	err = errors.Join(err, writeErr, tmp.Chmod(info.Mode().Perm()&^others), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
