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
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// VimType is the vimType of a Kubernetes cluster.
const VimType = "ETSINFV.KUBERNETES.V_1"

// The members of a Kubernetes cluster's VimConnectionInfo. accessInfo has the members of one kind of credentials.
const (
	InterfaceEndpoint = "endpoint"    // interfaceInfo: URL of the API server
	InterfaceCA       = "ssl_ca_cert" // interfaceInfo: PEM certificates of the cluster's CA
	// InterfaceServerName is the name in the API server's certificate if it is not the host of the endpoint;
	// interfaceInfo.
	InterfaceServerName = "tls_server_name"
	// InterfaceInsecure is true to trust any certificate of the API server; interfaceInfo.
	InterfaceInsecure = "skipCertificateVerification"

	AccessToken       = "bearer_token"       // accessInfo: a token, as of a service account
	AccessCertificate = "client_certificate" // accessInfo: PEM certificate of a user
	AccessKey         = "client_key"         // accessInfo: PEM private key of the certificate
	AccessUsername    = "username"           // accessInfo: user of basic authentication or of the OpenID provider
	AccessPassword    = "password"           // accessInfo
	// AccessProvider is where an OpenID provider gives an ID token for the user name and password; accessInfo.
	AccessProvider     = "oidc_token_url"
	AccessClientID     = "client_id"     // accessInfo: the client at the OpenID provider
	AccessClientSecret = "client_secret" // accessInfo: its secret; absent for a public client
	AccessNamespace    = "namespace"     // accessInfo: namespace of the resources; absent means default
)

// Access has the address of an API server and one kind of credentials: Token, Certificate with Key, Username with
// Password, or the latter with OIDC.
type Access struct {
	Endpoint string // https://host:port
	CA       []byte // PEM; empty means the system's
	// ServerName is the expected name in the server's certificate; empty means the host of Endpoint.
	ServerName string
	// Insecure trusts any certificate of the server.
	Insecure bool

	Token       string
	Certificate []byte // PEM
	Key         []byte // PEM
	Username    string
	Password    string
	OIDC        *OIDC // where Username and Password are exchanged for a token; nil for basic authentication
}

// OIDC is the client at an OpenID provider that the API server trusts.
type OIDC struct {
	TokenURL     string
	ClientID     string
	ClientSecret string // empty for a public client
}

// Vim returns a as the connection information of a VIM (SOL003 VimConnectionInfo).
func (a Access) Vim() sol.VimConnectionInfo {
	c := sol.VimConnectionInfo{
		VimType:       VimType,
		InterfaceInfo: sol.KeyValuePairs{InterfaceEndpoint: a.Endpoint},
		AccessInfo:    sol.KeyValuePairs{},
	}
	set := func(m sol.KeyValuePairs, name, value string) {
		if value != "" {
			m[name] = value
		}
	}
	set(c.InterfaceInfo, InterfaceCA, string(a.CA))
	set(c.InterfaceInfo, InterfaceServerName, a.ServerName)
	if a.Insecure {
		c.InterfaceInfo[InterfaceInsecure] = true
	}
	set(c.AccessInfo, AccessToken, a.Token)
	set(c.AccessInfo, AccessCertificate, string(a.Certificate))
	set(c.AccessInfo, AccessKey, string(a.Key))
	set(c.AccessInfo, AccessUsername, a.Username)
	set(c.AccessInfo, AccessPassword, a.Password)
	if a.OIDC != nil {
		set(c.AccessInfo, AccessProvider, a.OIDC.TokenURL)
		set(c.AccessInfo, AccessClientID, a.OIDC.ClientID)
		set(c.AccessInfo, AccessClientSecret, a.OIDC.ClientSecret)
	}
	return c
}

