package content

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
)

// Algorithm is the name of the hash in a [Digest], as SOL004 spells it.
const Algorithm = "SHA-512"

// Digest names a blob: the SHA-512 of its bytes as 128 lower-case hexadecimal digits.
type Digest string

// ParseDigest returns text as a Digest, or an error if it is not valid. Only a parsed digest is safe in a path.
func ParseDigest(text string) (Digest, error) {
	if len(text) != 2*sha512.Size {
		return "", fmt.Errorf("digest of %d characters, want %d", len(text), 2*sha512.Size)
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("digest has the character %q, want lower-case hexadecimal digits", c)
		}
	}
	return Digest(text), nil
}

// digestOf is the digest of a finished SHA-512 sum.
func digestOf(sum []byte) Digest { return Digest(hex.EncodeToString(sum)) }

// path returns the path of an object of this kind, from the store's root. Two digits of fan-out keep
// directories small with any number of packages.
func (d Digest) path(kind string) string { return kind + "/" + string(d[:2]) + "/" + string(d) }

// check rejects a Digest that was created by conversion and is not valid.
func (d Digest) check() error {
	_, err := ParseDigest(string(d))
	return err
}
