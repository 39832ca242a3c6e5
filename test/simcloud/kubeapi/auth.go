package kubeapi

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// User is who makes a request: a user name and its groups, as the API server's authenticators find them out.
type User struct {
	Name   string
	Groups []string
}

// Admin may do everything: the user of admin.conf.
var Admin = User{
	Name: "kubernetes-admin", Groups: []string{"kubeadm:cluster-admins", "system:masters", "system:authenticated"},
}

const issuer = "https://kubernetes.default.svc.cluster.local"

// claims of a service account's token.
type claims struct {
	Iss        string   `json:"iss"`
	Sub        string   `json:"sub"`
	Aud        []string `json:"aud,omitempty"`
	Exp        int64    `json:"exp,omitempty"`
	Iat        int64    `json:"iat,omitempty"`
	ID         string   `json:"jti,omitempty"`
	Namespace  string   `json:"kubernetes.io/serviceaccount/namespace"`
	Account    string   `json:"kubernetes.io/serviceaccount/service-account.name"`
	AccountUID string   `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret     string   `json:"kubernetes.io/serviceaccount/secret.name,omitempty"`
}

// sign makes a JWT (ES256). ttl 0 is a token that stays valid as long as its secret exists.
func (c *Cluster) sign(namespace, account, uid, secret string, ttl time.Duration) (string, error) {
	cl := claims{
		Iss: "kubernetes/serviceaccount", Sub: "system:serviceaccount:" + namespace + ":" + account,
		Namespace: namespace, Account: account, AccountUID: uid, Secret: secret,
	}
	if ttl > 0 {
		cl.Iss, cl.Aud, cl.ID = issuer, []string{issuer}, uuid.NewString()
		cl.Iat, cl.Exp = c.now().Unix(), c.now().Add(ttl).Unix()
	}
	body, err := json.Marshal(cl)
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding.EncodeToString
	text := enc([]byte(`{"alg":"ES256","kid":"sa"}`)) + "." + enc(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, c.pki.sa, sum[:])
	if err != nil {
		return "", err
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + enc(sig), nil
}

// bearer says whose token it is: a service account's or a bootstrap token.
func (c *Cluster) bearer(token string) (User, bool) {
	if id, _, ok := strings.Cut(token, "."); ok && c.ValidToken(token) {
		return User{Name: "system:bootstrap:" + id, Groups: []string{
			"system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated",
		}}, true
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return User{}, false
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(sig) != 64 {
		return User{}, false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(&c.pki.sa.PublicKey, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		return User{}, false
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return User{}, false
	}
	var cl claims
	if json.Unmarshal(body, &cl) != nil || cl.Exp != 0 && c.now().Unix() >= cl.Exp {
		return User{}, false
	}
	sa, err := c.store.Get(Kind("ServiceAccount"), cl.Namespace, cl.Account)
	if err != nil || String(sa, "metadata", "uid") != cl.AccountUID {
		return User{}, false
	}
	if cl.Secret != "" {
		if o, err := c.store.Get(Kind("Secret"), cl.Namespace, cl.Secret); err != nil ||
			string(secretValue(o, "token")) != token {
			return User{}, false
		}
	}
	return User{Name: cl.Sub, Groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:" + cl.Namespace, "system:authenticated",
	}}, true
}

// fillToken does the token controller's work when a secret for a service account is made.
func (c *Cluster) fillToken(r Resource, o Object) error {
	if r.Kind != "Secret" || o["type"] != "kubernetes.io/service-account-token" {
		return nil
	}
	account := String(o, "metadata", "annotations", "kubernetes.io/service-account.name")
	sa, err := c.store.Get(Kind("ServiceAccount"), Namespace(o), account)
	if err != nil {
		return nil //nolint:nilerr // the secret of an account that does not exist gets no token
	}
	uid := String(sa, "metadata", "uid")
	token, err := c.sign(Namespace(o), account, uid, Name(o), 0)
	if err != nil {
		return err
	}
	Set(o, uid, "metadata", "annotations", "kubernetes.io/service-account.uid")
	enc := base64.StdEncoding.EncodeToString
	Set(o, enc([]byte(token)), "data", "token")
	Set(o, enc(c.pki.caPEM), "data", "ca.crt")
	Set(o, enc([]byte(Namespace(o))), "data", "namespace")
	return nil
}

// authenticate finds out who makes a request. False when the credentials are missing or unknown.
func (c *Cluster) authenticate(r *http.Request) (User, bool) {
	if u, ok := r.Context().Value(userKey{}).(User); ok {
		return u, true
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		if u, ok := c.pki.user(c.now(), r.TLS.PeerCertificates[0]); ok {
			return u, true
		}
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return User{}, false
	}
	return c.bearer(strings.TrimSpace(token))
}

func (c *Cluster) list(kind, namespace string) []Object {
	out, _ := c.store.List(Kind(kind), namespace)
	return out
}
