package auth

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxTokenFile bounds the file of static tokens in bytes, about 20,000 tokens.
const maxTokenFile = 4 << 20

const tokenFileHead = `# Static tokens of gybe, without their secrets. "gybe token create|list|revoke" edit this file; nodes read it again
# when it changes. Fields: id, hash, role, project, expiry, creation, subject.
`

// ReadTokens reads a file of static tokens. The error names every invalid line; the tokens of the others are returned,
// too. A file that does not exist is fs.ErrNotExist.
func ReadTokens(path string) ([]Token, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s can be written by other users (mode %04o)", path, info.Mode().Perm())
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxTokenFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxTokenFile)
	}
	var (
		out  []Token
		bad  []error
		seen = map[string]bool{}
	)
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		t, err := parseToken(text)
		if err == nil && seen[t.ID] {
			err = fmt.Errorf("the id %s is used twice", t.ID)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s line %d: %w", path, n, err))
			continue
		}
		seen[t.ID] = true
		out = append(out, t)
	}
	return out, errors.Join(append(bad, lines.Err())...)
}

// AddToken adds a token to the file, which is created if it does not exist.
func AddToken(path string, t Token) error {
	if err := t.validate(); err != nil {
		return err
	}
	return editTokens(path, func(tokens []Token) ([]Token, error) {
		if slices.ContainsFunc(tokens, func(o Token) bool { return o.ID == t.ID }) {
			return nil, fmt.Errorf("the id %s is in use", t.ID)
		}
		return append(tokens, t), nil
	})
}

// RevokeToken removes a token from the file and returns it. An unknown id is fs.ErrNotExist.
func RevokeToken(path, id string) (Token, error) {
	var gone Token
	err := editTokens(path, func(tokens []Token) ([]Token, error) {
		i := slices.IndexFunc(tokens, func(o Token) bool { return o.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("%s has no token %.20q: %w", path, id, fs.ErrNotExist)
		}
		gone = tokens[i]
		return slices.Delete(tokens, i, i+1), nil
	})
	return gone, err
}

// editTokens replaces the file atomically. The lock of its directory keeps two commands apart.
func editTokens(path string, edit func([]Token) ([]Token, error)) (err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // ends the lock
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", dir.Name(), err)
	}
	tokens, err := ReadTokens(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("correct the file first: %w", err)
	}
	if tokens, err = edit(tokens); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the error is reported
		}
	}()
	out := bufio.NewWriter(f)
	_, _ = out.WriteString(tokenFileHead) // Flush reports it
	for _, t := range tokens {
		_, _ = out.WriteString(t.line() + "\n")
	}
	if err := errors.Join(out.Flush(), keepOwner(f, path), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return dir.Sync()
}

// keepOwner gives the new file the owner of the old one: root may edit the file of the user that nodes run as.
func keepOwner(f *os.File, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) == os.Geteuid() && int(s.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(s.Uid), int(s.Gid))
}
