package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("geheim\n"), 0o600))
	password := []string{
		"auth.keystone.url=https://k:5000/v3", "auth.keystone.username=gybe", "auth.keystone.password_file=" + secret,
	}
	for name, tt := range map[string]struct {
		set  []string
		want string // part of the error; empty if the settings are valid
	}{
		"open on loopback":          {[]string{"listen=127.0.0.1:1"}, ""},
		"open on IPv6 loopback":     {[]string{"listen=[::1]:1"}, ""},
		"open on localhost":         {[]string{"listen=localhost:1"}, ""},
		"open on all addresses":     {[]string{"listen=:1"}, "auth: no mode of authentication is set"},
		"open on an address":        {[]string{"listen=10.0.0.1:1"}, "set one or more of auth.tokens.file"},
		"open on a name":            {[]string{"listen=gybe.example.com:1"}, "is not a loopback address"},
		"open as the operator says": {[]string{"listen=:1", "auth.none=true"}, ""},
		"tokens":                    {[]string{"listen=:1", "auth.tokens.file=/does/not/exist/yet"}, ""},
		"tokens in a directory":     {[]string{"auth.tokens.file=" + t.TempDir()}, "auth.tokens.file: "},
		"none and tokens":           {[]string{"auth.none=true", "auth.tokens.file=x"}, "auth.none: is true, but"},
		"none and Keystone":         {append(password, "auth.none=true"), "auth.none: is true, but auth.keystone.url"},
		"Keystone with a password":  {append(password, "listen=:1"), ""},
		"Keystone with an application credential": {[]string{
			"auth.keystone.url=https://k:5000/v3", "auth.keystone.application_credential_id=1",
			"auth.keystone.application_credential_secret=x",
		}, ""},
		"Keystone without a login":    {password[:1], "auth.keystone: needs the login of the service"},
		"Keystone without a password": {password[:2], "auth.keystone.password_file: is not set"},
		"Keystone with two logins": {
			append(password, "auth.keystone.application_credential_id=1"), "auth.keystone: needs the login",
		},
		"password twice": {append(password, "auth.keystone.password=x"), "auth.keystone.password: cannot be combined"},
		"no such file":   {append(password, "auth.keystone.ca_file=/nope"), "auth.keystone.ca_file: open /nope"},
		"not a URL":      {append(password, "auth.keystone.url=keystone:5000"), "auth.keystone.url: "},
		"cloud without a file": {
			[]string{"auth.keystone.cloud=c"}, "auth.keystone.clouds_file: is not set, but auth.keystone.cloud is",
		},
		"cloud that clients can use": {
			[]string{
				"auth.keystone.cloud=c", "auth.keystone.clouds_file=" + secret, "openstack.clouds_file=" + secret,
			}, "whose clouds clients can use",
		},
		"OIDC":             {[]string{"listen=:1", "auth.oidc.issuer=https://i", "auth.oidc.audience=gybe"}, ""},
		"OIDC on loopback": {[]string{"auth.oidc.issuer=http://127.0.0.1:1/x", "auth.oidc.audience=gybe"}, ""},
		"OIDC over http": {
			[]string{"auth.oidc.issuer=http://i.example.com", "auth.oidc.audience=gybe"}, "auth.oidc.issuer: is http",
		},
		"OIDC without an audience": {[]string{"auth.oidc.issuer=https://i"}, "auth.oidc.audience: is not set"},
		"OIDC without a project": {
			[]string{"auth.oidc.issuer=https://i", "auth.oidc.audience=gybe", "auth.oidc.project_claim="},
			"auth.oidc.project_claim: is not set",
		},
		"introspection without a client": {
			[]string{"auth.oidc.issuer=https://i", "auth.oidc.audience=gybe", "auth.oidc.introspection=true"},
			"auth.oidc.introspection: needs client_id",
		},
		"certificates without TLS": {
			[]string{"auth.certificates.ca_file=" + secret, "auth.certificates.map_file=" + secret},
			"auth.certificates.ca_file: is set, but tls.cert_file is not",
		},
		"certificates without a map": {
			[]string{"auth.certificates.ca_file=" + secret}, "auth.certificates.map_file: is not set",
		},
		"long cache": {[]string{"auth.cache_time=6m"}, "auth.cache_time: 6m0s is not between 1s and 5m0s"},
		"no checks":  {[]string{"auth.max_checks=0"}, "auth.max_checks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, _, err := config.Load(config.Source{Set: append([]string{"database_url=" + database}, tt.set...)})
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				require.NotContains(t, err.Error(), "geheim")
				return
			}
			require.NoError(t, err)
			require.Equal(t, name == "open as the operator says", cfg.Exposed())
		})
	}
}

func TestSecretsOfAuthenticationAreNotPrinted(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Auth.Keystone.Password, cfg.Auth.Keystone.ApplicationCredentialSecret = "geheim1", "geheim2"
	cfg.Auth.OIDC.ClientSecret = "geheim3"
	out, err := cfg.Masked().YAML()
	require.NoError(t, err)
	require.NotContains(t, string(out), "geheim")
	require.Equal(t, "geheim1", cfg.Auth.Keystone.Password, "only the copy is masked")
}
