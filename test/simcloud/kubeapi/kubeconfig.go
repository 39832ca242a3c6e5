package kubeapi

import (
	"encoding/base64"
	"fmt"
)

// Kubeconfig returns a kubeconfig file for one user, in YAML as kubeadm writes it.
func (c *Cluster) Kubeconfig(serverURL, user string, cred Credential) []byte {
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

// AdminKubeconfig returns admin.conf: a kubeconfig with a fresh certificate of Admin. serverURL is https://host:port.
func (c *Cluster) AdminKubeconfig(serverURL string) ([]byte, error) {
	cred, err := c.IssueClient(Admin.Name, "kubeadm:cluster-admins", "system:masters")
	if err != nil {
		return nil, err
	}
	return c.Kubeconfig(serverURL, Admin.Name, cred), nil
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
