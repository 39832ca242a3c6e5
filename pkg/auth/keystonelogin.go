package auth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// KeystoneLogin is the service's own login: a cloud of a clouds.yaml, or URL with a password or an application
// credential.
type KeystoneLogin struct {
	URL                               string // with or without /v3
	CAFile                            string // trusted beside the system's authorities
	Username, Password, UserDomain    string
	Project, ProjectDomain            string
	AppCredentialID, AppCredentialKey string
	CloudsFile, Cloud                 string
}

// keystoneLogin is a login that is ready to use.
type keystoneLogin struct {
	base string // without /v3
	opts gophercloud.AuthOptions
}

func (l KeystoneLogin) resolve() (*keystoneLogin, *tls.Config, error) {
	if l.Cloud != "" {
		return l.fromClouds()
	}
	trust, err := trustFile(l.CAFile)
	if err != nil {
		return nil, nil, err
	}
	opts := gophercloud.AuthOptions{AllowReauth: true, Username: l.Username, Password: l.Password}
	switch {
	case l.AppCredentialID != "":
		opts = gophercloud.AuthOptions{
			AllowReauth: true, ApplicationCredentialID: l.AppCredentialID,
			ApplicationCredentialSecret: l.AppCredentialKey,
		}
	case l.Username == "" || l.Password == "":
		return nil, nil, errors.New("the login of the service has neither a password nor an application credential")
	default:
		opts.DomainName = cmp.Or(l.UserDomain, "Default")
		opts.Scope = &gophercloud.AuthScope{
			ProjectName: l.Project, DomainName: cmp.Or(l.ProjectDomain, opts.DomainName),
		}
	}
	base, err := keystoneBase(l.URL)
	return &keystoneLogin{base, opts}, trust, err
}

// fromClouds reads the login from a clouds.yaml. Errors of its decoder can quote the file, so they are not shown.
func (l KeystoneLogin) fromClouds() (*keystoneLogin, *tls.Config, error) {
	opts, _, trust, err := clouds.Parse(clouds.WithLocations(l.CloudsFile), clouds.WithCloudName(l.Cloud))
	if err != nil {
		return nil, nil, fmt.Errorf("the cloud %q cannot be read from %s", l.Cloud, l.CloudsFile)
	}
	opts.AllowReauth = true
	if opts.ApplicationCredentialID != "" || opts.ApplicationCredentialSecret != "" {
		opts.Scope, opts.TenantID, opts.TenantName = nil, "", ""
	}
	base, err := keystoneBase(opts.IdentityEndpoint)
	return &keystoneLogin{base, opts}, trust, err
}

// keystoneBase is the address of Keystone without the version.
func keystoneBase(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the URL of Keystone is not http://host… or https://host…")
	}
	return strings.TrimSuffix(strings.TrimRight(s, "/"), "/v3"), nil
}

func (l *keystoneLogin) provider(client *http.Client) (*gophercloud.ProviderClient, error) {
	p, err := openstack.NewClient(l.base + "/")
	if err != nil {
		return nil, err
	}
	p.IdentityBase = l.base + "/"
	p.HTTPClient = *client
	p.UserAgent.Prepend("gybe")
	return p, nil
}

// PasswordLogin is a login of a user of the console at Keystone.
type PasswordLogin struct {
	Username, Password, UserDomain string
	Project, ProjectDomain         string // an empty domain is that of the user
}

// LoginKeystone logs a user in and returns a credential for the session: a token for the project. It fails with
// CodeUnauthorized if Keystone rejects the login, CodeUnavailable if it does not answer, and CodeUnprocessable without
// the mode Keystone.
func (a *Authenticator) LoginKeystone(ctx context.Context, l PasswordLogin, remote string) (Credential, error) {
	k := modeOf[*keystone](a)
	if k == nil {
		return Credential{}, lcm.Errorf(lcm.CodeUnprocessable, "this server does not use Keystone")
	}
	c, err := k.userLogin(ctx, l, remote)
	if err != nil {
		return Credential{}, a.report(ctx, inMode(err, k), Credential{Kind: KindToken}, remote)
	}
	return c, nil
}

func (k *keystone) userLogin(ctx context.Context, l PasswordLogin, from string) (Credential, error) {
	now := k.opts.Clock()
	if k.failures.exhausted(from, now) {
		return Credential{}, reject(reasonLimited, lcm.CodeTooMany,
			"too many logins from this address were rejected within a minute").later()
	}
	if err := k.takePlace(ctx); err != nil {
		return Credential{}, err
	}
	defer func() { <-k.places }()
	ctx, cancel := context.WithTimeout(ctx, k.opts.Timeout)
	defer cancel()
	provider, err := k.login.provider(k.client)
	if err != nil {
		return Credential{}, err
	}
	domain := cmp.Or(l.UserDomain, "Default")
	created := tokens.Create(ctx,
		&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: k.login.base + "/v3/"},
		&tokens.AuthOptions{
			Username: l.Username, Password: l.Password, DomainName: domain,
			Scope: tokens.Scope{ProjectName: l.Project, DomainName: cmp.Or(l.ProjectDomain, domain)},
		})
	token, err := created.ExtractTokenID()
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusUnauthorized),
		gophercloud.ResponseCodeIs(err, http.StatusForbidden),
		gophercloud.ResponseCodeIs(err, http.StatusNotFound), gophercloud.ResponseCodeIs(err, http.StatusBadRequest):
		k.failures.add(from, now)
		return Credential{}, reject(reasonInvalid, lcm.CodeUnauthorized,
			"Keystone rejected the user, the password or the project")
	case err != nil:
		no := k.unavailable()
		no.problem.Cause = fmt.Errorf("log a user in: %w", brief(err))
		k.log.WarnContext(ctx, "a user cannot be logged in", "server", k.server, "error", causeOf(no))
		return Credential{}, no
	}
	return Credential{Kind: KindToken, Secret: token}, nil
}

// modeOf returns a mode by its type, or nil.
func modeOf[M mode](a *Authenticator) (none M) {
	for _, m := range a.modes {
		if found, ok := m.(M); ok {
			return found
		}
	}
	return none
}
