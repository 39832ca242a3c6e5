package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// Identity is a key that signs, with its certificate.
type Identity struct {
	Key crypto.Signer
	// Certificate belongs to Key. Chain are certificates of its issuers, which the signature carries, too.
	Certificate *x509.Certificate
	Chain       []*x509.Certificate
}

// Check says whether the identity can sign: the key belongs to the certificate and is accepted by Verify.
func (id Identity) Check() error {
	public, ok := id.Key.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !ok || !public.Equal(id.Certificate.PublicKey) {
		return errors.New("the key does not belong to the certificate")
	}
	return CheckKey(id.Certificate.PublicKey)
}

// Hash is the hash algorithm that fits the key.
func (id Identity) Hash() crypto.Hash {
	if k, ok := id.Key.Public().(*ecdsa.PublicKey); ok {
		switch bits := k.Curve.Params().BitSize; {
		case bits > 384:
			return crypto.SHA512
		case bits > 256:
			return crypto.SHA384
		}
	}
	return crypto.SHA256
}

// Sign returns a detached signature in PEM. digest computes the digest of the content. at is the signing time that the
// signature states. The same arguments give the same signature.
func Sign(digest func(crypto.Hash) ([]byte, error), at time.Time, signers ...Identity) ([]byte, error) {
	var infos, algorithms, certificates [][]byte
	for _, id := range signers {
		if err := id.Check(); err != nil {
			return nil, err
		}
		content, err := digest(id.Hash())
		if err != nil {
			return nil, err
		}
		info, err := signerInfo(id, content, at)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
		algorithms = append(algorithms, build(func(b *cryptobyte.Builder) { addDigest(b, id.Hash()) }))
		for _, c := range append([]*x509.Certificate{id.Certificate}, id.Chain...) {
			certificates = append(certificates, c.Raw)
		}
	}
	der := build(func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1ObjectIdentifier(oidSignedData)
			b.AddASN1(context(0), func(b *cryptobyte.Builder) {
				b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
					b.AddASN1Int64(1)
					addSet(b, cbasn1.SET, algorithms)
					b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddASN1ObjectIdentifier(oidData) })
					addSet(b, context(0), certificates)
					addSet(b, cbasn1.SET, infos)
				})
			})
		})
	})
	return pem.EncodeToMemory(&pem.Block{Type: "CMS", Bytes: der}), nil
}

func signerInfo(id Identity, content []byte, at time.Time) ([]byte, error) {
	h := id.Hash()
	attributes := [][]byte{
		attribute(oidContentType, func(b *cryptobyte.Builder) { b.AddASN1ObjectIdentifier(oidData) }),
		attribute(oidMessageDigest, func(b *cryptobyte.Builder) { b.AddASN1OctetString(content) }),
		attribute(oidSigningTime, func(b *cryptobyte.Builder) { addTime(b, at.UTC()) }),
	}
	signed := build(func(b *cryptobyte.Builder) { addSet(b, cbasn1.SET, attributes) })
	// Without a source of random numbers ECDSA signs as RFC 6979 says; PKCS #1 v1.5 does not need one.
	signature, err := id.Key.Sign(nil, sum(h, signed), h)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return build(func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1Int64(1)
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddBytes(id.Certificate.RawIssuer)
				b.AddASN1BigInt(id.Certificate.SerialNumber)
			})
			addDigest(b, h)
			addSet(b, context(0), attributes)
			addScheme(b, id.Key.Public(), h)
			b.AddASN1OctetString(signature)
		})
	}), nil
}

func attribute(oid asn1.ObjectIdentifier, value func(b *cryptobyte.Builder)) []byte {
	return build(func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1ObjectIdentifier(oid)
			b.AddASN1(cbasn1.SET, value)
		})
	})
}

// addSet adds elements in the order of DER, each once.
func addSet(b *cryptobyte.Builder, tag cbasn1.Tag, elements [][]byte) {
	sorted := slices.Clone(elements)
	slices.SortFunc(sorted, bytes.Compare)
	sorted = slices.CompactFunc(sorted, bytes.Equal)
	b.AddASN1(tag, func(b *cryptobyte.Builder) {
		for _, e := range sorted {
			b.AddBytes(e)
		}
	})
}

func addTime(b *cryptobyte.Builder, at time.Time) {
	if at.Year() < 2050 {
		b.AddASN1UTCTime(at)
	} else {
		b.AddASN1GeneralizedTime(at)
	}
}

func addDigest(b *cryptobyte.Builder, h crypto.Hash) {
	for _, known := range digests {
		if known.hash == h {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddASN1ObjectIdentifier(known.oid) })
		}
	}
}

func addScheme(b *cryptobyte.Builder, key crypto.PublicKey, h crypto.Hash) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		if _, ok := key.(*rsa.PublicKey); ok {
			b.AddASN1ObjectIdentifier(oidRSA)
			b.AddASN1NULL()
			return
		}
		for _, known := range schemes {
			if known.scheme == ec && known.hash == h {
				b.AddASN1ObjectIdentifier(known.oid)
			}
		}
	})
}

// build returns the bytes of a structure that only this package defines.
func build(add func(b *cryptobyte.Builder)) []byte {
	var b cryptobyte.Builder
	add(&b)
	return b.BytesOrPanic()
}
