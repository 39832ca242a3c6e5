package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
)

// ErrWrongContent reports a signature of other content.
var ErrWrongContent = errors.New("the signature was made for other content")

// ErrWrongKey reports a signature that the key of the certificate has not made.
var ErrWrongKey = errors.New("the signature does not belong to the signer's certificate, or was changed")

// Names says whether the signer names this certificate as its own.
func (s *Signer) Names(c *x509.Certificate) bool {
	if s.keyID != nil {
		return bytes.Equal(s.keyID, c.SubjectKeyId)
	}
	return bytes.Equal(s.issuer, c.RawIssuer) && s.serial.Cmp(c.SerialNumber) == 0
}

// Algorithm names the algorithms of the signature, e.g. "SHA-256 with RSA".
func (s *Signer) Algorithm() string { return s.Hash.String() + " with " + s.scheme.String() }

// Verify checks that the key of the certificate has signed content with this digest, which was computed with s.Hash. It
// does not check the certificate.
func (s *Signer) Verify(c *x509.Certificate, digest []byte) error {
	if err := CheckKey(c.PublicKey); err != nil {
		return err
	}
	if s.attributes != nil {
		if !bytes.Equal(s.digest, digest) {
			return ErrWrongContent
		}
		digest = sum(s.Hash, s.attributes)
	}
	err := s.verify(c.PublicKey, digest)
	if err != nil && s.attributes == nil { // one value depends on both, content and key
		return errors.New("the signature was made for other content, or with another key")
	}
	return err
}

func (s *Signer) verify(key crypto.PublicKey, digest []byte) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		var err error
		switch s.scheme {
		case pkcs1:
			err = rsa.VerifyPKCS1v15(k, s.Hash, digest, s.signature)
		case pss:
			err = rsa.VerifyPSS(k, s.Hash, digest, s.signature, &rsa.PSSOptions{SaltLength: s.salt})
		case ec:
			err = ErrWrongKey
		}
		if err == nil {
			return nil
		}
	case *ecdsa.PublicKey:
		if s.scheme == ec && ecdsa.VerifyASN1(k, digest, s.signature) {
			return nil
		}
	}
	return ErrWrongKey
}

func sum(h crypto.Hash, data []byte) []byte {
	w := h.New()
	w.Write(data)
	return w.Sum(nil)
}
