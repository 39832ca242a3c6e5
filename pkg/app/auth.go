package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/config"
)

// CheckAuth returns the errors in the settings of authentication, and in the files that they name. It connects to
// nothing.
func CheckAuth(cfg config.Config) error {
	_, err := newAuth(cfg, slog.New(slog.DiscardHandler), nil)
	return err
}

// newAuth makes the Authenticator that the configuration asks for.
func newAuth(cfg config.Config, log *slog.Logger, observe func(mode, reason string)) (*auth.Authenticator, error) {
	set := cfg.Auth
	opts := auth.Options{Log: log, Observe: observe, None: cfg.Open()}
	if set.Tokens.File != "" {
		opts.Tokens = &auth.TokenOptions{File: set.Tokens.File}
	}
	remote := auth.RemoteOptions{
		Keep: set.CacheTime, Checks: set.MaxChecks, Failures: set.MaxFailures, Timeout: set.CheckTimeout,
	}
	if set.Keystone.URL != "" || set.Keystone.Cloud != "" {
		k, err := keystoneOptions(set.Keystone)
		if err != nil {
			return nil, fmt.Errorf("auth.keystone: %w", err)
		}
		k.Remote = remote
		opts.Keystone = k
	}
	if set.OIDC.Issuer != "" {
		o, err := oidcOptions(set.OIDC)
		if err != nil {
			return nil, fmt.Errorf("auth.oidc: %w", err)
		}
		o.Remote = remote
		opts.OIDC = o
	}
	if c := set.Certificates; c.CAFile != "" {
		opts.Certificates = &auth.CertificateOptions{CAFile: c.CAFile, CRLFile: c.CRLFile, MapFile: c.MapFile}
	}
	a, err := auth.New(opts)
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	return a, nil
}

func keystoneOptions(set config.AuthKeystone) (*auth.KeystoneOptions, error) {
	roles, err := auth.ParseRoles(set.Roles)
	if err != nil {
		return nil, fmt.Errorf("roles: %w", err)
	}
	password, err := secretOf(set.Password, set.PasswordFile)
	if err != nil {
		return nil, err
	}
	key, err := secretOf(set.ApplicationCredentialSecret, set.ApplicationCredentialSecretFile)
	if err != nil {
		return nil, err
	}
	return &auth.KeystoneOptions{Roles: roles, Login: auth.KeystoneLogin{
		URL: set.URL, CAFile: set.CAFile, Username: set.Username, Password: password, UserDomain: set.UserDomain,
		Project: set.Project, ProjectDomain: set.ProjectDomain, AppCredentialID: set.ApplicationCredentialID,
		AppCredentialKey: key, CloudsFile: set.CloudsFile, Cloud: set.Cloud,
	}}, nil
}

func oidcOptions(set config.AuthOIDC) (*auth.OIDCOptions, error) {
	roles, err := auth.ParseRoles(set.Roles)
	if err != nil {
		return nil, fmt.Errorf("roles: %w", err)
	}
	secret, err := secretOf(set.ClientSecret, set.ClientSecretFile)
	if err != nil {
		return nil, err
	}
	return &auth.OIDCOptions{
		Issuer: set.Issuer, CAFile: set.CAFile, Audience: set.Audience, Algorithms: set.Algorithms,
		ClockSkew: set.ClockSkew, ClientID: set.ClientID, ClientSecret: secret, Scopes: set.Scopes,
		Introspect: set.Introspection,
		Claims: auth.ClaimOptions{
			Subject: set.SubjectClaim, Project: set.ProjectClaim, DefaultProject: set.DefaultProject,
			Role: set.RoleClaim, Roles: roles,
		},
	}, nil
}

// secretOf returns a secret that is a setting or the content of a file, without the line break at its end.
func secretOf(value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	raw = bytes.TrimRight(raw, "\r\n")
	if len(raw) == 0 {
		return "", fmt.Errorf("%s is empty", file)
	}
	return string(raw), nil
}
