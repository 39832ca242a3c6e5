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
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the length of a key in bytes.
const KeySize = chacha20poly1305.KeySize

// ErrUnknownKey reports that data was sealed with a key that the ring does not hold.
var ErrUnknownKey = errors.New("sealed with a key that is not in the key file")

// ErrBroken reports that sealed data is damaged, was moved to another place, or belongs to another key of the same id.
var ErrBroken = errors.New("sealed data does not open")

// Ring holds the keys of an installation. The first one seals, all of them open. It is safe for concurrent use. A ring
// of a file follows the file: see Refresh.
type Ring struct {
	keys atomic.Pointer[keys]
	file keyFile
}

// keys are the keys of a ring at one time.
type keys struct {
	ids   []string
	aeads map[string]cipher.AEAD
	mac   []byte
	// exposed are the keys that all users of a machine could read.
	exposed []Exposure
}

var idRule = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,32}$`)

// Parse reads a key file: one `id base64key` per line, the primary key first; empty lines and lines that begin with #
// are skipped. A key is 32 random bytes. Keys are rotated by AddKey and Activate, and sealed values by store.Reencrypt.
func Parse(text []byte) (*Ring, error) {
	k, err := parseKeys(text)
	if err != nil {
		return nil, err
	}
	r := &Ring{}
	r.keys.Store(k)
	return r, nil
}

func parseKeys(text []byte) (*keys, error) {
	r := &keys{aeads: map[string]cipher.AEAD{}}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if e, ok := parseExposure(line); ok {
			r.exposed = append(r.exposed, e)
		}
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
	r.exposed = slices.DeleteFunc(r.exposed, func(e Exposure) bool { return !slices.Contains(r.ids, e.Key) })
	return r, nil
}

func (r *keys) add(id string, key []byte) error {
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

// Generate returns a line for the key file with a new key under a new id.
func Generate() string {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	return "k" + strings.ToLower(rand.Text()[:8]) + " " + base64.StdEncoding.EncodeToString(key)
}

// Primary is the id of the key that seals.
func (r *Ring) Primary() string { return r.keys.Load().ids[0] }

// IDs lists the ids of the keys, the primary one first.
func (r *Ring) IDs() []string { return slices.Clone(r.keys.Load().ids) }

// Has reports whether the ring holds a key.
func (r *Ring) Has(id string) bool { return slices.Contains(r.keys.Load().ids, id) }

// Format of sealed data: one byte of version, one of the key id's length, the key id, the nonce, the ciphertext with
// its tag.
const version = 1

// Seal encrypts plain. place names where the result is stored (table, column, row). It is not part of the result, but
// Open fails with any other, so that sealed data cannot be moved. A nil plain stays nil.
func (r *Ring) Seal(plain []byte, place string) []byte {
	if plain == nil {
		return nil
	}
	k := r.keys.Load()
	id := k.ids[0]
	aead := k.aeads[id]
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
	aead, ok := r.keys.Load().aeads[id]
	if !ok && r.missed() {
		aead, ok = r.keys.Load().aeads[id]
	}
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
	h := hmac.New(sha256.New, r.keys.Load().mac)
	h.Write(text)
	return h.Sum(nil)
}
