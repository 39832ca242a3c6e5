// Package contexts keeps the servers that the command line knows: how to reach each, and how to log in.
package contexts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"
)

// Ways to log in.
const (
	AuthToken    = "token"    // the token of the context
	AuthKeystone = "keystone" // a token of Keystone
	AuthOIDC     = "oidc"     // a token of an OpenID provider
)

// File is the content of the file.
type File struct {
	// Current is the context that is used when none is named.
	Current  string              `yaml:"current,omitempty" json:"current,omitempty"`
	Contexts map[string]*Context `yaml:"contexts,omitempty" json:"contexts,omitempty"`
}

// Context is a server.
type Context struct {
	Endpoint string `yaml:"endpoint" json:"endpoint"`
	CACert   string `yaml:"cacert,omitempty" json:"cacert,omitempty"` // file with the authorities to trust
	Cert     string `yaml:"cert,omitempty" json:"cert,omitempty"`     // files of the client certificate
	Key      string `yaml:"key,omitempty" json:"key,omitempty"`
	Insecure bool   `yaml:"insecure,omitempty" json:"insecure,omitempty"`
	// Auth is the way to log in; empty is none, or the client certificate.
	Auth     string    `yaml:"auth,omitempty" json:"auth,omitempty"`
	Token    string    `yaml:"token,omitempty" json:"-"` // with AuthToken
	Keystone *Keystone `yaml:"keystone,omitempty" json:"keystone,omitempty"`
	OIDC     *OIDC     `yaml:"oidc,omitempty" json:"oidc,omitempty"`
}

// Keystone is a login to Keystone, without its secret.
type Keystone struct {
	Cloud         string `yaml:"cloud,omitempty" json:"cloud,omitempty"` // of clouds.yaml; instead of the others
	AuthURL       string `yaml:"auth_url,omitempty" json:"auth_url,omitempty"`
	Username      string `yaml:"username,omitempty" json:"username,omitempty"`
	UserID        string `yaml:"user_id,omitempty" json:"user_id,omitempty"`
	UserDomain    string `yaml:"user_domain,omitempty" json:"user_domain,omitempty"`
	UserDomainID  string `yaml:"user_domain_id,omitempty" json:"user_domain_id,omitempty"`
	ProjectID     string `yaml:"project_id,omitempty" json:"project_id,omitempty"`
	Project       string `yaml:"project,omitempty" json:"project,omitempty"`
	ProjectDomain string `yaml:"project_domain,omitempty" json:"project_domain,omitempty"`
	// ProjectDomainID is instead of ProjectDomain, as UserDomainID is of UserDomain.
	ProjectDomainID string `yaml:"project_domain_id,omitempty" json:"project_domain_id,omitempty"`
	CACert          string `yaml:"cacert,omitempty" json:"cacert,omitempty"`
	// ApplicationCredential is the id of one.
	ApplicationCredential string `yaml:"application_credential_id,omitempty" json:"application_credential_id,omitempty"`
}

// OIDC is a client of an OpenID provider.
type OIDC struct {
	Issuer   string   `yaml:"issuer" json:"issuer"`
	ClientID string   `yaml:"client_id" json:"client_id"`
	Scopes   []string `yaml:"scopes,omitempty" json:"scopes,omitempty"`
	// IDToken sends the ID token instead of the access token.
	IDToken bool `yaml:"id_token,omitempty" json:"id_token,omitempty"`
}

// Path is where the file is; "" if the environment names no home.
func Path(get func(string) string) string {
	if dir := get("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "gybe", "config.yaml")
	}
	if home := get("HOME"); home != "" {
		return filepath.Join(home, ".config", "gybe", "config.yaml")
	}
	return ""
}

// Load reads the file. One that does not exist is empty.
func Load(path string) (*File, error) {
	f := &File{Contexts: map[string]*Context{}}
	if path == "" {
		return f, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	dec, err := yaml.NewLoader(bytes.NewReader(raw), yaml.WithKnownFields())
	if err != nil {
		return nil, err
	}
	if err := dec.Load(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Contexts == nil {
		f.Contexts = map[string]*Context{}
	}
	for name, c := range f.Contexts {
		if c == nil {
			delete(f.Contexts, name)
		}
	}
	return f, nil
}

// Update changes the file. Other processes that change it at the same time wait, so no change is lost.
func Update(ctx context.Context, path string, change func(*File) error) error {
	if path == "" {
		return errors.New("there is no place for contexts: neither HOME nor XDG_CONFIG_HOME is set")
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the file that a link leads to is replaced, not the link
	}
	unlock, err := Lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := Load(path)
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	raw, err := yaml.Dump(f)
	if err != nil {
		return err
	}
	return WritePrivate(path, raw)
}
