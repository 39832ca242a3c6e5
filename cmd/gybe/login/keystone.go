package login

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/keystonetime"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// Keystone is a login to Keystone.
type Keystone struct {
	options gophercloud.AuthOptions
	tls     *tls.Config
}

// KeystoneFrom makes the login of a context with the secrets of the environment: the variables OS_… of OpenStack's own
// clients, and clouds.yaml. Members of the context take precedence over variables.
func KeystoneFrom(c contexts.Keystone, get func(string) string) (*Keystone, error) {
	if cloud := cmp.Or(c.Cloud, get("OS_CLOUD")); cloud != "" && (c.Cloud != "" || c.AuthURL == "") {
		return fromClouds(cloud, get)
	}
	k := &Keystone{options: gophercloud.AuthOptions{
		IdentityEndpoint: cmp.Or(c.AuthURL, get("OS_AUTH_URL")),
		Password:         get("OS_PASSWORD"),
		TokenID:          get("OS_TOKEN"),

		ApplicationCredentialID:     cmp.Or(c.ApplicationCredential, get("OS_APPLICATION_CREDENTIAL_ID")),
		ApplicationCredentialSecret: get("OS_APPLICATION_CREDENTIAL_SECRET"),
	}}
	o := &k.options
	if o.IdentityEndpoint == "" {
		return nil, errors.New("the URL of Keystone is unknown: use --auth-url, OS_AUTH_URL or OS_CLOUD")
	}
	u, err := url.Parse(o.IdentityEndpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the URL of Keystone, %.80q, is not an http or https URL", o.IdentityEndpoint)
	}
	if o.ApplicationCredentialID == "" {
		o.UserID = cmp.Or(c.UserID, get("OS_USER_ID"))
		if o.UserID == "" || c.Username != "" {
			o.UserID, o.Username = "", cmp.Or(c.Username, get("OS_USERNAME"))
			o.DomainID = cmp.Or(c.UserDomainID, get("OS_USER_DOMAIN_ID"))
			if name := cmp.Or(c.UserDomain, get("OS_USER_DOMAIN_NAME")); c.UserDomain != "" || o.DomainID == "" {
				o.DomainID, o.DomainName = "", cmp.Or(name, get("OS_DEFAULT_DOMAIN"), "Default")
			}
		}
		o.Scope = scopeOf(c, get)
	}
	k.tls, err = TrustFile(cmp.Or(c.CACert, get("OS_CACERT")))
	return k, err
}

// scopeOf is the project of the login; nil leaves it to Keystone.
func scopeOf(c contexts.Keystone, get func(string) string) *gophercloud.AuthScope {
	if id := cmp.Or(c.ProjectID, get("OS_PROJECT_ID")); id != "" && c.Project == "" {
		return &gophercloud.AuthScope{ProjectID: id}
	}
	name := cmp.Or(c.Project, get("OS_PROJECT_NAME"), get("OS_TENANT_NAME"))
	if name == "" {
		return nil
	}
	s := &gophercloud.AuthScope{ProjectName: name, DomainID: cmp.Or(c.ProjectDomainID, get("OS_PROJECT_DOMAIN_ID"))}
	if d := cmp.Or(c.ProjectDomain, get("OS_PROJECT_DOMAIN_NAME")); c.ProjectDomain != "" || s.DomainID == "" {
		s.DomainID, s.DomainName = "", cmp.Or(d, get("OS_DEFAULT_DOMAIN"), "Default")
	}
	return s
}

// fromClouds reads a cloud of clouds.yaml, at the usual places.
func fromClouds(cloud string, get func(string) string) (*Keystone, error) {
	opts := []clouds.ParseOption{clouds.WithCloudName(cloud)}
	if file := get("OS_CLIENT_CONFIG_FILE"); file != "" {
		opts = append(opts, clouds.WithLocations(file))
	}
	o, _, trust, err := clouds.Parse(opts...)
	if err != nil {
		return nil, fmt.Errorf("cloud %q: %w", cloud, err)
	}
	return &Keystone{options: o, tls: trust}, nil
}

// Settings are the settings of the login without its secret, to be kept.
func (k *Keystone) Settings(c contexts.Keystone) contexts.Keystone {
	o := &k.options
	c.AuthURL, c.UserID, c.Username, c.UserDomain = o.IdentityEndpoint, o.UserID, o.Username, o.DomainName
	c.UserDomainID, c.ApplicationCredential = o.DomainID, o.ApplicationCredentialID
	if s := o.Scope; s != nil {
		c.ProjectID, c.Project = s.ProjectID, s.ProjectName
		c.ProjectDomain, c.ProjectDomainID = s.DomainName, s.DomainID
	}
	return c
}

