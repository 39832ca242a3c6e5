package cms_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
)

func digestOf(content []byte) func(crypto.Hash) ([]byte, error) {
	return func(h crypto.Hash) ([]byte, error) {
		w := h.New()
		w.Write(content)
		return w.Sum(nil), nil
	}
}

func sign(tb testing.TB, content []byte, signers ...cms.Identity) []byte {
	tb.Helper()
	out, err := cms.Sign(digestOf(content), cmstest.Now, signers...)
	require.NoError(tb, err)
	return out
}

// verify parses a signature and checks each signer against the certificates that it carries.
func verify(signature, content []byte) error {
	s, err := cms.Parse(signature)
	if err != nil {
		return err
	}
	for _, signer := range s.Signers {
		at := slices.IndexFunc(s.Certificates, signer.Names)
		if at < 0 {
			return errors.New("no certificate")
		}
		digest, _ := digestOf(content)(signer.Hash)
		if err := signer.Verify(s.Certificates[at], digest); err != nil {
			return err
		}
	}
	return nil
}

func ecKey(tb testing.TB, curve elliptic.Curve) crypto.Signer {
	tb.Helper()
	k, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(tb, err)
	return k
}

func TestSignAndVerifyWithEveryKindOfKey(t *testing.T) {
	t.Parallel()
	ca, content := cmstest.NewCA(t, "root"), []byte("Source: x\n")
	for name, tc := range map[string]struct {
		key       crypto.Signer
		algorithm string
	}{
		"RSA":   {cmstest.RSA(), "SHA-256 with RSA"},
		"P-256": {ecKey(t, elliptic.P256()), "SHA-256 with ECDSA"},
		"P-384": {ecKey(t, elliptic.P384()), "SHA-384 with ECDSA"},
		"P-521": {ecKey(t, elliptic.P521()), "SHA-512 with ECDSA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := ca.Issue(cmstest.Options{Name: name, Key: tc.key})
			text := sign(t, content, id)
			require.NoError(t, verify(text, content))
			require.ErrorIs(t, verify(text, []byte("Source: y\n")), cms.ErrWrongContent)
			require.Equal(t, text, sign(t, content, id), "the same arguments give the same bytes")

			s, err := cms.Parse(text)
			require.NoError(t, err)
			require.Len(t, s.Signers, 1)
			require.Equal(t, tc.algorithm, s.Signers[0].Algorithm())
			require.Equal(t, cmstest.Now, s.Signers[0].SigningTime)

			block, _ := pem.Decode(text)
			require.NoError(t, verify(block.Bytes, content), "DER")
		})
	}
}

func TestVerifyWithASwappedCertificate(t *testing.T) {
	t.Parallel()
	ca, content := cmstest.NewCA(t, "root"), []byte("content")
	id := ca.Issue(cmstest.Options{Name: "signer", Serial: 7})
	other := ca.Issue(cmstest.Options{Name: "other", Serial: 7}) // the same issuer and number, another key
	s, err := cms.Parse(sign(t, content, id))
	require.NoError(t, err)
	digest, err := digestOf(content)(s.Signers[0].Hash)
	require.NoError(t, err)
	require.True(t, s.Signers[0].Names(other.Certificate))
	require.ErrorIs(t, s.Signers[0].Verify(other.Certificate, digest), cms.ErrWrongKey)
	require.NoError(t, s.Signers[0].Verify(id.Certificate, digest))
}

// TestVerifyRejectsAWeakKey: a certificate that claims to be the signer's, with a key that can be computed.
func TestVerifyRejectsAWeakKey(t *testing.T) {
	t.Parallel()
	ca, content := cmstest.NewCA(t, "root"), []byte("content")
	s, err := cms.Parse(sign(t, content, ca.Issue(cmstest.Options{Name: "signer", Serial: 7})))
	require.NoError(t, err)
	weak := ca.Issue(cmstest.Options{Name: "weak", Serial: 7, Key: cmstest.ShortRSA()})
	digest, err := digestOf(content)(s.Signers[0].Hash)
	require.NoError(t, err)
	var rejected *cms.AlgorithmError
	require.ErrorAs(t, s.Signers[0].Verify(weak.Certificate, digest), &rejected)
}

func TestSignRejectsKeysThatVerifyRejects(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	_, err := cms.Sign(digestOf(nil), cmstest.Now, ca.Issue(cmstest.Options{Name: "s", Key: cmstest.ShortRSA()}))
	require.EqualError(t, err, "an RSA key of 1024 bits (2048 to 8192 are allowed) is not accepted")
	_, err = cms.Sign(digestOf(nil), cmstest.Now,
		ca.Issue(cmstest.Options{Name: "s", Key: ecKey(t, elliptic.P224())}))
	require.EqualError(t, err, "an ECDSA key on the curve P-224 is not accepted")

	id := ca.Issue(cmstest.Options{Name: "s"})
	id.Key = ecKey(t, elliptic.P256())
	_, err = cms.Sign(digestOf(nil), cmstest.Now, id)
	require.EqualError(t, err, "the key does not belong to the certificate")
}

