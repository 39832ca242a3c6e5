package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
	"github.com/gybe-nfv/gybe/cmd/gybe/login"
	"github.com/gybe-nfv/gybe/pkg/client"
)

// loginFlags are those of gybe login.
type loginFlags struct {
	keystone, oidc, token, browser bool
	ks                             contexts.Keystone
	op                             contexts.OIDC
}

func (a *app) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "login", Short: "Log in to a server, for the commands that follow",
		Long: `Log in to a server, for the commands that follow. The context (--context, or the current one, or
"default") gets the way to log in; the token is kept in a file that only its owner can read. Passwords
are not kept: when the token has expired, log in again, or give OS_PASSWORD to the command.

--keystone gets a token of Keystone. What is not given comes from the variables OS_… and clouds.yaml;
the password is asked for.
--oidc shows an address and a code to open on any device. With --browser, the browser of this machine
comes back to a port of the loopback address.
--token reads a token from standard input.`,
		Example: `  gybe login --context prod --endpoint https://gybe.example.com:9890 --keystone --os-cloud mycloud
  gybe login --context prod --oidc --issuer https://sso.example.com/realms/nfv --client-id gybe-cli
  gybe login --token < token.txt`,
	}
	var l loginFlags
	f := cmd.Flags()
	f.BoolVar(&l.keystone, "keystone", false, "get a token of Keystone")
	f.BoolVar(&l.oidc, "oidc", false, "get a token of an OpenID provider")
	f.BoolVar(&l.token, "token", false, "read a token from standard input")
	f.StringVar(&l.ks.AuthURL, "auth-url", "", "URL of Keystone (OS_AUTH_URL)")
	f.StringVar(&l.ks.Username, "username", "", "user of Keystone (OS_USERNAME)")
	f.StringVar(&l.ks.UserDomain, "user-domain", "", "domain of the user (OS_USER_DOMAIN_NAME)")
	f.StringVar(&l.ks.Project, "project", "", "project of Keystone (OS_PROJECT_NAME)")
	f.StringVar(&l.ks.ProjectDomain, "project-domain", "", "domain of the project (OS_PROJECT_DOMAIN_NAME)")
	f.StringVar(&l.ks.ApplicationCredential, "application-credential", "", "id of an application credential")
	f.StringVar(&l.op.Issuer, "issuer", "", "URL of the OpenID provider")
	f.StringVar(&l.op.ClientID, "client-id", "", "this program at the provider")
	f.StringArrayVar(&l.op.Scopes, "scope", nil, "scope to ask for; can be repeated (default: openid, offline_access)")
	f.BoolVar(&l.op.IDToken, "id-token", false, "send the ID token to the server, not the access token")
	f.BoolVar(&l.browser, "browser", false, "with --oidc, use the browser of this machine")
	cmd.MarkFlagsMutuallyExclusive("keystone", "oidc", "token")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.login(cmd, &l) }
	return cmd
}

// loginContext returns the context to log in to, as it will be.
func (a *app) loginContext(cmd *cobra.Command) (string, *contexts.Context, error) {
	f, err := contexts.Load(contexts.Path(a.env.get))
	if err != nil {
		return "", nil, usagef("%s", err)
	}
	explicit := cmp.Or(a.flags.context, a.env.get("GYBE_CONTEXT"))
	name, c := cmp.Or(explicit, f.Current, "default"), &contexts.Context{}
	if had := f.Contexts[name]; had != nil {
		*c = *had
	}
	variable := a.env.get("GYBE_ENDPOINT")
	if c.Endpoint == "" {
		c.Endpoint = cmp.Or(a.flags.endpoint, variable, client.DefaultEndpoint)
	}
	if a.flags.endpoint == "" && variable != "" && !sameServer(variable, c.Endpoint) {
		return "", nil, usagef("GYBE_ENDPOINT is %s, and the context %s is for %s: name another context with --context",
			variable, name, c.Endpoint)
	}
	return name, c, a.setContext(cmd, c)
}

func (a *app) login(cmd *cobra.Command, l *loginFlags) error {
	ctx := cmd.Context()
	name, c, err := a.loginContext(cmd)
	if err != nil {
		return err
	}
	hc, err := a.httpClient(c.Endpoint, c)
	if err != nil {
		return err
	}
	server, err := client.New(c.Endpoint, hc)
	if err != nil {
		return usagef("%s", err)
	}
	var t *login.Token
	switch {
	case l.token:
		t, err = a.tokenLogin(c)
	case l.keystone, !l.oidc && c.Auth == contexts.AuthKeystone:
		t, err = a.keystoneLogin(ctx, c, l)
	case l.oidc, c.Auth == contexts.AuthOIDC:
		t, err = a.oidcLogin(ctx, c, l)
	default:
		if err := server.CheckLogin(ctx); err != nil {
			return err // the hint names the ways to log in
		}
		return usagef("the server requires no login; use --keystone, --oidc or --token if it will")
	}
	if err != nil {
		return err
	}
	if err := server.WithCredentials(a.tokenOf(c, t)).CheckLogin(ctx); err != nil {
		return err
	}
	if c.Auth != contexts.AuthToken {
		if err := a.contextCache(name, c).Store(t); err != nil {
			return err
		}
	}
	if err := a.updateContexts(ctx, func(f *contexts.File) error {
		f.Contexts[name] = c
		f.Current = cmp.Or(f.Current, name)
		return nil
	}); err != nil {
		return err
	}
	printf(a.env.Stderr, "Logged in to %s; this is the context %s.\n", c.Endpoint, name)
	return nil
}

