package config

import (
	"fmt"
	"net/url"
	"regexp"

	"go.yaml.in/yaml/v4"
)

// masked stands for a secret in printed configurations.
const masked = "xxxxx" // as url.URL.Redacted writes it

// keyPassword finds the password in a key=value connection string.
var keyPassword = regexp.MustCompile(`(?i)\b((?:ssl)?password)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)`)

// Masked returns a copy without secrets, which can be shown and logged.
func (c Config) Masked() Config {
	c.DatabaseURL = MaskURL(c.DatabaseURL)
	for _, s := range c.Auth.secrets() {
		if *s != "" {
			*s = masked
		}
	}
	return c
}

// YAML writes the configuration as a file that Load reads. It does not mask secrets; see Masked.
func (c Config) YAML() ([]byte, error) {
	out, err := yaml.Dump(c)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return out, nil
}

// MaskURL hides the password of a connection string, a URL or key=value pairs. An invalid URL is hidden as a whole.
func MaskURL(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil {
		return masked
	}
	if u.Scheme == "" {
		return keyPassword.ReplaceAllString(s, "$1="+masked)
	}
	q := u.Query()
	for name := range q {
		if keyPassword.MatchString(name + "=x") {
			q.Set(name, masked)
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}
