package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// Auth configures the authentication of requests (docs/security.md). Modes can be combined. Without a mode, the API is
// open to every client, so it has to listen on a loopback address.
type Auth struct {
	// None accepts every request as an administrator, on any address: for a node that only an authenticating proxy
	// reaches. It excludes all modes.
	None bool `yaml:"none" env:"NONE"`
	// CacheTime is how long the answer of Keystone or of the OpenID provider about a token is used, at most five
	// minutes. A revoked token, and a role that was taken away, are valid for so long.
	CacheTime time.Duration `yaml:"cache_time" env:"CACHE_TIME"`
	// CheckTimeout bounds one question to Keystone or the OpenID provider.
	CheckTimeout time.Duration `yaml:"check_timeout" env:"CHECK_TIMEOUT"`
	// MaxChecks bounds the questions at the same time. Requests with tokens that are not cached wait for a short time,
	// and are then answered with 503.
	MaxChecks int `yaml:"max_checks" env:"MAX_CHECKS"`
	// MaxFailures bounds the tokens that are rejected for one address in a minute; then tokens that are not cached are
	// answered with 429. 0 is no limit, for nodes behind a proxy that has one.
	MaxFailures int `yaml:"max_failures" env:"MAX_FAILURES"`

	Tokens       AuthTokens       `yaml:"tokens" envPrefix:"TOKENS_"`
	Keystone     AuthKeystone     `yaml:"keystone" envPrefix:"KEYSTONE_"`
	OIDC         AuthOIDC         `yaml:"oidc" envPrefix:"OIDC_"`
	Certificates AuthCertificates `yaml:"certificates" envPrefix:"CERTIFICATES_"`
}

// AuthTokens enables static tokens.
type AuthTokens struct {
	// File of the tokens, which "gybe token" edits; all nodes of one database need the same. It may be created later.
	File string `yaml:"file" env:"FILE"`
}

// AuthKeystone enables tokens of a Keystone. Gybe validates them with a login of its own: a password, an application
// credential, or a cloud of a clouds.yaml. The login needs the role service or admin in its project.
type AuthKeystone struct {
	URL    string `yaml:"url" env:"URL"`         // e.g. https://keystone.example.com:5000/v3
	CAFile string `yaml:"ca_file" env:"CA_FILE"` // authorities that are trusted beside the system's

	Username      string `yaml:"username" env:"USERNAME"`
	Password      string `yaml:"password" env:"PASSWORD"`
	PasswordFile  string `yaml:"password_file" env:"PASSWORD_FILE"`
	UserDomain    string `yaml:"user_domain" env:"USER_DOMAIN"`
	Project       string `yaml:"project" env:"PROJECT"`
	ProjectDomain string `yaml:"project_domain" env:"PROJECT_DOMAIN"`

	ApplicationCredentialID         string `yaml:"application_credential_id" env:"APPLICATION_CREDENTIAL_ID"`
	ApplicationCredentialSecret     string `yaml:"application_credential_secret" env:"APPLICATION_CREDENTIAL_SECRET"`
	ApplicationCredentialSecretFile string `yaml:"application_credential_secret_file" env:"APPLICATION_CREDENTIAL_SECRET_FILE"`

	// CloudsFile is a clouds.yaml with the cloud Cloud. It has to be another file than openstack.clouds_file: clients
	// can use the clouds of that one.
	CloudsFile string `yaml:"clouds_file" env:"CLOUDS_FILE"`
	Cloud      string `yaml:"cloud" env:"CLOUD"`

	// Roles gives a role for each role of Keystone, name=role; the strongest counts. The project of a request is the id
	// of the token's project.
	Roles []string `yaml:"roles" env:"ROLES"`
}

