package auth

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// CertificateOptions configure the mode of TLS client certificates. The files are read again when they change.
type CertificateOptions struct {
	// CAFile has the authorities of clients, in PEM form.
	CAFile string
	// CRLFile has revocation lists of these authorities in PEM form; may be empty.
	CRLFile string
	// MapFile gives role and project for names of certificates; see CertificateRule.
	MapFile string
	// Clock is time.Now if nil.
	Clock func() time.Time
}

// certificates checks the certificate of the connection at every request, and not only in the handshake: a connection
// can last for days, and a resumed session has no handshake that would look at a revocation list. The handshake itself
// proves that the client has the private key.
type certificates struct {
	opts  CertificateOptions
	log   *slog.Logger
	watch *watch
	trust atomic.Pointer[trust]
}

// trust is what the files say.
type trust struct {
	pool    *x509.CertPool
	revoked revocations
	rules   []CertificateRule
	known   *cache // by the hash of the client's certificate
}

// keepCertificate is how long the result of a check is used.
const keepCertificate = time.Minute

func newCertificates(o CertificateOptions, log *slog.Logger) (*certificates, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	c := &certificates{opts: o, log: log, watch: newWatch(o.Clock, o.CAFile, o.CRLFile, o.MapFile)}
	c.watch.changed()
	t, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("client certificates: %w", err)
	}
	c.trust.Store(t)
	return c, nil
}

func (c *certificates) read() (*trust, error) {
	authorities, err := readCertificates(c.opts.CAFile)
	if err != nil {
		return nil, err
	}
	t := &trust{pool: x509.NewCertPool(), known: newCache()}
	for _, a := range authorities {
		t.pool.AddCert(a)
	}
	if t.revoked, err = readRevocations(c.opts.CRLFile, authorities, c.opts.Clock(), c.log); err != nil {
		return nil, err
	}
	t.rules, err = ReadCertificateRules(c.opts.MapFile)
	return t, err
}

// configureTLS makes a server ask for a certificate. It accepts connections without one, and with any: the request is
// answered with the reason, which an alert of TLS cannot have, and health checks need no certificate.
func (c *certificates) configureTLS(cfg *tls.Config) {
	cfg.ClientAuth, cfg.ClientCAs = tls.RequestClientCert, c.trust.Load().pool
}

// ConfigureTLS prepares a server for the modes.
func (a *Authenticator) ConfigureTLS(cfg *tls.Config) {
	if c := modeOf[*certificates](a); c != nil {
		c.configureTLS(cfg)
	}
}

func (c *certificates) name() string { return ModeCertificate }

func (c *certificates) challenge() string { return "" }

func (c *certificates) accepts(cred Credential) bool { return cred.Kind == KindCertificate }

func (c *certificates) check(ctx context.Context, cred Credential, _ string) (lcm.Principal, error) {
	if c.watch.due() && c.watch.changed() {
		if t, err := c.read(); err != nil {
			c.log.ErrorContext(ctx, "files of client certificates are not valid; the previous ones are used",
				"error", err)
		} else {
			c.trust.Store(t)
		}
	}
	t, now, leaf := c.trust.Load(), c.opts.Clock(), cred.chain[0]
	key := digest(sha256.Sum256(leaf.Raw))
	if e, _, ok := t.known.get(key, now); ok {
		return e.principal, nil
	}
	if err := t.verify(cred.chain, now); err != nil {
		return lcm.Principal{}, err
	}
	for _, r := range t.rules {
		if !r.matches(leaf) {
			continue
		}
		p := lcm.Principal{Subject: subjectOf(leaf), Project: r.Project, Role: r.Role}
		until := now.Add(keepCertificate)
		if leaf.NotAfter.Before(until) {
			until = leaf.NotAfter
		}
		t.known.put(entry{key: key, principal: p, until: until})
		return p, nil
	}
	return lcm.Principal{}, reject(reasonNoProject, lcm.CodeForbidden,
		"no rule of the server gives a role to the certificate of %q", subjectOf(leaf))
}

// verify checks the chain of a certificate and the revocation of each certificate in it.
func (t *trust) verify(chain []*x509.Certificate, now time.Time) error {
	opts := x509.VerifyOptions{
		Roots: t.pool, Intermediates: x509.NewCertPool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, i := range chain[1:] {
		opts.Intermediates.AddCert(i)
	}
	verified, err := chain[0].Verify(opts)
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return reject(reasonExpired, lcm.CodeUnauthorized, "the client certificate has expired or is not valid yet")
	}
	if err != nil {
		return reject(reasonInvalid, lcm.CodeUnauthorized,
			"the client certificate is not valid: it is not by an authority that this server trusts for clients")
	}
	for _, path := range verified {
		if !t.revoked.inPath(path) {
			return nil
		}
	}
	return reject(reasonRevoked, lcm.CodeUnauthorized, "the client certificate is revoked")
}

// subjectOf names the client: its common name, or the first other name.
func subjectOf(leaf *x509.Certificate) string {
	names := []string{leaf.Subject.CommonName}
	for _, u := range leaf.URIs {
		names = append(names, u.String())
	}
	names = append(append(names, leaf.DNSNames...), leaf.EmailAddresses...)
	for _, n := range names {
		if isName(n) {
			return n
		}
	}
	return "certificate " + leaf.SerialNumber.Text(16)
}
