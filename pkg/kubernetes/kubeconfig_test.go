package kubernetes_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
)

// kubeconfig is a file whose cluster and user have some more members.
func kubeconfig(cluster, user string) string {
	return `{"apiVersion":"v1","kind":"Config","current-context":"c",
		"contexts":[{"name":"c","context":{"cluster":"k","user":"u","namespace":"cnf"}}],
		"clusters":[{"name":"k","cluster":{"server":"https://192.0.2.1:6443"` + cluster + `}}],
		"users":[{"name":"u","user":{` + user + `}}]}`
}

func TestKubeconfigAsAccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, cluster, user string
		want                kubernetes.Access
	}{
		{"token", `,"certificate-authority-data":"Y2E=","tls-server-name":"api"`, `"token":"t"`, kubernetes.Access{
			CA: []byte("ca"), ServerName: "api", Token: "t",
		}},
		{
			"certificate", `,"insecure-skip-tls-verify":true`,
			`"client-certificate-data":"Y2VydA==","client-key-data":"a2V5"`,
			kubernetes.Access{Insecure: true, Certificate: []byte("cert"), Key: []byte("key")},
		},
		{"password", "", `"username":"n","password":"p"`, kubernetes.Access{Username: "n", Password: "p"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, namespace, err := kubernetes.FromKubeconfig([]byte(kubeconfig(c.cluster, c.user)))
			require.NoError(t, err)
			c.want.Endpoint = "https://192.0.2.1:6443"
			require.Equal(t, c.want, a)
			require.Equal(t, "cnf", namespace)
		})
	}
}

// TestKubeconfigActsOnNothing: a file of a user makes the VNFM read no file, run no program and act for no other user.
func TestKubeconfigActsOnNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, cluster, user, want string }{
		{
			"exec", "", `"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/sh"}`,
			"has exec in users[u]: programs and plugins are not run",
		},
		{"plugin", "", `"auth-provider":{"name":"gcp"}`, "has auth-provider in users[u]"},
		{"certificate file", "", `"client-certificate":"/etc/passwd"`, "has client-certificate in users[u]: files are not"},
		{"key file", "", `"client-key":"/etc/passwd"`, "has client-key in users[u]"},
		{"token file", "", `"token":"canary","tokenFile":"/etc/passwd"`, "has tokenFile in users[u]"},
		{"other user", "", `"token":"canary","as":"admin"`, "has as in users[u]: other users are not impersonated"},
		{
			"authority file", `,"certificate-authority":"/etc/passwd"`, `"token":"canary"`,
			"has certificate-authority in clusters[k]",
		},
		{"proxy", `,"proxy-url":"http://169.254.169.254"`, `"token":"canary"`, "has proxy-url in clusters[k]"},
		{"no credentials", "", "", "has no complete credentials"},
		{"half a certificate", "", `"client-certificate-data":"Y2VydA=="`, "has no complete credentials"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := kubernetes.FromKubeconfig([]byte(kubeconfig(c.cluster, c.user)))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "canary")
		})
	}
	for _, c := range []struct{ raw, want string }{
		{"", "has no context"},
		{"{canary", "is not a kubeconfig file"},
		{"apiVersion: v1\nkind: Config\ncurrent-context: x\n", "has no context"},
		{strings.Repeat(" ", 1<<20), "larger than 256 KiB"},
	} {
		_, _, err := kubernetes.FromKubeconfig([]byte(c.raw))
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "canary")
	}
}
