package kubernetes

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// maxKubeconfig bounds a kubeconfig file, in bytes.
const maxKubeconfig = 256 << 10

// FromKubeconfig reads the access and the namespace of a kubeconfig file's current context. The file has to be complete
// in itself: references to files, programs that log in, plugins, proxies and other users are refused, because they
// would let the author of the file act on the host of the VNFM. The error says which entry of the file is refused; it
// has no value of the file.
func FromKubeconfig(raw []byte) (a Access, namespace string, err error) {
	if len(raw) > maxKubeconfig {
		return Access{}, "", fmt.Errorf("is larger than %d KiB", maxKubeconfig>>10)
	}
	file, err := clientcmd.Load(raw)
	if err != nil {
		return Access{}, "", errors.New("is not a kubeconfig file in YAML or JSON") // its text may quote a secret
	}
	ctx := file.Contexts[file.CurrentContext]
	if ctx == nil {
		return Access{}, "", errors.New("has no context that current-context names")
	}
	cluster, user := file.Clusters[ctx.Cluster], file.AuthInfos[ctx.AuthInfo]
	switch {
	case cluster == nil:
		return Access{}, "", errors.New("has no cluster for its current context")
	case user == nil:
		return Access{}, "", errors.New("has no user for its current context")
	}
	if err := refuseCluster(ctx.Cluster, cluster); err != nil {
		return Access{}, "", err
	}
	if err := refuseUser(ctx.AuthInfo, user); err != nil {
		return Access{}, "", err
	}
	a = Access{
		Endpoint: cluster.Server, CA: cluster.CertificateAuthorityData, ServerName: cluster.TLSServerName,
		Insecure: cluster.InsecureSkipTLSVerify,
	}
	switch { // the order of kubectl, which uses a token before a certificate
	case user.Token != "":
		a.Token = user.Token
	case len(user.ClientCertificateData) > 0:
		a.Certificate, a.Key = user.ClientCertificateData, user.ClientKeyData
	default:
		a.Username, a.Password = user.Username, user.Password
	}
	if a.Endpoint == "" {
		return Access{}, "", errors.New("has no server in the cluster of its current context")
	}
	if !a.complete() {
		return Access{}, "", errors.New("has no complete credentials for the user of its current context: " +
			"token, client-certificate-data and client-key-data, or username and password")
	}
	return a, ctx.Namespace, nil
}

// refused is a member of a kubeconfig file that is there and must not be.
type refused struct {
	there       bool
	member, why string
}

func refuse(entry string, members ...refused) error {
	n := slices.IndexFunc(members, func(r refused) bool { return r.there })
	if n < 0 {
		return nil
	}
	return fmt.Errorf("has %s in %s: %s", members[n].member, entry, members[n].why)
}

const (
	noFiles    = "files are not read; put the content into the member with -data, or into token"
	noPrograms = "programs and plugins are not run; give a token, such as that of a service account"
)

func refuseCluster(name string, c *api.Cluster) error {
	return refuse(fmt.Sprintf("clusters[%s]", name),
		refused{c.CertificateAuthority != "", "certificate-authority", noFiles},
		refused{c.ProxyURL != "", "proxy-url", "the operator of the VNFM sets proxies"},
	)
}

func refuseUser(name string, u *api.AuthInfo) error {
	return refuse(fmt.Sprintf("users[%s]", name),
		refused{u.Exec != nil, "exec", noPrograms},
		refused{u.AuthProvider != nil, "auth-provider", noPrograms},
		refused{u.ClientCertificate != "", "client-certificate", noFiles},
		refused{u.ClientKey != "", "client-key", noFiles},
		refused{u.TokenFile != "", "tokenFile", noFiles},
		refused{
			u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups)+len(u.ImpersonateUserExtra) > 0,
			"as", "other users are not impersonated",
		},
	)
}