// AuthOIDC enables bearer tokens of an OpenID provider (OAuth 2.0).
type AuthOIDC struct {
	// Issuer is the URL of the provider, exactly as in the claim iss of its tokens. It has to be https, except on a
	// loopback address.
	Issuer string `yaml:"issuer" env:"ISSUER"`
	CAFile string `yaml:"ca_file" env:"CA_FILE"` // authorities that are trusted beside the system's
	// Audience has to be in the claim aud.
	Audience string `yaml:"audience" env:"AUDIENCE"`
	// Algorithms of signatures that are accepted; empty means all asymmetric ones.
	Algorithms []string `yaml:"algorithms" env:"ALGORITHMS"`
	// ClockSkew is how long a token is accepted after its expiry.
	ClockSkew time.Duration `yaml:"clock_skew" env:"CLOCK_SKEW"`

	// Names of claims; dots lead into objects, as in realm_access.roles.
	SubjectClaim string `yaml:"subject_claim" env:"SUBJECT_CLAIM"` // sub is used if it is absent
	ProjectClaim string `yaml:"project_claim" env:"PROJECT_CLAIM"`
	RoleClaim    string `yaml:"role_claim" env:"ROLE_CLAIM"` // a list, or words
	// DefaultProject is the project of tokens without the claim; empty means that they are rejected.
	DefaultProject string `yaml:"default_project" env:"DEFAULT_PROJECT"`
	// Roles gives a role for each name in the role claim, name=role; the strongest counts.
	Roles []string `yaml:"roles" env:"ROLES"`

	// ClientID and ClientSecret are those of Gybe at the provider, for introspection and for logins at the console.
	ClientID         string `yaml:"client_id" env:"CLIENT_ID"`
	ClientSecret     string `yaml:"client_secret" env:"CLIENT_SECRET"`
	ClientSecretFile string `yaml:"client_secret_file" env:"CLIENT_SECRET_FILE"`
	// Scopes that logins at the console ask for, beside openid.
	Scopes []string `yaml:"scopes" env:"SCOPES"`
	// Introspection asks the provider about tokens that are not JWTs (RFC 7662).
	Introspection bool `yaml:"introspection" env:"INTROSPECTION"`
}

// AuthCertificates enables TLS client certificates. The files are read again when they change.
type AuthCertificates struct {
	CAFile  string `yaml:"ca_file" env:"CA_FILE"`   // authorities of clients
	CRLFile string `yaml:"crl_file" env:"CRL_FILE"` // their revocation lists; may be empty
	// MapFile gives roles in projects to names of certificates, a rule a line: "operator default cn:nfvo.example.com".
	MapFile string `yaml:"map_file" env:"MAP_FILE"`
}

// defaultAuth has no mode.
func defaultAuth() Auth {
	return Auth{
		CacheTime: 5 * time.Minute, CheckTimeout: 5 * time.Second, MaxChecks: 16, MaxFailures: 100,
		Keystone: AuthKeystone{
			UserDomain: "Default", Project: "service", ProjectDomain: "Default",
			Roles: []string{"admin=admin", "member=operator", "reader=reader"},
		},
		OIDC: AuthOIDC{
			Algorithms: []string{}, ClockSkew: 30 * time.Second,
			SubjectClaim: "preferred_username", ProjectClaim: "project", RoleClaim: "roles",
			Roles: []string{"admin=admin", "operator=operator", "reader=reader"}, Scopes: []string{"profile"},
		},
	}
}

// secrets are the settings that are not shown.
func (a *Auth) secrets() []*string {
	return []*string{&a.Keystone.Password, &a.Keystone.ApplicationCredentialSecret, &a.OIDC.ClientSecret}
}

// modes lists the settings that enable a mode of authentication, and whether they are set.
func (a *Auth) modes() (all, set []string) {
	for _, m := range []struct {
		key   string
		value string
	}{
		{"auth.tokens.file", a.Tokens.File},
		{"auth.keystone.url", a.Keystone.URL},
		{"auth.keystone.cloud", a.Keystone.Cloud},
		{"auth.oidc.issuer", a.OIDC.Issuer},
		{"auth.certificates.ca_file", a.Certificates.CAFile},
	} {
		all = append(all, m.key)
		if m.value != "" {
			set = append(set, m.key)
		}
	}
	return all, set
}

// Open says whether the node accepts requests without credentials.
func (c *Config) Open() bool {
	_, set := c.Auth.modes()
	return len(set) == 0
}

// Exposed says whether clients of other machines can reach a node that accepts requests without credentials.
func (c *Config) Exposed() bool { return c.Open() && !isLoopback(c.Listen) }

func (c *Config) validateAuth(report report) {
	all, set := c.Auth.modes()
	switch {
	case c.Auth.None && len(set) > 0:
		report("auth.none", "is true, but %s is set, too; remove one of them", strings.Join(set, ", "))
	case c.Exposed() && !c.Auth.None && checkHostPort(c.Listen) == nil:
		report("auth", "no mode of authentication is set, and listen (%s) is not a loopback address: every client "+
			"of the network would be an administrator; set one or more of %s, or listen on 127.0.0.1, or set "+
			"auth.none to true if only an authenticating proxy reaches this address",
			c.Listen, strings.Join(all, ", "))
	}
	checkReadable(report, "auth.tokens.file", c.Auth.Tokens.File, true)
	c.validateKeystone(report)
	if c.Auth.OIDC.Issuer != "" {
		c.Auth.OIDC.validate(report)
	}
	if c.Auth.Certificates.CAFile != "" {
		c.validateCertificates(report)
	}
}

