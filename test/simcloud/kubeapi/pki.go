package kubeapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"time"
)

// Certificates are valid for as long as kubeadm's.
const (
	caLife   = 10 * 365 * 24 * time.Hour
	certLife = 365 * 24 * time.Hour
)

// Credential is a client certificate with its key, both PEM.
type Credential struct {
	Certificate []byte
	Key         []byte
}

// pki is the CA of a cluster and the key that signs tokens of service accounts.
type pki struct {
	ca              *x509.Certificate
	key             *ecdsa.PrivateKey
	sa              *ecdsa.PrivateKey
	pool            *x509.CertPool
	caPEM, caKeyPEM []byte
	hash            string
}

func newPKI(now time.Time) (*pki, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	sa, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kubernetes"}, DNSNames: []string{"kubernetes"},
		NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(caLife), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	p := &pki{key: key, sa: sa, pool: x509.NewCertPool(), caPEM: certPEM(der)}
	if p.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if p.caKeyPEM, err = keyPEM(key); err != nil {
		return nil, err
	}
	p.pool.AddCert(p.ca)
	sum := sha256.Sum256(p.ca.RawSubjectPublicKeyInfo)
	p.hash = "sha256:" + hex.EncodeToString(sum[:])
	return p, nil
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(k *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// issue signs a certificate for a new key.
func (p *pki) issue(now time.Time, t *x509.Certificate) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	t.NotBefore, t.NotAfter = now.Add(-5*time.Minute), now.Add(certLife)
	t.KeyUsage, t.BasicConstraintsValid = x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment, true
	der, err := x509.CreateCertificate(rand.Reader, t, p.ca, key.Public(), p.key)
	return der, key, err
}

// CAPEM returns the cluster's CA certificate.
func (c *Cluster) CAPEM() []byte { return c.pki.caPEM }

// CAKeyPEM returns the key of the CA, for /etc/kubernetes/pki/ca.key.
func (c *Cluster) CAKeyPEM() []byte { return c.pki.caKeyPEM }

// CAHash returns what kubeadm join wants as --discovery-token-ca-cert-hash: sha256:<hex of the SHA-256 of the CA's
// SPKI>.
func (c *Cluster) CAHash() string { return c.pki.hash }

// IssueServing issues a serving certificate for host names and IP addresses.
func (c *Cluster) IssueServing(sans ...string) (tls.Certificate, error) {
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, s := range sans {
		if ip := net.ParseIP(s); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, s)
		}
	}
	der, key, err := c.pki.issue(c.now(), t)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("issue a serving certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// IssueClient issues a client certificate: cn is the user name, orgs are the groups.
func (c *Cluster) IssueClient(cn string, orgs ...string) (Credential, error) {
	der, key, err := c.pki.issue(c.now(), &x509.Certificate{
		Subject:     pkix.Name{CommonName: cn, Organization: orgs},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Credential{}, fmt.Errorf("issue a client certificate for %s: %w", cn, err)
	}
	k, err := keyPEM(key)
	if err != nil {
		return Credential{}, fmt.Errorf("issue a client certificate for %s: %w", cn, err)
	}
	return Credential{Certificate: certPEM(der), Key: k}, nil
}

// user says whose certificate it is. False when the cluster's CA did not sign it, or it has run out.
func (p *pki) user(now time.Time, cert *x509.Certificate) (User, bool) {
	_, err := cert.Verify(
		x509.VerifyOptions{Roots: p.pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	)
	if err != nil {
		return User{}, false
	}
	groups := slices.Concat(cert.Subject.Organization, []string{"system:authenticated"})
	return User{Name: cert.Subject.CommonName, Groups: groups}, true
}
