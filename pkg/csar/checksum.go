package csar

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// The standard names of hash algorithms (SOL003 Checksum.algorithm, SOL004).
const (
	SHA224 = "SHA-224"
	SHA256 = "SHA-256"
	SHA384 = "SHA-384"
	SHA512 = "SHA-512"
)

const algorithms = "SHA-224, SHA-256, SHA-384 and SHA-512"

// Algorithm returns the standard name of a hash algorithm for any of the spellings in use ("sha256", "SHA-256",
// "Sha_256", "SHA2-256"), and false for one that is unknown or too weak.
func Algorithm(name string) (string, bool) {
	switch separators.Replace(strings.ToLower(strings.TrimSpace(name))) {
	case "sha224", "sha2224":
		return SHA224, true
	case "sha256", "sha2256":
		return SHA256, true
	case "sha384", "sha2384":
		return SHA384, true
	case "sha512", "sha2512":
		return SHA512, true
	}
	return "", false
}

// separators is made once: a package can have 50,000 hashes.
var separators = strings.NewReplacer("-", "", "_", "", " ", "", "/", "")

func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case SHA224:
		return sha256.New224()
	case SHA384:
		return sha512.New384()
	case SHA512:
		return sha512.New()
	default:
		return sha256.New()
	}
}

// parseSum returns a checksum in lower case, or the reason why it is invalid.
func parseSum(algorithm, text string) (sum, problem string) {
	sum = strings.ToLower(strings.TrimSpace(text))
	want := 2 * newHash(algorithm).Size()
	if len(sum) != want {
		return "", fmt.Sprintf("the hash has %d characters, %s has %d hexadecimal digits", len(sum), algorithm, want)
	}
	if _, err := hex.DecodeString(sum); err != nil {
		return "", "the hash is not hexadecimal"
	}
	return sum, ""
}
