package kubeapi

import (
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns a kubeconfig file for one user, as kubeadm writes it.
func (c *Cluster) Kubeconfig(serverURL, user string, cred Credential) ([]byte, error) {
	auth := &api.AuthInfo{ClientCertificateData: cred.Certificate, ClientKeyData: cred.Key}
	return clientcmd.Write(*UserConfig(c.opts.Name, serverURL, c.pki.caPEM, user, auth))
}

// UserConfig is a kubeconfig with one cluster and one user.
func UserConfig(cluster, serverURL string, caPEM []byte, user string, auth *api.AuthInfo) *api.Config {
	cfg, context := api.NewConfig(), user+"@"+cluster
	cfg.Clusters[cluster] = &api.Cluster{Server: serverURL, CertificateAuthorityData: caPEM}
	cfg.AuthInfos[user] = auth
	cfg.Contexts[context] = &api.Context{Cluster: cluster, AuthInfo: user}
	cfg.CurrentContext = context
	return cfg
}

// AdminKubeconfig returns admin.conf: a kubeconfig with a fresh certificate of Admin. serverURL is https://host:port.
func (c *Cluster) AdminKubeconfig(serverURL string) ([]byte, error) {
	cred, err := c.IssueClient(Admin.Name, "kubeadm:cluster-admins", "system:masters")
	if err != nil {
		return nil, err
	}
	return c.Kubeconfig(serverURL, Admin.Name, cred)
}

// clusterInfo is the kubeconfig without a user in kube-public/cluster-info.
func (c *Cluster) clusterInfo() (string, error) {
	cfg := api.NewConfig()
	cfg.Clusters[""] = &api.Cluster{Server: "https://" + c.opts.Endpoint, CertificateAuthorityData: c.pki.caPEM}
	b, err := clientcmd.Write(*cfg)
	return string(b), err
}
