package kubeapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// certsSecret is where kubeadm init phase upload-certs puts the keys of the control plane; certsLife how long they
// stay.
const (
	certsSecret = "kubeadm-certs"
	certsLife   = 2 * time.Hour
	expiryNote  = "kubeapi.simcloud/expires"
)

var bootstrapToken = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)

func random(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

// CreateToken makes a bootstrap token, [a-z0-9]{6}.[a-z0-9]{16}, valid for ttl (0: for ever).
func (c *Cluster) CreateToken(ttl time.Duration) string {
	t := random(6) + "." + random(16)
	c.AddToken(t, ttl)
	return t
}

// AddToken adds a given bootstrap token, as kubeadm init does with the one in its configuration. False when it is
// malformed.
func (c *Cluster) AddToken(token string, ttl time.Duration) bool {
	m := bootstrapToken.FindStringSubmatch(token)
	if m == nil {
		return false
	}
	c.DeleteToken(m[1])
	data := Object{
		"token-id": m[1], "token-secret": m[2], "usage-bootstrap-authentication": "true",
		"usage-bootstrap-signing": "true",
		"auth-extra-groups":       "system:bootstrappers:kubeadm:default-node-token",
	}
	if ttl > 0 {
		data["expiration"] = c.now().Add(ttl).UTC().Format(time.RFC3339Nano)
	}
	_, err := c.store.Create(Kind("Secret"), "kube-system", Object{
		"metadata": Object{"name": "bootstrap-token-" + m[1]}, "type": "bootstrap.kubernetes.io/token",
		"stringData": data,
	})
	return err == nil
}

// ValidToken says whether a bootstrap token exists and has not run out.
func (c *Cluster) ValidToken(token string) bool {
	m := bootstrapToken.FindStringSubmatch(token)
	if m == nil {
		return false
	}
	o, err := c.store.Get(Kind("Secret"), "kube-system", "bootstrap-token-"+m[1])
	if err != nil || subtle.ConstantTimeCompare(secretValue(o, "token-secret"), []byte(m[2])) != 1 {
		return false
	}
	end := secretValue(o, "expiration")
	if len(end) == 0 {
		return true
	}
	at, err := time.Parse(time.RFC3339Nano, string(end))
	return err == nil && c.now().Before(at)
}

// DeleteToken removes a bootstrap token, given whole or by its id. False when there was none.
func (c *Cluster) DeleteToken(token string) bool {
	id := token
	if m := bootstrapToken.FindStringSubmatch(token); m != nil {
		id = m[1]
	}
	_, err := c.store.Delete(Kind("Secret"), "kube-system", "bootstrap-token-"+id, "")
	return err == nil
}

func secretValue(o Object, name string) []byte {
	b, err := base64.StdEncoding.DecodeString(String(o, "data", name))
	if err != nil {
		return nil
	}
	return b
}

// seal makes the cipher of a certificate key.
func seal(key string) (cipher.AEAD, error) {
	b, err := hex.DecodeString(key)
	if err != nil {
		return nil, fmt.Errorf("error decoding certificate key: %w", err)
	}
	if len(b) != 32 {
		return nil, fmt.Errorf("error decoding certificate key: it has %d bytes, not 32", len(b))
	}
	block, err := aes.NewCipher(b)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// UploadCerts does kubeadm init phase upload-certs: the secret kube-system/kubeadm-certs for two hours. key is 64
// hexadecimal digits; when empty a new one is made. It returns the key.
func (c *Cluster) UploadCerts(key string) string {
	aead, err := seal(key)
	if err != nil {
		b := make([]byte, 32)
		_, _ = rand.Read(b)
		key = hex.EncodeToString(b)
		if aead, err = seal(key); err != nil {
			return ""
		}
	}
	data := Object{}
	for name, plain := range map[string][]byte{"ca.crt": c.pki.caPEM, "ca.key": c.pki.caKeyPEM} {
		nonce := make([]byte, aead.NonceSize())
		_, _ = rand.Read(nonce)
		data[name] = base64.StdEncoding.EncodeToString(aead.Seal(nonce, nonce, plain, nil))
	}
	r := Kind("Secret")
	_, _ = c.store.Delete(r, "kube-system", certsSecret, "")
	_, _ = c.store.Create(r, "kube-system", Object{
		"metadata": Object{
			"name": certsSecret, "annotations": Object{expiryNote: c.now().Add(certsLife).UTC().Format(time.RFC3339)},
		},
		"type": "Opaque", "data": data,
	})
	return key
}

// ValidCertificateKey says whether the uploaded certificates can be decrypted with key: nil, or an error in kubeadm's
// words.
func (c *Cluster) ValidCertificateKey(key string) error {
	aead, err := seal(key)
	if err != nil {
		return err
	}
	gone := errors.New(`error downloading the secret: Secret "kubeadm-certs" was not found in the "kube-system" Namespace. ` +
		`This Secret might have expired. Please, run "kubeadm init phase upload-certs --upload-certs" on a control plane to generate a new one`)
	r := Kind("Secret")
	o, err := c.store.Get(r, "kube-system", certsSecret)
	if err != nil {
		return gone
	}
	if end, err := time.Parse(time.RFC3339, String(o, "metadata", "annotations", expiryNote)); err == nil &&
		c.now().After(end) {
		_, _ = c.store.Delete(r, "kube-system", certsSecret, "")
		return gone
	}
	sealed := secretValue(o, "ca.key")
	if len(sealed) < aead.NonceSize() {
		return gone
	}
	if _, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], nil); err != nil {
		return fmt.Errorf("error decoding secret data with provided key: %w", err)
	}
	return nil
}
