package cli

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
	"github.com/gybe-nfv/gybe/cmd/gybe/login"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// connection says which server commands talk to, and how. Flags take precedence over variables, and these over the
// context.
type connection struct {
	endpoint, cacert, cert, key string
	insecure                    bool
	token, tokenFile            string
	context, cloud              string
}

// connectionFlags adds the flags of all commands.
func (a *app) connectionFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&a.flags.endpoint, "endpoint", "",
		"URL of a gybe node (GYBE_ENDPOINT; default: that of the context, or "+client.DefaultEndpoint+")")
	f.StringVar(&a.flags.context, "context", "", "context with the server and the login (GYBE_CONTEXT)")
	f.StringVar(&a.flags.token, "token", "",
		"token; other users see it in the list of processes, so prefer --token-file or GYBE_TOKEN")
	f.StringVar(&a.flags.tokenFile, "token-file", "", "file with the token (GYBE_TOKEN_FILE)")
	f.StringVar(&a.flags.cloud, "os-cloud", "", "log in to Keystone with a cloud of clouds.yaml (OS_CLOUD)")
	f.StringVar(&a.flags.cacert, "cacert", "", "file with the authorities to trust, in PEM (GYBE_CACERT)")
	f.StringVar(&a.flags.cert, "cert", "", "file with the client certificate (GYBE_CERT)")
	f.StringVar(&a.flags.key, "key", "", "file with the key of the client certificate (GYBE_KEY)")
	f.BoolVar(&a.flags.insecure, "insecure", false, "do not check the server's certificate: anyone can answer")
	_ = cmd.RegisterFlagCompletionFunc("context", a.completeContext) // the flag exists
}

// get returns a variable; --os-cloud is one.
func (a *app) get(name string) string {
	if name == "OS_CLOUD" && a.flags.cloud != "" {
		return a.flags.cloud
	}
	return a.env.get(name)
}

// named returns the context that is used and its name; "" for none.
func (a *app) named() (string, *contexts.Context, error) {
	f, err := contexts.Load(contexts.Path(a.env.get))
	if err != nil {
		return "", nil, usagef("%s", err)
	}
	explicit := cmp.Or(a.flags.context, a.env.get("GYBE_CONTEXT"))
	name := cmp.Or(explicit, f.Current)
	c, ok := f.Contexts[name]
	if !ok && explicit != "" {
		return "", nil, usagef("there is no context %q; gybe context list shows those that there are", name)
	}
	if !ok {
		return "", &contexts.Context{}, nil
	}
	return name, c, nil
}

// target is a resolved connection.
type target struct {
	endpoint    string
	http        *http.Client
	credentials client.Credentials
}

// connect resolves flags, variables and the context.
func (a *app) connect() (*target, error) {
	name, c, err := a.named()
	if err != nil {
		return nil, err
	}
	given := cmp.Or(a.flags.endpoint, a.env.get("GYBE_ENDPOINT"))
	if given != "" && !sameServer(given, c.Endpoint) {
		name, c = "", &contexts.Context{} // its credentials are for its own server
	}
	t := &target{endpoint: cmp.Or(given, c.Endpoint, client.DefaultEndpoint)}
	if t.http, err = a.httpClient(t.endpoint, c); err != nil {
		return nil, err
	}
	if t.credentials, err = a.credentials(t.endpoint, name, c); err != nil {
		return nil, err
	}
	u, err := url.Parse(t.endpoint)
	if err == nil && t.credentials != nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		printline(a.env.Stderr, "warning: "+t.endpoint+" is not https: tokens can be read on the network")
	}
	return t, nil
}

// httpClient makes a client with the certificates of flags, variables and a context.
func (a *app) httpClient(endpoint string, c *contexts.Context) (*http.Client, error) {
	conf, err := login.TrustFile(cmp.Or(a.flags.cacert, a.env.get("GYBE_CACERT"), c.CACert))
	if err != nil {
		return nil, usagef("the file of the authorities: %s", err)
	}
	if conf == nil {
		conf = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if a.flags.insecure || c.Insecure {
		printline(a.env.Stderr, "WARNING: the certificate of "+endpoint+
			" is not checked: anyone on the network can read and change everything, also tokens")
		conf.InsecureSkipVerify = true // the user has asked for it
	}
	certFile := cmp.Or(a.flags.cert, a.env.get("GYBE_CERT"), c.Cert)
	if keyFile := cmp.Or(a.flags.key, a.env.get("GYBE_KEY"), c.Key, certFile); certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, usagef("the client certificate: %s", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	} else if a.flags.key != "" {
		return nil, usagef("--key needs --cert")
	}
	return &http.Client{Transport: transport(conf), CheckRedirect: redirect.SameServer}, nil
}

// transport is the default one with a TLS configuration, and a bound on how long a server may stay silent.
func transport(conf *tls.Config) http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	base = base.Clone()
	base.TLSClientConfig = conf
	base.ResponseHeaderTimeout = time.Minute
	return base
}

// credentials are those that were given, those of the context, or those of Keystone in the environment.
func (a *app) credentials(endpoint, name string, c *contexts.Context) (client.Credentials, error) {
	token, err := a.givenToken()
	if err != nil {
		return nil, err
	}
	if token != "" {
		return client.Token(token), nil
	}
	switch c.Auth {
	case contexts.AuthToken:
		return client.Token(c.Token), nil
	case contexts.AuthKeystone:
		k, err := login.KeystoneFrom(value(c.Keystone), a.get)
		if err != nil {
			return nil, usagef("context %s: %s", name, err)
		}
		return k.Session(a.contextCache(name, c), false), nil
	case contexts.AuthOIDC:
		o := &login.OIDC{Settings: value(c.OIDC)}
		return o.Session(a.contextCache(name, c)), nil
	}
	if a.get("OS_CLOUD") == "" && a.get("OS_AUTH_URL") == "" || c.Cert != "" {
		return nil, nil //nolint:nilnil // no credentials
	}
	k, err := login.KeystoneFrom(contexts.Keystone{}, a.get)
	if err != nil {
		return nil, usagef("%s", err)
	}
	cache := login.CacheFor(a.env.get, slices.Concat([]string{"environment", endpoint}, k.Identity())...)
	return k.Session(cache, a.flags.cloud == ""), nil
}

// contextCache is the place of the token of a context.
func (a *app) contextCache(name string, c *contexts.Context) login.Cache {
	return login.CacheFor(a.env.get, "context", name, c.Endpoint, c.Auth)
}

// givenToken is the token of --token, --token-file, GYBE_TOKEN or GYBE_TOKEN_FILE; "" for none.
func (a *app) givenToken() (string, error) {
	if a.flags.token != "" {
		return a.flags.token, nil
	}
	file := a.flags.tokenFile
	if file == "" {
		if t := a.env.get("GYBE_TOKEN"); t != "" {
			return t, nil
		}
		file = a.env.get("GYBE_TOKEN_FILE")
	}
	if file == "" {
		return "", nil
	}
	raw, err := a.readFile(file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", usagef("the token file %s is empty", file)
	}
	return token, nil
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// sameServer says whether two endpoints are the same.
func sameServer(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// loopback says whether a host is this machine.
func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// client returns a client of the server, with the login.
func (a *app) client() (*client.Client, error) {
	t, err := a.connect()
	if err != nil {
		return nil, err
	}
	c, err := client.New(t.endpoint, t.http)
	if err != nil {
		return nil, usagef("%s", err)
	}
	return c.WithCredentials(t.credentials), nil
}
