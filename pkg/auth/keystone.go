package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/gybe-nfv/gybe/pkg/keystonetime"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// KeystoneOptions configure the mode Keystone.
type KeystoneOptions struct {
	// Login is the service's own login, as a password or an application credential. Its IdentityEndpoint is the
	// Keystone of the users. The login needs the right to validate tokens (identity:validate_token): the role service
	// or admin, depending on the policy.
	Login KeystoneLogin
	// Roles maps roles of Keystone.
	Roles RoleMap
	// Remote limits the requests to Keystone.
	Remote RemoteOptions
}

// keystone checks tokens by GET /v3/auth/tokens, with the service's own token.
type keystone struct {
	*remote
	login  *keystoneLogin
	client *http.Client
	roles  RoleMap
	log    *slog.Logger

	lock    chan struct{} // held while the service logs in
	service *gophercloud.ServiceClient
}

func newKeystone(o KeystoneOptions, log *slog.Logger) (*keystone, error) {
	login, trust, err := o.Login.resolve()
	if err != nil {
		return nil, fmt.Errorf("keystone: %w", err)
	}
	o.Remote.defaults()
	k := &keystone{
		login: login, client: newHTTPClient(trust, o.Remote.Checks), roles: o.Roles, log: log,
		lock: make(chan struct{}, 1),
	}
	k.client.Timeout = o.Remote.Timeout
	k.remote = newRemote("Keystone", o.Remote, log, k.validate)
	return k, nil
}

func (k *keystone) name() string { return ModeKeystone }

func (k *keystone) challenge() string { return fmt.Sprintf("Keystone uri=%q", k.login.base) }

// accepts takes X-Auth-Token, but not static tokens.
func (k *keystone) accepts(c Credential) bool {
	return c.Kind == KindToken && !strings.HasPrefix(c.Secret, TokenPrefix)
}

func (k *keystone) check(ctx context.Context, c Credential, from string) (lcm.Principal, error) {
	return k.remote.check(ctx, c.Secret, from)
}

// session returns the service's client, after a login at the first use. Gophercloud logs in again when the token is
// refused, once for all requests.
func (k *keystone) session(ctx context.Context) (*gophercloud.ServiceClient, error) {
	select {
	case k.lock <- struct{}{}:
		defer func() { <-k.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if k.service != nil {
		return k.service, nil
	}
	provider, err := k.login.provider(k.client)
	if err != nil {
		return nil, err
	}
	opts := k.login.opts
	if err := openstack.AuthenticateV3(ctx, provider, &opts, gophercloud.EndpointOpts{}); err != nil {
		return nil, fmt.Errorf("log in to %s as the service: %w", k.login.base, brief(err))
	}
	k.service = &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: k.login.base + "/v3/"}
	return k.service, nil
}

// validate asks Keystone about a token.
func (k *keystone) validate(ctx context.Context, secret string) (result, error) {
	s, err := k.session(ctx)
	if err != nil {
		return result{}, err
	}
	var answer struct{ Token keystoneToken }
	_, err = s.Get(ctx, s.ServiceURL("auth", "tokens")+"?nocatalog=1", &answer, //nolint:bodyclose // gophercloud does it
		&gophercloud.RequestOpts{
			MoreHeaders: map[string]string{"X-Subject-Token": secret}, OkCodes: []int{http.StatusOK},
		})
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound), gophercloud.ResponseCodeIs(err, http.StatusBadRequest):
		return result{}, reject(reasonInvalid, lcm.CodeUnauthorized,
			"Keystone does not accept the token: it is not valid, has expired or was revoked").hint(
			"log in again; if this does not help, check that the token is of the Keystone that this node uses")
	case gophercloud.ResponseCodeIs(err, http.StatusForbidden):
		return result{}, fmt.Errorf("the login of the service may not validate tokens (it needs the role service or "+
			"admin): %w", brief(err))
	case err != nil:
		return result{}, fmt.Errorf("validate a token: %w", brief(err))
	}
	return answer.Token.result(k.roles)
}

// brief drops the body of a response, which can quote what was sent.
func brief(err error) error {
	if code, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return fmt.Errorf("%s %s: status %d", code.Method, code.URL, code.Actual)
	}
	return err
}

// keystoneToken is what Keystone says about a token.
type keystoneToken struct {
	keystonetime.Expiry
	User struct {
		Name   string `json:"name"`
		ID     string `json:"id"`
		Domain struct {
			Name string `json:"name"`
		} `json:"domain"`
	} `json:"user"`
	Project *struct {
		ID string `json:"id"`
	} `json:"project"`
	Roles []struct {
		Name string `json:"name"`
	} `json:"roles"`
}

// result maps a valid token. The project is the id: a name is unique only in its domain and can be given to another
// project later.
func (t keystoneToken) result(roles RoleMap) (result, error) {
	if t.ExpiresAt.IsZero() || t.User.Name == "" {
		return result{}, errors.New("the answer has no user or no expiry")
	}
	if t.Project == nil || t.Project.ID == "" {
		return result{}, reject(reasonNoProject, lcm.CodeForbidden, "the token is not for a project").hint(
			"log in with a project (OS_PROJECT_NAME, or --os-project-name), not with a domain or the system")
	}
	if err := CheckProject(t.Project.ID); err != nil {
		return result{}, err
	}
	names := make([]string, 0, len(t.Roles))
	for _, r := range t.Roles {
		names = append(names, r.Name)
	}
	return result{
		principal: lcm.Principal{
			Subject: t.User.Name + "@" + t.User.Domain.Name, Project: t.Project.ID, Role: roles.strongest(names),
		},
		expires: t.ExpiresAt.Time,
	}, nil
}
