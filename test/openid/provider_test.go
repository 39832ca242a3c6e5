package openid_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	audience     = "gybe"     // of all tokens, and the client of the console
	secret       = "verysafe" // of that client
	commandLine  = "gybe-cli"
	service      = "sid1"        // the client of the library for the client credentials grant
	serviceWord  = "verysecret"  // its secret
	userPassword = "verysecure1" // of all users
)

// role is a role of the project that every user has, besides one of other systems.
type role string

// users are all users and services of the provider, with their roles.
var users = map[string]role{"ada": "nfv-operator", "bob": "nfv-reader", service: "nfv-operator", "eve": ""}

// people is the directory of the provider. It implements storage.UserStore.
type people struct{}

func (people) GetUserByID(id string) *storage.User {
	if _, ok := users[id]; !ok {
		return nil
	}
	return &storage.User{ID: id, Username: id, Password: userPassword}
}

func (p people) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }

func (people) ExampleClientID() string { return "" }

// directory is the storage of the library's example, with JWTs as access tokens, the claims that Gybe reads, and its
// audience.
type directory struct {
	*storage.Storage

	opaque bool // access tokens are not JWTs
}

// client is a client whose access tokens may be JWTs, and which may use all grants.
type client struct {
	op.Client

	opaque bool
}

func (c client) AccessTokenType() op.AccessTokenType {
	if c.opaque {
		return op.AccessTokenTypeBearer
	}
	return op.AccessTokenTypeJWT
}

func (c client) GrantTypes() []oidc.GrantType {
	return append(slices.Clone(c.Client.GrantTypes()), oidc.GrantTypeDeviceCode)
}

func (d directory) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := d.Storage.GetClientByClientID(ctx, id)
	return client{c, d.opaque}, err
}

func (d directory) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	c, err := d.Storage.ClientCredentials(ctx, id, secret)
	return client{c, d.opaque}, err
}

func (d directory) ClientCredentialsTokenRequest(
	_ context.Context, id string, scopes []string,
) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{audience}, Scopes: scopes}, nil
}

// forGybe is a login whose tokens are for Gybe, whatever client has asked for them.
type forGybe struct{ *storage.AuthRequest }

func (forGybe) GetAudience() []string { return []string{audience} }

// ofGybe makes a login forGybe.
func ofGybe(a op.AuthRequest, err error) (op.AuthRequest, error) {
	if login, ok := a.(*storage.AuthRequest); ok && err == nil {
		return forGybe{login}, nil
	}
	return a, err
}

func (d directory) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	return ofGybe(d.Storage.AuthRequestByCode(ctx, code))
}

// renewal is a request with a refresh token, for Gybe.
type renewal struct{ *storage.RefreshTokenRequest }

func (renewal) GetAudience() []string { return []string{audience} }

func (d directory) TokenRequestByRefreshToken(ctx context.Context, token string) (op.RefreshTokenRequest, error) {
	r, err := d.Storage.TokenRequestByRefreshToken(ctx, token)
	if known, ok := r.(*storage.RefreshTokenRequest); ok && err == nil {
		return renewal{known}, nil
	}
	return r, err
}

// known returns the request that the storage knows. Its logins on other devices have no client, without which it
// cannot renew their tokens.
func known(r op.TokenRequest) op.TokenRequest {
	switch r := r.(type) {
	case forGybe:
		return r.AuthRequest
	case renewal:
		return r.RefreshTokenRequest
	case *op.DeviceAuthorizationState:
		return &storage.AuthRequest{ApplicationID: r.ClientID, UserID: r.Subject, Scopes: r.Scopes}
	}
	return r
}

func (d directory) CreateAccessToken(ctx context.Context, r op.TokenRequest) (string, time.Time, error) {
	return d.Storage.CreateAccessToken(ctx, known(r))
}

func (d directory) CreateAccessAndRefreshTokens(
	ctx context.Context, r op.TokenRequest, refresh string,
) (id, renewed string, until time.Time, err error) {
	return d.Storage.CreateAccessAndRefreshTokens(ctx, known(r), refresh)
}

func (d directory) GetDeviceAuthorizatonState(
	ctx context.Context, client, code string,
) (*op.DeviceAuthorizationState, error) {
	s, err := d.Storage.GetDeviceAuthorizatonState(ctx, client, code)
	if err != nil {
		return nil, err
	}
	mine := *s
	mine.Audience = []string{audience}
	return &mine, nil
}

// claims are those of a user that Gybe reads.
func claims(subject string) map[string]any {
	roles := []string{"of-another-system"}
	if r := users[subject]; r != "" {
		roles = append(roles, string(r))
	}
	return map[string]any{
		"preferred_username": subject, "project": "red", "realm_access": map[string]any{"roles": roles},
	}
}

func (directory) GetPrivateClaimsFromScopes(
	_ context.Context, subject, _ string, _ []string,
) (map[string]any, error) {
	return claims(subject), nil
}

func (d directory) SetIntrospectionFromToken(
	ctx context.Context, r *oidc.IntrospectionResponse, token, subject, client string,
) error {
	if err := d.Storage.SetIntrospectionFromToken(ctx, r, token, subject, client); err != nil {
		return err
	}
	r.Audience, r.Claims = []string{audience}, claims(subject)
	return nil
}

// startProvider starts the provider. The console of a node at root may log users in.
func startProvider(t *testing.T, opaque bool) (issuer string, allow func(root string)) {
	t.Helper()
	clients := map[string]*storage.Client{commandLine: storage.NativeClient(commandLine, "http://127.0.0.1/callback")}
	s := httptest.NewUnstartedServer(nil)
	issuer = "http://" + s.Listener.Addr().String()
	known := directory{storage.NewStorageWithClients(people{}, clients), opaque}
	s.Config.Handler = exampleop.SetupServer(issuer, known, nil, false)
	s.Start()
	t.Cleanup(s.Close)
	resp, err := http.Get(issuer + oidc.DiscoveryEndpoint)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return issuer, func(root string) {
		clients[audience] = storage.WebClient(audience, secret, root+"/ui/login/return")
	}
}
