package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// keyFile is where a ring comes from.
type keyFile struct {
	path string // "" for a ring without a file
	mu   sync.Mutex
	read time.Time // the last time because of a missing key
}

// missedEvery bounds how often the file is read because of a missing key.
const missedEvery = time.Second

// Load reads the key file at path. It takes the rights of all users to read the file away, or fails if it cannot; the
// ring says which keys were exposed. Group rights stay: an operator has given them.
func Load(path string) (*Ring, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	if raw, err = closeFile(path, raw); err != nil {
		return nil, err
	}
	r, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.file.path = path
	return r, nil
}

// LoadOrCreate reads the key file at path, or creates one with a new key, readable by its owner only. Nodes that
// start on the same file at the same time get the same key.
func LoadOrCreate(path string) (*Ring, error) {
	r, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the key file: %w", err)
	}
	// The file is complete before it gets its name, so that no reader gets half a key. Link never replaces a file.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600, O_EXCL
	if err != nil {
		return nil, fmt.Errorf("create the key file: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(
		"# Keys of Gybe's database. Without this file the stored credentials are lost.\n" + Generate() + "\n",
	)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, fmt.Errorf("create the key file: %w", err)
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the key file: %w", err)
	}
	return Load(path)
}

// Refresh reads the key file again, and reports whether the keys have changed. A file that cannot be read, or is that
// of another installation, changes nothing: then the error says why. Keys that were removed from the file still open.
func (r *Ring) Refresh() (changed bool, err error) {
	if r.file.path == "" {
		return false, nil
	}
	other, err := Load(r.file.path)
	if err != nil {
		return false, err
	}
	r.file.mu.Lock()
	defer r.file.mu.Unlock()
	before, after := r.keys.Load(), other.keys.Load()
	if !slices.ContainsFunc(after.ids, func(id string) bool { return slices.Contains(before.ids, id) }) {
		return false, fmt.Errorf("%s has none of the keys that this node uses (%s)", r.file.path,
			strings.Join(before.ids, ", "))
	}
	for _, id := range before.ids { // this node may have sealed with it until now
		if !slices.Contains(after.ids, id) {
			after.aeads[id] = before.aeads[id]
		}
	}
	if slices.Equal(before.ids, after.ids) {
		same := *before
		same.exposed = after.exposed
		r.keys.Store(&same)
		return false, nil
	}
	r.keys.Store(after)
	return true, nil
}

// missed reads the key file because a value needs a key that the ring lacks: another node may seal with a key that was
// added since. It reports whether the keys have changed.
func (r *Ring) missed() bool {
	r.file.mu.Lock()
	now := time.Now()
	due := r.file.path != "" && now.Sub(r.file.read) >= missedEvery
	if due {
		r.file.read = now
	}
	r.file.mu.Unlock()
	if !due {
		return false
	}
	changed, err := r.Refresh()
	return changed && err == nil
}
