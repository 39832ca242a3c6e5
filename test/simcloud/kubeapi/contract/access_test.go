package contract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func TestHealthAndVersion(t *testing.T) {
	t.Parallel()
	a := connect(t, "health")
	anyone := a.as(func(*rest.Config) {})
	for _, check := range []string{"readyz", "livez", "healthz"} {
		r := anyone.read("/" + check)
		a.fact(check+" answers ok without credentials", r.status == http.StatusOK && r.text == "ok", r.status, r.text)
	}
	r := anyone.read("/version")
	a.fact("the version is public", r.status == http.StatusOK && r.str("major") == "1" && len(r.str("gitVersion")) > 3,
		r.text)
}

// foreignCertificate is a client certificate of a CA that the cluster does not know.
func foreignCertificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(
		&pem.Block{Type: "PRIVATE KEY", Bytes: raw},
	)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	a := connect(t, "credentials")
	a.answers("an administrator lists nodes", http.StatusOK, a.read("/api/v1/nodes"))
	r := a.as(func(*rest.Config) {}).read("/api/v1/nodes")
	a.refuses("a request without credentials is one of system:anonymous, who must not list nodes", http.StatusForbidden,
		"Forbidden",
		`^nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope`, r)
	r = a.as(func(c *rest.Config) { c.BearerToken = "no-such-token" }).read("/api/v1/nodes")
	a.refuses("an unknown token is not accepted", http.StatusUnauthorized, "Unauthorized", "^Unauthorized$", r)
	a.answers("not even for the version, which is public", http.StatusUnauthorized,
		a.as(func(c *rest.Config) { c.BearerToken = "no-such-token" }).read("/version"))
	cert, key := foreignCertificate(t)
	r = a.as(func(c *rest.Config) { c.CertData, c.KeyData = cert, key }).read("/api/v1/nodes")
	a.refuses("a client certificate of another CA is not accepted, whatever its names are", http.StatusUnauthorized,
		"Unauthorized", "^Unauthorized$", r)
}

// An account as pkg/kubernetes creates it: a service account, a secret with its token, and a binding.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	a := connect(t, "service account")
	name := a.fresh()
	secrets := a.in("secrets")
	secret := func(name string, annotations obj) obj {
		return obj{
			"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
			"metadata": obj{"name": name, "annotations": annotations},
		}
	}
	r := a.call(http.MethodPost, secrets, typeJSON, secret(name, nil))
	a.refuses("a token's secret has to name the account", http.StatusUnprocessableEntity, "Invalid",
		`metadata.annotations\[kubernetes.io/service-account.name\]: Required value`, r)

	a.create(a.in("serviceaccounts"), "ServiceAccount", "v1", name, nil)
	r = a.call(http.MethodPost, secrets, typeJSON, secret(name, obj{"kubernetes.io/service-account.name": name}))
	a.answers("a token's secret is created", http.StatusCreated, r)
	var data obj
	a.eventually("the secret holds a token", func() bool {
		data, _ = a.read(secrets + "/" + name).get("data").(map[string]any)
		return data["token"] != nil
	})
	value := func(name string) string {
		text, _ := data[name].(string)
		raw, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		return string(raw)
	}
	pool := x509.NewCertPool()
	a.fact("with the CA's certificate and the namespace", pool.AppendCertsFromPEM([]byte(value("ca.crt"))) &&
		value("namespace") == a.namespace, data)

	account := a.as(func(c *rest.Config) { c.BearerToken = value("token") })
	user := "system:serviceaccount:" + a.namespace + ":" + name
	a.refuses("the token is that of an account without rights", http.StatusForbidden, "Forbidden",
		`^nodes is forbidden: User "`+user+`" cannot list resource "nodes" in API group "" at the cluster scope`,
		account.read("/api/v1/nodes"))
	bindings := "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	a.create(bindings, "ClusterRoleBinding", "rbac.authorization.k8s.io/v1", name, obj{
		"roleRef":  obj{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []obj{{"kind": "ServiceAccount", "name": name, "namespace": a.namespace}},
	})
	a.eventually(
		"the binding gives it rights", func() bool { return account.read("/api/v1/nodes").status == http.StatusOK },
	)
	r = a.patch(bindings+"/"+name, typeMerge, obj{"roleRef": obj{"name": "view"}})
	a.refuses("the role of a binding cannot change", http.StatusUnprocessableEntity, "Invalid",
		`roleRef: Invalid value: .*cannot change roleRef`, r)

	a.answers(
		"the account is deleted", http.StatusOK, a.call(http.MethodDelete, a.in("serviceaccounts/"+name), "", nil),
	)
	a.eventually("the token is not accepted any more", func() bool {
		return account.read("/api/v1/nodes").status == http.StatusUnauthorized
	})
}
