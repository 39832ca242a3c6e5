package cloud

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
)

// tlsConfig verifies certificates and host names unless the connection says otherwise, against the system's roots and
// the connection's own.
func (c connection) tlsConfig() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.cas) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		for _, ca := range c.cas {
			if !pool.AppendCertsFromPEM([]byte(ca)) {
				return nil, errors.New("a trusted certificate cannot be read")
			}
		}
		cfg.RootCAs = pool
	}
	switch {
	case c.skipVerify:
		cfg.InsecureSkipVerify = true // the user asked for it in the connection
	case c.skipHostname:
		roots := cfg.RootCAs
		cfg.InsecureSkipVerify = true // the chain is verified below, without the name
		cfg.VerifyConnection = func(cs tls.ConnectionState) error {
			opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
			for _, cert := range cs.PeerCertificates[1:] {
				opts.Intermediates.AddCert(cert)
			}
			_, err := cs.PeerCertificates[0].Verify(opts)
			if err != nil {
				return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
			}
			return nil
		}
	}
	return cfg, nil
}

// pemOf returns s as PEM; it may be PEM, or base64 of PEM or of one DER certificate.
func pemOf(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if block, _ := pem.Decode([]byte(s)); block != nil {
		return s, ValidPEM([]byte(s))
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil || len(raw) == 0 {
		return "", false
	}
	if block, _ := pem.Decode(raw); block == nil {
		raw = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	}
	return string(raw), ValidPEM(raw)
}

// ValidPEM says whether b has a certificate in PEM form.
func ValidPEM(b []byte) bool { return x509.NewCertPool().AppendCertsFromPEM(b) }
