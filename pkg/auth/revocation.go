package auth

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// readCertificates reads all certificates of a PEM file.
func readCertificates(path string) ([]*x509.Certificate, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM form", path)
	}
	return out, nil
}

// revocations are the serial numbers of revoked certificates, by the name of their authority.
type revocations map[string]map[string]bool

// inPath says whether a certificate between client and root is revoked.
func (r revocations) inPath(path []*x509.Certificate) bool {
	for _, c := range path {
		if r[string(c.RawIssuer)][c.SerialNumber.String()] {
			return true
		}
	}
	return false
}

// readRevocations reads the revocation lists of a PEM file. Each has to be signed by one of the authorities. A list
// whose time has passed is used, with a message in the log: an operator who forgets to renew it must not be locked out.
func readRevocations(
	path string, authorities []*x509.Certificate, now time.Time, log *slog.Logger,
) (revocations, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := revocations{}
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "X509 CRL" {
			continue
		}
		list, err := x509.ParseRevocationList(block.Bytes)
		if err == nil {
			err = signedByOne(list, authorities)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if !list.NextUpdate.IsZero() && now.After(list.NextUpdate) {
			log.Warn("a revocation list is out of date", "file", path, "issuer", list.Issuer.String(),
				"next_update", list.NextUpdate)
		}
		serials := out[string(list.RawIssuer)]
		if serials == nil {
			serials = map[string]bool{}
			out[string(list.RawIssuer)] = serials
		}
		for _, e := range list.RevokedCertificateEntries {
			serials[e.SerialNumber.String()] = true
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no revocation list in PEM form (BEGIN X509 CRL)", path)
	}
	return out, nil
}

func signedByOne(list *x509.RevocationList, authorities []*x509.Certificate) error {
	for _, a := range authorities {
		if list.CheckSignatureFrom(a) == nil {
			return nil
		}
	}
	return errors.New("a revocation list is not signed by an authority of the file of authorities")
}