// FromVim is the reverse of Vim. CodeUnprocessable if the connection is not one of a Kubernetes cluster with complete
// credentials.
func FromVim(c sol.VimConnectionInfo) (Access, error) {
	text := func(m sol.KeyValuePairs, name string) string {
		s, _ := m[name].(string)
		return s
	}
	pem := func(m sol.KeyValuePairs, name string) []byte {
		if s := text(m, name); s != "" {
			return []byte(s)
		}
		return nil
	}
	a := Access{
		Endpoint: text(c.InterfaceInfo, InterfaceEndpoint), CA: pem(c.InterfaceInfo, InterfaceCA),
		ServerName:  text(c.InterfaceInfo, InterfaceServerName),
		Token:       text(c.AccessInfo, AccessToken),
		Certificate: pem(c.AccessInfo, AccessCertificate), Key: pem(c.AccessInfo, AccessKey),
		Username: text(c.AccessInfo, AccessUsername), Password: text(c.AccessInfo, AccessPassword),
	}
	a.Insecure, _ = c.InterfaceInfo[InterfaceInsecure].(bool)
	if at := text(c.AccessInfo, AccessProvider); at != "" {
		a.OIDC = &OIDC{
			TokenURL: at, ClientID: text(c.AccessInfo, AccessClientID),
			ClientSecret: text(c.AccessInfo, AccessClientSecret),
		}
	}
	if c.VimType != VimType || a.Endpoint == "" || !a.complete() {
		return Access{}, lcm.Errorf(lcm.CodeUnprocessable,
			"the VIM connection is not one of a Kubernetes cluster with endpoint and %s, or %s and %s, or %s and %s",
			AccessToken, AccessCertificate, AccessKey, AccessUsername, AccessPassword)
	}
	return a, nil
}

// complete says that there is one kind of credentials with all its parts.
func (a Access) complete() bool {
	switch {
	case a.OIDC != nil && a.OIDC.ClientID == "":
		return false
	case a.Token != "":
		return true
	case len(a.Certificate) > 0:
		return len(a.Key) > 0
	}
	return a.Username != "" && a.Password != ""
}

// Kubeconfig returns a kubeconfig file for kubectl; cluster names it. It holds the credentials. CodeUnprocessable for
// those of an OpenID provider: kubectl needs a plugin to log in to it.
func (a Access) Kubeconfig(cluster string) ([]byte, error) {
	if a.OIDC != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "a kubeconfig cannot have a login to the OpenID provider at %s",
			a.OIDC.TokenURL)
	}
	out, err := clientcmd.Write(api.Config{
		Clusters: map[string]*api.Cluster{
			cluster: {
				Server: a.Endpoint, CertificateAuthorityData: a.CA, TLSServerName: a.ServerName,
				InsecureSkipTLSVerify: a.Insecure,
			},
		},
		AuthInfos: map[string]*api.AuthInfo{userOf(cluster): {
			Token: a.Token, ClientCertificateData: a.Certificate, ClientKeyData: a.Key, Username: a.Username,
			Password: a.Password,
		}},
		Contexts:       map[string]*api.Context{cluster: {Cluster: cluster, AuthInfo: userOf(cluster)}},
		CurrentContext: cluster,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a kubeconfig: %w", err)
	}
	return out, nil
}

// Config returns the configuration of a client. With OIDC the client asks the provider for a token before its first
// request, and again when the token ends.
func (a Access) Config() *rest.Config {
	return a.config(&http.Transport{Proxy: http.ProxyFromEnvironment})
}

// Outbound is Config for a client that connects, also to the OpenID provider, as a policy allows.
func (a Access) Outbound(p *outbound.Policy) *rest.Config {
	t := &http.Transport{}
	p.Route(t, requestTimeout)
	cfg := a.config(t)
	cfg.Dial, cfg.Proxy = t.DialContext, t.Proxy
	return cfg
}

// config makes the configuration; provider is the transport to the OpenID provider.
func (a Access) config(provider *http.Transport) *rest.Config {
	cfg := &rest.Config{Host: a.Endpoint, BearerToken: a.Token, TLSClientConfig: rest.TLSClientConfig{
		ServerName: a.ServerName, Insecure: a.Insecure, CertData: a.Certificate, KeyData: a.Key,
	}}
	if !a.Insecure { // client-go refuses both
		cfg.CAData = a.CA
	}
	switch {
	case a.OIDC != nil:
		cfg.WrapTransport = newIDTokens(a, provider).wrap
	case a.Username != "":
		cfg.Username, cfg.Password = a.Username, a.Password
	}
	return cfg
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