// AuthURL is where Keystone is.
func (k *Keystone) AuthURL() string { return k.options.IdentityEndpoint }

// User names the user for a question.
func (k *Keystone) User() string {
	return cmp.Or(k.options.Username, k.options.UserID, k.options.ApplicationCredentialID)
}

// NeedsPassword says whether the login lacks a secret that the user can type.
func (k *Keystone) NeedsPassword() bool {
	o := &k.options
	return o.Password == "" && o.TokenID == "" && o.ApplicationCredentialSecret == ""
}

// SetPassword sets the secret that the user has typed.
func (k *Keystone) SetPassword(secret string) {
	if k.options.ApplicationCredentialID != "" {
		k.options.ApplicationCredentialSecret = secret
	} else {
		k.options.Password = secret
	}
}

// Identity distinguishes the login from others, without its secret.
func (k *Keystone) Identity() []string {
	o := &k.options
	out := []string{
		o.IdentityEndpoint, o.UserID, o.Username, o.DomainID, o.DomainName, o.ApplicationCredentialID,
		o.ApplicationCredentialName, o.TenantID, o.TenantName,
	}
	if s := o.Scope; s != nil {
		out = append(out, s.ProjectID, s.ProjectName, s.DomainID, s.DomainName)
	}
	return out
}

// Obtain gets a token. Errors have no secrets.
func (k *Keystone) Obtain(ctx context.Context, _ *Token) (*Token, error) {
	if k.NeedsPassword() {
		return nil, &ExpiredError{}
	}
	if k.options.TokenID != "" && k.options.Scope == nil {
		return &Token{Value: k.options.TokenID}, nil
	}
	p, err := openstack.NewClient(k.options.IdentityEndpoint)
	if err != nil {
		return nil, err
	}
	p.HTTPClient = http.Client{
		Transport: transport(k.tls), Timeout: 30 * time.Second, CheckRedirect: redirect.SameServer,
	}
	v3 := strings.TrimRight(k.options.IdentityEndpoint, "/")
	if !strings.HasSuffix(v3, "/v3") {
		v3 += "/v3"
	}
	identity := &gophercloud.ServiceClient{ProviderClient: p, Endpoint: v3 + "/"}
	o := k.options
	if o.TokenID != "" { // Keystone wants nothing else with it
		o = gophercloud.AuthOptions{TokenID: o.TokenID, Scope: o.Scope}
	}
	created := tokens.Create(ctx, identity, &o)
	id, err := created.ExtractTokenID()
	var ends keystonetime.Expiry
	if err == nil {
		err = created.ExtractInto(&ends)
	}
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusUnauthorized):
		return nil, &RejectedError{Server: k.AuthURL(), User: k.User()}
	case err != nil:
		return nil, fmt.Errorf("log in to Keystone at %s: %w", k.AuthURL(), plain(err))
	}
	return &Token{Value: id, Expires: ends.ExpiresAt.Time}, nil
}

// RejectedError says that a server does not accept a user's secret.
type RejectedError struct{ Server, User string }

// Error implements error.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s rejects the login of %s: check the name, the domain, the project and the password",
		e.Server, cmp.Or(e.User, "the user"))
}

// plain shortens an error of gophercloud to its status: its text can contain the request.
func plain(err error) error {
	if e, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return fmt.Errorf("it answers %d %s", e.Actual, http.StatusText(e.Actual))
	}
	return err
}

// Session returns the credentials of the login. lazy waits for a server that asks for Keystone.
func (k *Keystone) Session(c Cache, lazy bool) *Session {
	s := &Session{Cache: c, Header: client.HeaderToken, Obtain: k.Obtain}
	if lazy {
		s.Scheme = "Keystone"
	}
	return s
}

// TrustFile returns a TLS configuration that trusts the authorities of a file instead of the system's; nil for "".
func TrustFile(path string) (*tls.Config, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // the default configuration
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// transport is the default one with a TLS configuration; nil is the default.
func transport(t *tls.Config) http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	base = base.Clone()
	if t != nil {
		base.TLSClientConfig = t
	}
	return base
}
