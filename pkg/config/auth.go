package config

import (
	"fmt"
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
	// answered with 503. 0 is no limit, for nodes behind a proxy that has one.
	MaxFailures int `yaml:"max_failures" env:"MAX_FAILURES"`

	Tokens   AuthTokens   `yaml:"tokens" envPrefix:"TOKENS_"`
	Keystone AuthKeystone `yaml:"keystone" envPrefix:"KEYSTONE_"`
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

// defaultAuth has no mode.
func defaultAuth() Auth {
	return Auth{
		CacheTime: 5 * time.Minute, CheckTimeout: 5 * time.Second, MaxChecks: 16, MaxFailures: 100,
		Keystone: AuthKeystone{
			UserDomain: "Default", Project: "service", ProjectDomain: "Default",
			Roles: []string{"admin=admin", "member=operator", "reader=reader"},
		},
	}
}

// secrets are the settings that are not shown.
func (a *Auth) secrets() []*string {
	return []*string{&a.Keystone.Password, &a.Keystone.ApplicationCredentialSecret}
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
			"auth.keystone.clouds_file", "is also openstack.clouds_file, whose clouds clients can use; use another file",
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
