package kubernetes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// VimType is the vimType of a Kubernetes cluster.
const VimType = "ETSINFV.KUBERNETES.V_1"

// The members of a Kubernetes cluster's VimConnectionInfo.
const (
	InterfaceEndpoint = "endpoint"     // interfaceInfo: URL of the API server
	InterfaceCA       = "ssl_ca_cert"  // interfaceInfo: PEM certificates of the cluster's CA
	AccessToken       = "bearer_token" // accessInfo
	// InterfaceServerName is the name in the API server's certificate if it is not the host of the endpoint;
	// interfaceInfo.
	InterfaceServerName = "tls_server_name"
)

// Access has the address of an API server and a token.
type Access struct {
	Endpoint string // https://host:port
	CA       []byte // PEM; empty means the system's
	Token    string
	// ServerName is the expected name in the server's certificate; empty means the host of Endpoint.
	ServerName string
}

// Vim returns a as the connection information of a VIM (SOL003 VimConnectionInfo).
func (a Access) Vim() sol.VimConnectionInfo {
	c := sol.VimConnectionInfo{
		VimType:       VimType,
		InterfaceInfo: sol.KeyValuePairs{InterfaceEndpoint: a.Endpoint},
		AccessInfo:    sol.KeyValuePairs{AccessToken: a.Token},
	}
	if len(a.CA) > 0 {
		c.InterfaceInfo[InterfaceCA] = string(a.CA)
	}
	if a.ServerName != "" {
		c.InterfaceInfo[InterfaceServerName] = a.ServerName
	}
	return c
}

// FromVim is the reverse of Vim. CodeUnprocessable if the connection is not one of a Kubernetes cluster with a token.
func FromVim(c sol.VimConnectionInfo) (Access, error) {
	text := func(m sol.KeyValuePairs, name string) string {
		s, _ := m[name].(string)
		return s
	}
	a := Access{
		Endpoint: text(c.InterfaceInfo, InterfaceEndpoint), CA: []byte(text(c.InterfaceInfo, InterfaceCA)),
		Token:      text(c.AccessInfo, AccessToken),
		ServerName: text(c.InterfaceInfo, InterfaceServerName),
	}
	if c.VimType != VimType || a.Endpoint == "" || a.Token == "" {
		return Access{}, lcm.Errorf(lcm.CodeUnprocessable,
			"the VIM connection is not one of a Kubernetes cluster with endpoint and %s", AccessToken)
	}
	return a, nil
}

// Kubeconfig returns a kubeconfig file for kubectl; cluster names it. It holds the token.
func (a Access) Kubeconfig(cluster string) ([]byte, error) {
	out, err := clientcmd.Write(api.Config{
		Clusters: map[string]*api.Cluster{
			cluster: {Server: a.Endpoint, CertificateAuthorityData: a.CA, TLSServerName: a.ServerName},
		},
		AuthInfos:      map[string]*api.AuthInfo{userOf(cluster): {Token: a.Token}},
		Contexts:       map[string]*api.Context{cluster: {Cluster: cluster, AuthInfo: userOf(cluster)}},
		CurrentContext: cluster,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a kubeconfig: %w", err)
	}
	return out, nil
}

// Config returns the configuration of a client.
func (a Access) Config() *rest.Config {
	return &rest.Config{Host: a.Endpoint, BearerToken: a.Token, TLSClientConfig: rest.TLSClientConfig{
		CAData: a.CA, ServerName: a.ServerName,
	}}
}

// AdminConfig returns the configuration of a client from a kubeconfig file such as kubeadm's admin.conf. It ignores
// files and programs that a kubeconfig may refer to, because the file comes from a node.
func AdminConfig(kubeconfig []byte) (*rest.Config, error) {
	raw, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the node's admin.conf cannot be read: %w", err)
	}
	ctx := raw.Contexts[raw.CurrentContext]
	if ctx == nil || raw.Clusters[ctx.Cluster] == nil || raw.AuthInfos[ctx.AuthInfo] == nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the node's admin.conf has no complete current context")
	}
	cluster, user := raw.Clusters[ctx.Cluster], raw.AuthInfos[ctx.AuthInfo]
	return &rest.Config{
		Host: cluster.Server, BearerToken: user.Token,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: cluster.CertificateAuthorityData, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}, nil
}

// Through returns cfg with another route to the same API server: dial opens all connections, for any address, and the
// server's certificate is still verified for serverName. The environment's proxy is not used: dial knows the way.
func Through(
	cfg *rest.Config, serverName string, dial func(ctx context.Context, network, addr string) (net.Conn, error),
) *rest.Config {
	out := rest.CopyConfig(cfg)
	out.Dial = dial
	out.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	out.ServerName = serverName
	return out
}
