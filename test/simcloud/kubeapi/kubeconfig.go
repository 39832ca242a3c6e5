package kubeapi

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
)

func (c *Cluster) kubeconfig(serverURL, user string, cred Credential) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: %s
  name: %s
contexts:
- context:
    cluster: %[3]s
    user: %s
  name: %[4]s@%[3]s
current-context: %[4]s@%[3]s
kind: Config
users:
- name: %[4]s
  user:
    client-certificate-data: %[5]s
    client-key-data: %[6]s
`, b64(c.pki.caPEM), serverURL, c.opts.Name, user, b64(cred.Certificate), b64(cred.Key))
}

func (c *Cluster) adminKubeconfig(serverURL string) ([]byte, error) {
	cred, err := c.IssueClient(Admin.Name, "kubeadm:cluster-admins", "system:masters")
	if err != nil {
		return nil, err
	}
	return c.kubeconfig(serverURL, Admin.Name, cred), nil
}

// clusterInfo is the kubeconfig without a user in kube-public/cluster-info.
func (c *Cluster) clusterInfo() string {
	return fmt.Sprintf(`apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: https://%s
  name: ""
contexts: null
current-context: ""
kind: Config
users: null
`, base64.StdEncoding.EncodeToString(c.pki.caPEM), c.opts.Endpoint)
}

func (c *Cluster) userOfKubeconfig(kubeconfig []byte) (User, string, bool) {
	cfg, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return User{}, "", false
	}
	ctx := cfg.Contexts[cfg.CurrentContext]
	if ctx == nil || cfg.Clusters[ctx.Cluster] == nil || cfg.AuthInfos[ctx.AuthInfo] == nil {
		return User{}, "", false
	}
	server, who := cfg.Clusters[ctx.Cluster].Server, cfg.AuthInfos[ctx.AuthInfo]
	if who.Token != "" {
		u, ok := c.bearer(who.Token)
		return u, server, ok
	}
	block, _ := pem.Decode(who.ClientCertificateData)
	if block == nil {
		return User{}, server, false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return User{}, server, false
	}
	u, ok := c.pki.user(c.now(), cert)
	return u, server, ok
}
