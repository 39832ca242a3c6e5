// Package cmstest creates certificate authorities and signers for tests of signatures.
package cmstest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"

	"github.com/gybe-nfv/gybe/pkg/cms"
)

// Now is the time at which certificates of this package are valid.
var Now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// CA is a certificate authority.
type CA struct {
	tb   testing.TB
	id   cms.Identity
	next int64
}

// NewCA creates a root with an ECDSA key.
func NewCA(tb testing.TB, name string) *CA {
	tb.Helper()
	return NewCAWithKey(tb, name, nil)
}

// NewCAWithKey creates a root with this key.
func NewCAWithKey(tb testing.TB, name string, key crypto.Signer) *CA {
	tb.Helper()
	ca := &CA{tb: tb, next: 1}
	ca.id = ca.issue(Options{Name: name, CA: true, Key: key}, nil)
	return ca
}

// Options describe a certificate. Zero values give a certificate that is valid at Now and may sign packages.
type Options struct {
	Name            string
	CA              bool
	Key             crypto.Signer // an ECDSA key on P-256 when nil
	NotBefore       time.Time
	NotAfter        time.Time
	Usage           x509.KeyUsage      // digitalSignature when zero
	ExtUsage        []x509.ExtKeyUsage // none when empty
	Serial          int64              // the next one when zero
	WithoutKeyUsage bool
}

// Issue creates a certificate with its key.
func (ca *CA) Issue(o Options) cms.Identity {
	ca.tb.Helper()
	return ca.issue(o, &ca.id)
}

// Intermediate creates a certificate authority below this one. Its identities carry its certificate.
func (ca *CA) Intermediate(name string) *CA {
	ca.tb.Helper()
	return ca.IntermediateWithKey(name, nil)
}

// IntermediateWithKey is an Intermediate with this key.
func (ca *CA) IntermediateWithKey(name string, key crypto.Signer) *CA {
	ca.tb.Helper()
	return &CA{tb: ca.tb, next: 1, id: ca.issue(Options{Name: name, CA: true, Key: key}, &ca.id)}
}

func (ca *CA) issue(o Options, parent *cms.Identity) cms.Identity {
	ca.tb.Helper()
	var err error
	if o.Key == nil {
		o.Key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(ca.tb, err)
	}
	if o.NotBefore.IsZero() {
		o.NotBefore = Now.Add(-365 * 24 * time.Hour)
	}
	if o.NotAfter.IsZero() {
		o.NotAfter = Now.Add(20 * 365 * 24 * time.Hour)
	}
	if o.Serial == 0 {
		o.Serial = ca.next
	}
	ca.next++
	t := &x509.Certificate{
		SerialNumber: big.NewInt(o.Serial), Subject: pkix.Name{CommonName: o.Name, Organization: []string{"Test"}},
		NotBefore: o.NotBefore, NotAfter: o.NotAfter, KeyUsage: o.Usage, ExtKeyUsage: o.ExtUsage,
		BasicConstraintsValid: true, IsCA: o.CA, SubjectKeyId: []byte(o.Name),
	}
	switch {
	case o.WithoutKeyUsage:
	case o.CA:
		t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	case o.Usage == 0:
		t.KeyUsage = x509.KeyUsageDigitalSignature
	}
	issuer, key := t, o.Key
	var chain []*x509.Certificate
	if parent != nil {
		issuer, key = parent.Certificate, parent.Key
		if parent.Certificate.Subject.String() != parent.Certificate.Issuer.String() {
			chain = append([]*x509.Certificate{parent.Certificate}, parent.Chain...)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, issuer, o.Key.Public(), key)
	require.NoError(ca.tb, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(ca.tb, err)
	return cms.Identity{Key: o.Key, Certificate: c, Chain: chain}
}

// PEM is the certificate of the authority.
func (ca *CA) PEM() []byte { return CertificatePEM(ca.id.Certificate) }

// CRL is a list of revoked certificates in PEM, valid from a day before Now until next.
func (ca *CA) CRL(next time.Time, revoked ...*x509.Certificate) []byte {
	ca.tb.Helper()
	return ca.ChangedCRL(next, func(*x509.RevocationList) {}, revoked...)
}

// ChangedCRL is a CRL that change modifies before it is signed.
func (ca *CA) ChangedCRL(next time.Time, change func(*x509.RevocationList), revoked ...*x509.Certificate) []byte {
	ca.tb.Helper()
	t := &x509.RevocationList{Number: big.NewInt(ca.next), ThisUpdate: Now.Add(-24 * time.Hour), NextUpdate: next}
	ca.next++
	for _, c := range revoked {
		t.RevokedCertificateEntries = append(t.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: c.SerialNumber, RevocationTime: Now.Add(-48 * time.Hour),
		})
	}
	change(t)
	der, err := x509.CreateRevocationList(rand.Reader, t, ca.id.Certificate, ca.id.Key)
	require.NoError(ca.tb, err)
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

// CertificatePEM encodes certificates.
func CertificatePEM(all ...*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range all {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // to memory
	}
	return out.Bytes()
}

// KeyPEM encodes the key of an identity (PKCS #8).
func KeyPEM(tb testing.TB, id cms.Identity) []byte {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(id.Key)
	require.NoError(tb, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// RSA is a key of 2048 bits. Its creation is slow, so that tests share it.
var RSA = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(2048) })

// ShortRSA is a key of 1024 bits.
var ShortRSA = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(1024) })

func newRSA(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

// WithoutCertificates removes the certificates from a signature in PEM.
func WithoutCertificates(tb testing.TB, signature []byte) string {
	tb.Helper()
	block, _ := pem.Decode(signature)
	require.NotNil(tb, block)
	in := cryptobyte.String(block.Bytes)
	var info, explicit, data, oid, version, algorithms, content, signers cryptobyte.String
	tag := asn1.Tag(0).ContextSpecific().Constructed()
	require.True(tb, in.ReadASN1(&info, asn1.SEQUENCE) && info.ReadASN1Element(&oid, asn1.OBJECT_IDENTIFIER) &&
		info.ReadASN1(&explicit, tag) && explicit.ReadASN1(&data, asn1.SEQUENCE) &&
		data.ReadASN1Element(&version, asn1.INTEGER) && data.ReadASN1Element(&algorithms, asn1.SET) &&
		data.ReadASN1Element(&content, asn1.SEQUENCE) && data.SkipASN1(tag) && data.ReadASN1Element(&signers, asn1.SET))
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(oid)
		b.AddASN1(tag, func(b *cryptobyte.Builder) {
			b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
				for _, part := range []cryptobyte.String{version, algorithms, content, signers} {
					b.AddBytes(part)
				}
			})
		})
	})
	return string(pem.EncodeToMemory(&pem.Block{Type: "CMS", Bytes: b.BytesOrPanic()}))
}