// TestVerifyNoticesEveryFlippedBit: a signature with one changed bit, in DER and in PEM, is an error or still names the
// same signer for the same content.
func TestVerifyNoticesEveryFlippedBit(t *testing.T) {
	t.Parallel()
	ca, content := cmstest.NewCA(t, "root"), []byte("content")
	for name, key := range map[string]crypto.Signer{"ECDSA": nil, "RSA": cmstest.RSA()} {
		id := ca.Issue(cmstest.Options{Name: "signer", Key: key})
		text := sign(t, content, id)
		block, _ := pem.Decode(text)
		for format, good := range map[string][]byte{"DER": block.Bytes, "PEM": text} {
			var survived []int
			for bit := range len(good) * 8 {
				bad := slices.Clone(good)
				bad[bit/8] ^= 1 << (bit % 8)
				s, err := cms.Parse(bad)
				if err != nil || verify(bad, content) != nil {
					continue
				}
				// Bits of the certificate survive here; the chain to a trusted root is checked elsewhere.
				if bytes.Equal(s.Certificates[0].Raw, id.Certificate.Raw) {
					survived = append(survived, bit/8)
				}
			}
			// White space may follow the text.
			require.Subset(t, []int{len(text) - 1}, survived, "%s, %s", name, format)
		}
	}
}

func TestParseRejectsGarbage(t *testing.T) {
	t.Parallel()
	id := cmstest.NewCA(t, "root").Issue(cmstest.Options{Name: "signer"})
	text := string(sign(t, []byte("x"), id))
	block, _ := pem.Decode([]byte(text))
	for name, tc := range map[string]struct{ in, want string }{
		"nothing":             {"", "neither DER nor BER"},
		"text":                {"hello", "damaged"},
		"a certificate":       {string(cmstest.CertificatePEM(id.Certificate)), "CERTIFICATE where CMS is expected"},
		"two signatures":      {text + text, "2 signatures, one is expected"},
		"text behind":         {text + "x", "not one of complete blocks"},
		"bytes behind":        {string(block.Bytes) + "\x00", "followed by other data"},
		"truncated text":      {text[:len(text)/2], "not one of complete blocks"},
		"truncated":           {string(block.Bytes[:len(block.Bytes)-1]), "it ends early"},
		"too large":           {strings.Repeat("x", cms.MaxBytes+1), "larger than 262144 bytes"},
		"deep":                {strings.Repeat("\x30\x80", 10_000), "neither DER nor BER"},
		"another kind":        {"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03\x05\x00", "of another kind"},
		"base64 with rubbish": {strings.Replace(text, "\nM", "\n M", 1), "not base64"},
	} {
		_, err := cms.Parse([]byte(tc.in))
		require.ErrorContains(t, err, tc.want, name)
	}
	for end := range block.Bytes {
		_, err := cms.Parse(block.Bytes[:end])
		require.Error(t, err, "%d bytes", end)
	}
}

func TestSeveralSigners(t *testing.T) {
	t.Parallel()
	ca, content := cmstest.NewCA(t, "root"), []byte("content")
	a, b := ca.Issue(cmstest.Options{Name: "a"}), ca.Issue(cmstest.Options{Name: "b", Key: cmstest.RSA()})
	s, err := cms.Parse(sign(t, content, a, b))
	require.NoError(t, err)
	require.Len(t, s.Signers, 2)
	require.NoError(t, verify(sign(t, content, a, b), content))
}

// FuzzParse: no input needs much time or memory, and all errors are returned.
func FuzzParse(f *testing.F) {
	id := cmstest.NewCA(f, "root").Issue(cmstest.Options{Name: "signer"})
	text := sign(f, []byte("x"), id)
	block, _ := pem.Decode(text)
	f.Add(text)
	f.Add(block.Bytes)
	f.Add(berOf(block.Bytes))
	f.Add([]byte(strings.Repeat("\x30\x80", 40)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := cms.Parse(data)
		if err != nil {
			require.Nil(t, s)
			return
		}
		require.NotEmpty(t, s.Signers)
		for _, signer := range s.Signers {
			require.NotEmpty(t, signer.Algorithm())
			for _, c := range s.Certificates {
				_ = signer.Names(c)
				if cms.CheckKey(c.PublicKey) == nil {
					_ = signer.Verify(c, make([]byte, signer.Hash.Size()))
				}
			}
		}
	})
}

// berOf encodes the outer elements of a signature with indefinite lengths, as Java libraries do.
func berOf(der []byte) []byte {
	indefinite := func(in []byte) []byte { // the first element of in, with in's tag
		head := 2
		if in[1] >= 0x80 {
			head += int(in[1] & 0x7f)
		}
		return slices.Concat([]byte{in[0], 0x80}, in[head:], []byte{0, 0})
	}
	outer := indefinite(der) // 30 80, the object identifier (11 bytes), [0] …, 00 00
	inner := outer[13 : len(outer)-2]
	return slices.Concat(outer[:13], indefinite(inner), []byte{0, 0})
}

func TestParseReadsIndefiniteLengths(t *testing.T) {
	t.Parallel()
	id := cmstest.NewCA(t, "root").Issue(cmstest.Options{Name: "signer"})
	block, _ := pem.Decode(sign(t, []byte("x"), id))
	ber := berOf(block.Bytes)
	require.NotEqual(t, block.Bytes, ber)
	require.NoError(t, verify(ber, []byte("x")))
	_, err := cms.Parse(ber[:len(ber)-2])
	require.ErrorContains(t, err, "it ends early")
}

// TestParseIsBounded bounds the work for signatures that are as large as allowed.
func TestParseIsBounded(t *testing.T) {
	for name, data := range map[string][]byte{
		"empty elements": bytes.Repeat([]byte{0x30, 0x00}, cms.MaxBytes/2-4),
		"nested":         bytes.Repeat([]byte{0x30, 0x80}, cms.MaxBytes/2-4),
	} {
		in := append([]byte{0x30, 0x83, 0x03, 0xff, 0xf8}, data...)
		allocated := testing.AllocsPerRun(1, func() {
			_, err := cms.Parse(in)
			require.Error(t, err)
		})
		require.Less(t, allocated, 500_000.0, name)
	}
}