// tokenOf are the credentials for a new token.
func (a *app) tokenOf(c *contexts.Context, t *login.Token) client.Credentials {
	s := &login.Session{
		Header: client.HeaderBearer, Prefix: "Bearer ",
		Obtain: func(context.Context, *login.Token) (*login.Token, error) { return t, nil },
	}
	switch c.Auth {
	case contexts.AuthToken:
		return client.Token(t.Value)
	case contexts.AuthKeystone:
		s.Header, s.Prefix = client.HeaderToken, ""
	}
	return s
}

func (a *app) tokenLogin(c *contexts.Context) (*login.Token, error) {
	token, err := a.readSecret("Token: ")
	if err != nil {
		return nil, err
	}
	c.Auth, c.Token, c.Keystone, c.OIDC = contexts.AuthToken, token, nil, nil
	return &login.Token{Value: token}, nil
}

func (a *app) keystoneLogin(ctx context.Context, c *contexts.Context, l *loginFlags) (*login.Token, error) {
	settings := l.ks
	if settings == (contexts.Keystone{}) {
		settings = value(c.Keystone)
	}
	if cloud := a.get("OS_CLOUD"); settings.AuthURL == "" && cloud != "" && settings.Cloud == "" {
		settings.Cloud = cloud
	}
	k, err := login.KeystoneFrom(settings, a.get)
	if err != nil {
		return nil, usagef("%s", err)
	}
	if k.NeedsPassword() {
		if k.User() == "" {
			return nil, usagef("the user of Keystone is unknown: use --username, OS_USERNAME or OS_CLOUD")
		}
		secret, err := a.readSecret("Password of " + k.User() + " at " + k.AuthURL() + ": ")
		if err != nil {
			return nil, err
		}
		k.SetPassword(secret)
	}
	t, err := k.Obtain(ctx, nil)
	if err != nil {
		return nil, err
	}
	if settings.Cloud == "" {
		settings = k.Settings(settings)
	}
	c.Auth, c.Token, c.Keystone, c.OIDC = contexts.AuthKeystone, "", &settings, nil
	return t, nil
}

func (a *app) oidcLogin(ctx context.Context, c *contexts.Context, l *loginFlags) (*login.Token, error) {
	settings := value(c.OIDC)
	if l.op.Issuer != "" {
		settings = l.op
	}
	if settings.Issuer == "" || settings.ClientID == "" {
		return nil, usagef("use --issuer and --client-id")
	}
	o := &login.OIDC{Settings: settings}
	show := func(url string) {
		printf(a.env.Stderr, "Open this address to log in:\n  %s\n", url)
		if a.env.OpenBrowser != nil && l.browser {
			a.env.OpenBrowser(url)
		}
	}
	var t *login.Token
	var err error
	if l.browser {
		t, err = o.Browser(ctx, show)
	} else {
		t, err = o.Device(ctx, func(url, code string) {
			show(url)
			printf(a.env.Stderr, "The code is %s. Waiting for the login ...\n", code)
		})
	}
	if err != nil {
		return nil, err
	}
	c.Auth, c.Token, c.Keystone, c.OIDC = contexts.AuthOIDC, "", nil, &settings
	return t, nil
}

// readSecret reads a line without showing it on a terminal.
func (a *app) readSecret(prompt string) (string, error) {
	read := func() (string, error) {
		line, err := bufio.NewReader(a.env.Stdin).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	}
	if a.env.Interactive && a.env.ReadSecret != nil {
		read = a.env.ReadSecret
		printf(a.env.Stderr, "%s", prompt)
	}
	secret, err := read()
	if err != nil {
		return "", err
	}
	if secret = strings.TrimSpace(secret); secret == "" {
		return "", usagef("nothing was entered")
	}
	return secret, nil
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Forget the token of a context",
		Long: "Forget the token of a context. The token stays valid at the server until it expires or is revoked.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.updateContexts(cmd.Context(), func(f *contexts.File) error {
				name := cmp.Or(a.flags.context, a.env.get("GYBE_CONTEXT"), f.Current)
				c := f.Contexts[name]
				if c == nil {
					return noContext(name)
				}
				return a.forget(name, c)
			})
		},
	}
}

// forget removes the token of a context.
func (a *app) forget(name string, c *contexts.Context) error {
	if slices.Contains([]string{contexts.AuthKeystone, contexts.AuthOIDC}, c.Auth) {
		return a.contextCache(name, c).Remove()
	}
	c.Auth, c.Token = "", ""
	return nil
}

// absolute is a path that is valid in every directory; "" stays.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}