func (o *AuthOIDC) validate(report report) {
	if err := checkHTTP(o.Issuer); err != nil {
		report("auth.oidc.issuer", "%w", err)
	} else if u, _ := url.Parse(o.Issuer); u.Scheme == "http" && !isLoopback(net.JoinHostPort(u.Hostname(), "80")) {
		report("auth.oidc.issuer", "is http: the keys that sign tokens could be replaced on the way; use https")
	}
	if o.Audience == "" {
		report("auth.oidc.audience", "is not set, but auth.oidc.issuer is; without it, tokens for other servers would "+
			"be accepted")
	}
	if o.RoleClaim == "" {
		report("auth.oidc.role_claim", "is not set, so no token would have a role")
	}
	if o.ProjectClaim == "" && o.DefaultProject == "" {
		report("auth.oidc.project_claim", "is not set, and auth.oidc.default_project neither")
	}
	if o.Introspection && (o.ClientID == "" || o.ClientSecret == "" && o.ClientSecretFile == "") {
		report("auth.oidc.introspection", "needs client_id and client_secret_file")
	}
	checkReadable(report, "auth.oidc.ca_file", o.CAFile, false)
	checkSecret(report, "auth.oidc.client_secret", o.ClientSecret, o.ClientSecretFile)
}

func (c *Config) validateCertificates(report report) {
	set := c.Auth.Certificates
	if c.TLS.CertFile == "" {
		report("auth.certificates.ca_file", "is set, but tls.cert_file is not: clients send certificates only over TLS")
	}
	if set.MapFile == "" {
		report("auth.certificates.map_file", "is not set, so no certificate would have a role")
	}
	checkReadable(report, "auth.certificates.ca_file", set.CAFile, false)
	checkReadable(report, "auth.certificates.crl_file", set.CRLFile, false)
	checkReadable(report, "auth.certificates.map_file", set.MapFile, false)
}

func (c *Config) validateKeystone(report report) {
	k := c.Auth.Keystone
	if k.URL != "" {
		if err := checkHTTP(k.URL); err != nil {
			report("auth.keystone.url", "%w", err)
		}
	}
	checkReadable(report, "auth.keystone.ca_file", k.CAFile, false)
	checkReadable(report, "auth.keystone.clouds_file", k.CloudsFile, false)
	checkSecret(report, "auth.keystone.password", k.Password, k.PasswordFile)
	checkSecret(report, "auth.keystone.application_credential_secret", k.ApplicationCredentialSecret,
		k.ApplicationCredentialSecretFile)
	if k.Cloud != "" {
		c.validateCloud(report)
	} else if k.URL != "" {
		k.validateLogin(report)
	}
}

// validateCloud checks a login of a clouds.yaml.
func (c *Config) validateCloud(report report) {
	k := c.Auth.Keystone
	switch {
	case k.URL != "" || k.Username != "" || k.ApplicationCredentialID != "":
		report("auth.keystone.cloud", "cannot be combined with url, username or application_credential_id")
	case k.CloudsFile == "":
		report("auth.keystone.clouds_file", "is not set, but auth.keystone.cloud is")
	case k.CloudsFile == c.OpenStack.CloudsFile:
		report(
			"auth.keystone.clouds_file",
			"is also openstack.clouds_file, whose clouds clients can use; use another file",
		)
	}
}

// validateLogin checks a login that is in the settings.
func (k *AuthKeystone) validateLogin(report report) {
	password, application := k.Username != "", k.ApplicationCredentialID != ""
	switch {
	case password == application:
		report("auth.keystone", "needs the login of the service: either username and password_file, or "+
			"application_credential_id and application_credential_secret_file")
	case password && k.Password == "" && k.PasswordFile == "":
		report("auth.keystone.password_file", "is not set, but auth.keystone.username is")
	case application && k.ApplicationCredentialSecret == "" && k.ApplicationCredentialSecretFile == "":
		report("auth.keystone.application_credential_secret_file", "is not set, but application_credential_id is")
	}
}

// checkSecret reports a secret that is given twice, or whose file cannot be read.
func checkSecret(report report, key, value, file string) {
	if value != "" && file != "" {
		report(key, "cannot be combined with %s_file", key)
	}
	checkReadable(report, key+"_file", file, false)
}

// checkHTTP accepts addresses of servers.
func checkHTTP(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("%q is not http://host… or https://host…, without credentials and query", s)
	}
	return nil
}

// checkReadable reports a file that cannot be read; empty is not set.
func checkReadable(report report, key, path string, later bool) {
	if path == "" {
		return
	}
	f, err := os.Open(path)
	if os.IsNotExist(err) && later {
		return
	}
	if err != nil {
		report(key, "%w", err)
		return
	}
	defer func() { _ = f.Close() }() // only opened
	if info, err := f.Stat(); err == nil && info.IsDir() {
		report(key, "%s is a directory", path)
	}
}
