package cms

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	_ "crypto/sha256" // hashes of signatures
	_ "crypto/sha512"
	"encoding/asn1"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// Object identifiers of RFC 5652, RFC 5754, RFC 4055 and RFC 5753.
var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningTime   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}

	oidRSA = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidPSS = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
	oidMGF = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8}
	oidEC  = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
)

// digests are the hash algorithms that are accepted.
var digests = []struct {
	oid  asn1.ObjectIdentifier
	hash crypto.Hash
}{
	{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}, crypto.SHA256},
	{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}, crypto.SHA384},
	{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}, crypto.SHA512},
}

// weak are algorithms that an error can name.
var weak = map[string]string{
	"1.3.14.3.2.26": "SHA-1", "1.2.840.113549.2.5": "MD5", "2.16.840.1.101.3.4.2.4": "SHA-224",
	"1.2.840.113549.1.1.4": "MD5 with RSA", "1.2.840.113549.1.1.5": "SHA-1 with RSA",
	"1.2.840.10045.4.1": "ECDSA with SHA-1", "1.2.840.10040.4.3": "DSA with SHA-1",
	"2.16.840.1.101.3.4.3.2": "DSA", "1.3.101.112": "Ed25519", "1.3.101.113": "Ed448",
}

// scheme is how a signature is computed from a digest.
type scheme int

const (
	pkcs1 scheme = iota
	pss
	ec
)

// String is the name of the scheme in texts for users.
func (s scheme) String() string { return [...]string{"RSA", "RSA-PSS", "ECDSA"}[s] }

// schemes are the signature algorithms that are accepted; those with a hash must be used with that one.
var schemes = []struct {
	oid    asn1.ObjectIdentifier
	scheme scheme
	hash   crypto.Hash
}{
	{oidRSA, pkcs1, 0},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, pkcs1, crypto.SHA256},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 12}, pkcs1, crypto.SHA384},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 13}, pkcs1, crypto.SHA512},
	{oidPSS, pss, 0},
	{oidEC, ec, 0},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}, ec, crypto.SHA256},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}, ec, crypto.SHA384},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}, ec, crypto.SHA512},
}

// AlgorithmError reports an algorithm or key that is not accepted, because it is weak or not known.
type AlgorithmError struct{ Name string }

// Error names the algorithm.
func (e *AlgorithmError) Error() string { return e.Name + " is not accepted" }

func unsupported(kind string, oid asn1.ObjectIdentifier) error {
	if name, ok := weak[oid.String()]; ok {
		return &AlgorithmError{Name: name}
	}
	return &AlgorithmError{Name: "the " + kind + " algorithm " + oid.String()}
}

// algorithm is an AlgorithmIdentifier.
type algorithm struct {
	oid    asn1.ObjectIdentifier
	params cryptobyte.String // empty when absent
}

func readAlgorithm(s *cryptobyte.String) (a algorithm, ok bool) {
	var seq cryptobyte.String
	if !s.ReadASN1(&seq, cbasn1.SEQUENCE) || !seq.ReadASN1ObjectIdentifier(&a.oid) {
		return a, false
	}
	a.params = seq
	return a, true
}

// plain says that the parameters are absent or NULL.
func (a algorithm) plain() bool { return len(a.params) == 0 || string(a.params) == "\x05\x00" }

func (a algorithm) hash() (crypto.Hash, error) {
	for _, known := range digests {
		switch {
		case !known.oid.Equal(a.oid):
		case !a.plain():
			return 0, damaged("parameters of the digest algorithm")
		default:
			return known.hash, nil
		}
	}
	return 0, unsupported("digest", a.oid)
}

// signatureScheme returns the scheme of a signature over a digest of the given hash, and the length of the salt for
// PSS.
func (a algorithm) signatureScheme(h crypto.Hash) (scheme, int, error) {
	for _, known := range schemes {
		switch {
		case !known.oid.Equal(a.oid):
		case known.hash != 0 && known.hash != h:
			return 0, 0, damaged("digest and signature algorithm do not fit together")
		case known.scheme == pss:
			salt, err := saltLength(a.params, h)
			return pss, salt, err
		case !a.plain():
			return 0, 0, damaged("parameters of the signature algorithm")
		default:
			return known.scheme, 0, nil
		}
	}
	return 0, 0, unsupported("signature", a.oid)
}

// saltLength reads RSASSA-PSS-params, which must name the hash of the digest everywhere.
func saltLength(params cryptobyte.String, h crypto.Hash) (int, error) {
	var seq, hash, mgf, salt cryptobyte.String
	var hasHash, hasMGF, hasSalt bool
	if !params.ReadASN1(&seq, cbasn1.SEQUENCE) || !params.Empty() ||
		!seq.ReadOptionalASN1(&hash, &hasHash, context(0)) || !seq.ReadOptionalASN1(&mgf, &hasMGF, context(1)) ||
		!seq.ReadOptionalASN1(&salt, &hasSalt, context(2)) || !seq.Empty() {
		return 0, errPSS
	}
	if !hasHash || !hasMGF { // the defaults are SHA-1
		return 0, &AlgorithmError{Name: "RSA-PSS with SHA-1"}
	}
	if err := checkHashes(hash, mgf, h); err != nil {
		return 0, err
	}
	length := 20
	if hasSalt && (!salt.ReadASN1Integer(&length) || !salt.Empty()) || length < 0 || length > 1024 {
		return 0, errPSS
	}
	return length, nil
}

var errPSS = damaged("parameters of RSA-PSS")

// checkHashes compares the hash algorithms of the message and of the mask of RSA-PSS.
func checkHashes(hash, mgf cryptobyte.String, h crypto.Hash) error {
	own, ok1 := readAlgorithm(&hash)
	outer, ok2 := readAlgorithm(&mgf)
	if !ok1 || !ok2 || !outer.oid.Equal(oidMGF) || !hash.Empty() || !mgf.Empty() {
		return errPSS
	}
	inner, ok := readAlgorithm(&outer.params)
	if !ok || !outer.params.Empty() {
		return errPSS
	}
	for _, a := range []algorithm{own, inner} {
		if found, err := a.hash(); err != nil {
			return err
		} else if found != h {
			return &AlgorithmError{Name: "RSA-PSS with several hash algorithms"}
		}
	}
	return nil
}

// Bounds of RSA keys: shorter ones are weak, longer ones cost too much time.
const (
	minRSA = 2048
	maxRSA = 8192
)

// CheckKey returns an *AlgorithmError if a public key is too weak, too large or of an unknown kind.
func CheckKey(key crypto.PublicKey) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < minRSA || bits > maxRSA {
			return &AlgorithmError{
				Name: fmt.Sprintf("an RSA key of %d bits (%d to %d are allowed)", bits, minRSA, maxRSA),
			}
		}
		return nil
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256(), elliptic.P384(), elliptic.P521():
			return nil
		}
		return &AlgorithmError{Name: "an ECDSA key on the curve " + k.Curve.Params().Name}
	}
	return &AlgorithmError{Name: fmt.Sprintf("a key of the kind %T", key)}
}
