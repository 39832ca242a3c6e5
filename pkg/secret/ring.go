// Package secret seals the secrets in the database: authenticated encryption with a ring of keys
// that can be rotated while nodes run.
package secret

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the length of a key in bytes.
const KeySize = chacha20poly1305.KeySize

// ErrUnknownKey reports that data was sealed with a key that the ring does not hold.
var ErrUnknownKey = errors.New("sealed with a key that is not in the key file")

// ErrBroken reports that sealed data is damaged, was moved to another place, or belongs to another key of the same id.
var ErrBroken = errors.New("sealed data does not open")

// Ring holds the keys of an installation. The first one seals, all of them open. It is safe for concurrent use.
type Ring struct {
	ids   []string
	aeads map[string]cipher.AEAD
	mac   []byte
}

var idRule = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,32}$`)

// Parse reads a key file: one `id base64key` per line, the primary key first; empty lines and lines that begin with #
// are skipped. A key is 32 random bytes. To rotate, put a new key in front and restart the nodes. Keep the old
// key: values that are sealed with it are sealed again only when they change, as no command calls store.Reencrypt yet.
func Parse(text []byte) (*Ring, error) {
	r := &Ring{aeads: map[string]cipher.AEAD{}}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, enc, ok := strings.Cut(line, " ")
		if !ok || !idRule.MatchString(id) {
			return nil, fmt.Errorf(
				"key file line %d: want `id base64key`, the id of letters, digits, dot, dash and underscore",
				n,
			)
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(enc))
		if err != nil || len(key) != KeySize {
			// never the key itself
			return nil, fmt.Errorf("key file line %d: key %s is not %d bytes in base64", n, id, KeySize)
		}
		if err := r.add(id, key); err != nil {
			return nil, fmt.Errorf("key file line %d: %w", n, err)
		}
	}
	if len(r.ids) == 0 {
		return nil, errors.New("the key file holds no key")
	}
	return r, nil
}

func (r *Ring) add(id string, key []byte) error {
	if _, dup := r.aeads[id]; dup {
		return fmt.Errorf("key id %s is used twice", id)
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return err
	}
	if r.mac == nil {
		if r.mac, err = hkdf.Key(sha256.New, key, nil, "gybe fingerprint", sha256.Size); err != nil {
			return err
		}
	}
	r.ids, r.aeads[id] = append(r.ids, id), aead
	return nil
}

// Load reads the key file at path. It takes the rights of all users to read the file away, or fails if it cannot. Group
// rights stay: an operator has given them.
func Load(path string) (*Ring, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	if err := closeFile(path); err != nil {
		return nil, err
	}
	r, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// closeFile takes the rights of all users away from a regular file. It never touches a device.
func closeFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the key file: %w", err)
	}
	const others = 0o007
	if !info.Mode().IsRegular() || info.Mode().Perm()&others == 0 {
		return nil
	}
	if err := os.Chmod(path, info.Mode()&^fs.FileMode(others)); err != nil {
		return fmt.Errorf("all users of this machine can read the key file %s (mode %s); its owner must run: "+
			"chmod o-rwx %s", path, info.Mode().Perm(), path)
	}
	return nil
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

// Generate returns a line for the key file with a new key under a new id.
func Generate() string {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	return "k" + strings.ToLower(rand.Text()[:8]) + " " + base64.StdEncoding.EncodeToString(key)
}

// Primary is the id of the key that seals.
func (r *Ring) Primary() string { return r.ids[0] }

// Has reports whether the ring holds a key.
func (r *Ring) Has(id string) bool { return slices.Contains(r.ids, id) }

// Format of sealed data: one byte of version, one of the key id's length, the key id, the nonce, the ciphertext with
// its tag.
const version = 1

// Seal encrypts plain. place names where the result is stored (table, column, row). It is not part of the result, but
// Open fails with any other, so that sealed data cannot be moved. A nil plain stays nil.
func (r *Ring) Seal(plain []byte, place string) []byte {
	if plain == nil {
		return nil
	}
	id := r.Primary()
	aead := r.aeads[id]
	out := make([]byte, 0, 2+len(id)+aead.NonceSize()+len(plain)+aead.Overhead())
	out = append(append(out, version, byte(len(id))), id...)
	head := len(out)
	out = out[:head+aead.NonceSize()]
	_, _ = rand.Read(out[head:]) // never fails; 24 random bytes do not repeat
	return aead.Seal(out, out[head:], plain, []byte(place))
}

// Open decrypts the result of Seal for the same place. Errors are ErrUnknownKey and ErrBroken; nil stays nil.
func (r *Ring) Open(sealed []byte, place string) ([]byte, error) {
	return r.open(sealed, place, false)
}

// OpenInPlace is Open, but the result overwrites sealed.
func (r *Ring) OpenInPlace(sealed []byte, place string) ([]byte, error) {
	return r.open(sealed, place, true)
}

func (r *Ring) open(sealed []byte, place string, inPlace bool) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	id, rest, ok := split(sealed)
	if !ok {
		return nil, ErrBroken
	}
	aead, ok := r.aeads[id]
	if !ok {
		return nil, fmt.Errorf("%w: key id %s", ErrUnknownKey, id)
	}
	if len(rest) < aead.NonceSize() {
		return nil, ErrBroken
	}
	text := rest[aead.NonceSize():]
	to := []byte{}
	if inPlace {
		to = text[:0]
	}
	plain, err := aead.Open(to, rest[:aead.NonceSize()], text, []byte(place))
	if err != nil {
		return nil, ErrBroken // the library's text adds nothing
	}
	return plain, nil
}

// KeyOf returns the id of the key that sealed data needs; false if it is not sealed data.
func KeyOf(sealed []byte) (string, bool) {
	id, _, ok := split(sealed)
	return id, ok
}

func split(sealed []byte) (id string, rest []byte, ok bool) {
	if len(sealed) < 2 || sealed[0] != version || len(sealed) < 2+int(sealed[1]) {
		return "", nil, false
	}
	n := 2 + int(sealed[1])
	return string(sealed[2:n]), sealed[n:], true
}

// Fingerprint is the same for equal texts, and reveals nothing about them to a reader without the keys. It changes
// with the primary key.
func (r *Ring) Fingerprint(text []byte) []byte {
	h := hmac.New(sha256.New, r.mac)
	h.Write(text)
	return h.Sum(nil)
}
