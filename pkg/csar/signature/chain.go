package signature

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/cms"
)

// skew is the difference of clocks that is tolerated between a signer and this machine.
const skew = time.Hour

// usages are the extended key usages of which a certificate with any must have one.
var usages = []x509.ExtKeyUsage{x509.ExtKeyUsageAny, x509.ExtKeyUsageCodeSigning, x509.ExtKeyUsageEmailProtection}

// documentSigning is the extended key usage of RFC 9336.
const documentSigning = "1.3.6.1.5.5.7.3.36"

// checkCertificate checks the signer's certificate itself.
func checkCertificate(c *x509.Certificate, signed, now time.Time) Check {
	check := Check{Name: CheckCertificate, Subject: subject(c), Outcome: Failure}
	switch {
	case now.After(c.NotAfter):
		check.Detail = "the signer's certificate expired on " + day(c.NotAfter)
		check.Hint = "ask the vendor for a package with a new signature, or sign this one with a key of your own " +
			"after you have checked it: gybe package sign --option 2"
	case now.Before(c.NotBefore):
		check.Detail = "the signer's certificate is not valid before " + day(c.NotBefore)
		check.Hint = "check the clock of this machine"
	case !signed.IsZero() && (signed.Before(c.NotBefore.Add(-skew)) || signed.After(c.NotAfter.Add(skew))):
		check.Detail = "the signing time " + signed.Format(time.RFC3339) + " is outside of the certificate's validity"
	case signed.After(now.Add(skew)):
		check.Detail = "the signing time " + signed.Format(time.RFC3339) + " is in the future"
		check.Hint = "check the clock of this machine"
	case !maySign(c):
		check.Detail = "the key usage of the signer's certificate does not allow signatures"
		check.Hint = "the certificate needs the key usage digitalSignature and, if it has extended key usages, " +
			"codeSigning or emailProtection"
	default:
		check.Outcome, check.Detail = Passed, "valid until "+day(c.NotAfter)
	}
	return check
}

func maySign(c *x509.Certificate) bool {
	const sign = x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment
	if c.KeyUsage != 0 && c.KeyUsage&sign == 0 {
		return false
	}
	if len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 {
		return true
	}
	for _, u := range c.UnknownExtKeyUsage {
		if u.String() == documentSigning {
			return true
		}
	}
	return slices.ContainsFunc(c.ExtKeyUsage, func(u x509.ExtKeyUsage) bool { return slices.Contains(usages, u) })
}

// findChain returns the chain from a certificate to one of the store, the root as its last element.
func (t *Trust) findChain(c *x509.Certificate, others []*x509.Certificate, now time.Time) ([]*x509.Certificate, Check) {
	check := Check{Name: CheckTrust, Subject: subject(c), Outcome: Failure}
	if t.Empty() {
		check.Detail = "the trust store has no certificates"
		check.Hint = "put the certificate of the signer's authority into the trust store (packages.trust_dir)"
		return nil, check
	}
	between := x509.NewCertPool()
	for _, o := range others {
		if cms.CheckKey(o.PublicKey) == nil {
			between.AddCert(o)
		}
	}
	chains, err := c.Verify(x509.VerifyOptions{
		Roots: t.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		check.Detail = "no chain leads from the signer's certificate to the trust store: " + reason(err)
		check.Hint = "if you trust this signer, put the certificate of its authority (" + clip(c.Issuer.String()) +
			") into the trust store"
		return nil, check
	}
	for _, chain := range chains {
		if err := rejectedKey(chain); err != nil {
			check.Detail = "a key of the chain is not accepted: " + err.Error()
			continue
		}
		root := chain[len(chain)-1]
		check.Outcome, check.Detail, check.Hint = Passed, "trusted by "+subject(root), ""
		return chain, check
	}
	return nil, check
}

// reason shortens an error of x509, which may quote certificates.
func reason(err error) string {
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok && unknown.Cert != nil {
		return "unknown authority " + clip(unknown.Cert.Issuer.String())
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired &&
		invalid.Cert != nil {
		return "the certificate " + subject(invalid.Cert) + " of the chain is expired or not valid yet"
	}
	return clip(err.Error())
}

func rejectedKey(chain []*x509.Certificate) error {
	for _, c := range chain {
		if err := cms.CheckKey(c.PublicKey); err != nil {
			return err
		}
	}
	return nil
}

// checkRevocation looks for the certificates of a chain in the revocation lists of their issuers.
func (t *Trust) checkRevocation(chain []*x509.Certificate, now time.Time) Check {
	check := Check{Name: CheckRevocation, Subject: subject(chain[0]), Outcome: Failure}
	known := 0
	for i, c := range chain[:len(chain)-1] {
		lists := t.listsOf(c, chain[i+1])
		if lists == nil {
			continue
		}
		current := false
		for _, r := range lists {
			switch {
			case r.list.CheckSignatureFrom(chain[i+1]) != nil:
				check.Detail = "the revocation list " + r.file + " is not signed by " + subject(chain[i+1])
				check.Hint = "replace the list in the trust store"
				return check
			case r.serials[c.SerialNumber.String()]:
				check.Subject, check.Detail = subject(c), "the certificate is revoked ("+r.file+")"
				check.Hint = "do not use this package; ask its vendor for another one"
				return check
			case !now.After(r.list.NextUpdate) || r.list.NextUpdate.IsZero():
				current = true
			}
		}
		if !current {
			check.Detail = "the revocation list " + lists[0].file + " is out of date since " +
				day(lists[0].list.NextUpdate)
			check.Hint = "replace the list in the trust store"
			return check
		}
		known++
	}
	check.Outcome, check.Detail = Passed, "not revoked"
	if known < len(chain)-1 || len(chain) == 1 {
		check.Outcome, check.Detail = Skipped, "the trust store does not have revocation lists of all issuers"
	}
	return check
}

// listsOf returns the revocation lists that name the issuer of a certificate.
func (t *Trust) listsOf(c, issuer *x509.Certificate) []revocations {
	var out []revocations
	for _, r := range t.lists {
		sameKey := len(r.list.AuthorityKeyId) == 0 || len(issuer.SubjectKeyId) == 0 ||
			bytes.Equal(r.list.AuthorityKeyId, issuer.SubjectKeyId)
		if bytes.Equal(r.list.RawIssuer, c.RawIssuer) && sameKey {
			out = append(out, r)
		}
	}
	return out
}

func subject(c *x509.Certificate) string { return clip(c.Subject.String()) }

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }

// clip makes a text of a certificate fit for a message.
func clip(s string) string {
	const keep = 200
	if len(s) > keep {
		s = strings.ToValidUTF8(s[:keep], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
