package config

import (
	"net"
	"net/url"
	"time"
)

// NFVO is the NFVO that this VNFM works for. Without a URL, operations are granted locally (grant.zones).
type NFVO struct {
	// URL is the base of the NFVO's interfaces, such as https://nfvo.example.com; that of grants is below it, at
	// /grant/v1.
	URL string `yaml:"url" env:"URL"`
	// Grants lets the NFVO grant operations.
	Grants bool `yaml:"grants" env:"GRANTS"`
	// Packages brings a package that is not onboarded from the NFVO when a request names its vnfdId.
	Packages bool `yaml:"packages" env:"PACKAGES"`
	// CAFile has authorities that are trusted beside those of the system.
	CAFile string `yaml:"ca_file" env:"CA_FILE"`
	// CertFile and KeyFile are the client certificate for the NFVO and for OAuth 2.0 without a secret. They are read
	// again for every connection.
	CertFile string `yaml:"cert_file" env:"CERT_FILE"`
	KeyFile  string `yaml:"key_file" env:"KEY_FILE"`
	// TokenFile has a bearer token; Username and PasswordFile are for HTTP Basic. Files of secrets are read for every
	// request.
	TokenFile    string     `yaml:"token_file" env:"TOKEN_FILE"`
	Username     string     `yaml:"username" env:"USERNAME"`
	PasswordFile string     `yaml:"password_file" env:"PASSWORD_FILE"`
	OAuth2       NFVOOAuth2 `yaml:"oauth2" envPrefix:"OAUTH2_"`
	// RequestTimeout bounds a request with its answer.
	RequestTimeout time.Duration `yaml:"request_timeout" env:"REQUEST_TIMEOUT"`
	// Poll is the longest time between two looks at a pending grant, unless the NFVO says when to look again.
	Poll time.Duration `yaml:"poll" env:"POLL"`
	// RetryBase and RetryMax are the first and the longest time between tries of an NFVO that does not answer.
	RetryBase time.Duration `yaml:"retry_base" env:"RETRY_BASE"`
	RetryMax  time.Duration `yaml:"retry_max" env:"RETRY_MAX"`
}

// NFVOOAuth2 is the login with OAuth 2.0 client credentials.
type NFVOOAuth2 struct {
	TokenURL string `yaml:"token_url" env:"TOKEN_URL"`
	ClientID string `yaml:"client_id" env:"CLIENT_ID"`
	// ClientSecretFile has the secret; without it the client certificate authenticates (RFC 8705).
	ClientSecretFile string   `yaml:"client_secret_file" env:"CLIENT_SECRET_FILE"`
	Scopes           []string `yaml:"scopes" env:"SCOPES"`
}

func defaultNFVO() NFVO {
	return NFVO{
		Grants: true, RequestTimeout: 10 * time.Second, Poll: 10 * time.Second,
		RetryBase: time.Second, RetryMax: 30 * time.Second, OAuth2: NFVOOAuth2{Scopes: []string{}},
	}
}

// Grantor says whether an NFVO grants operations.
func (n *NFVO) Grantor() bool { return n.URL != "" && n.Grants }

func (c *Config) validateNFVO(report report) {
	n := c.NFVO
	if n.URL == "" {
		for _, s := range []struct{ key, value string }{
			{"nfvo.token_file", n.TokenFile},
			{"nfvo.username", n.Username},
			{"nfvo.oauth2.token_url", n.OAuth2.TokenURL},
			{"nfvo.cert_file", n.CertFile},
			{"nfvo.ca_file", n.CAFile},
		} {
			if s.value != "" {
				report(s.key, "is set, but nfvo.url is not")
			}
		}
		return
	}
	checkLogin(report, "nfvo.url", n.URL, n.TokenFile != "" || n.Username != "" || n.OAuth2.TokenURL != "")
	if (n.CertFile == "") != (n.KeyFile == "") {
		report("nfvo.cert_file", "and nfvo.key_file are needed together")
	}
	checkReadable(report, "nfvo.ca_file", n.CAFile, false)
	checkReadable(report, "nfvo.cert_file", n.CertFile, false)
	checkReadable(report, "nfvo.key_file", n.KeyFile, false)
	n.validateLogin(report)
}

func (n *NFVO) validateLogin(report report) {
	kinds := 0
	for _, set := range []string{n.TokenFile, n.Username, n.OAuth2.TokenURL} {
		if set != "" {
			kinds++
		}
	}
	if kinds > 1 {
		report("nfvo", "has several logins; keep one of token_file, username and oauth2")
	}
	checkReadable(report, "nfvo.token_file", n.TokenFile, false)
	if (n.Username == "") != (n.PasswordFile == "") {
		report("nfvo.username", "and nfvo.password_file are needed together")
	}
	checkReadable(report, "nfvo.password_file", n.PasswordFile, false)
	o := n.OAuth2
	if o.TokenURL == "" {
		if o.ClientID != "" || o.ClientSecretFile != "" {
			report("nfvo.oauth2.token_url", "is not set, but other settings of nfvo.oauth2 are")
		}
		return
	}
	checkLogin(report, "nfvo.oauth2.token_url", o.TokenURL, true)
	if o.ClientID == "" {
		report("nfvo.oauth2.client_id", "is not set, but nfvo.oauth2.token_url is")
	}
	if o.ClientSecretFile == "" && n.CertFile == "" {
		report("nfvo.oauth2.client_secret_file", "is not set, and nfvo.cert_file neither")
	}
	checkReadable(report, "nfvo.oauth2.client_secret_file", o.ClientSecretFile, false)
}

// checkLogin checks the address of a server; credentials go to it over https only, or to this machine.
func checkLogin(report report, key, address string, credentials bool) {
	if err := checkHTTP(address); err != nil {
		report(key, "%w", err)
		return
	}
	u, _ := url.Parse(address)
	if credentials && u.Scheme == "http" && !isLoopback(net.JoinHostPort(u.Hostname(), "80")) {
		report(key, "is http, and would carry credentials that others on the way can read; use https")
	}
}
