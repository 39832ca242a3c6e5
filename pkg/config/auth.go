package config

import (
	"os"
	"strings"
)

// Auth configures the authentication of requests (docs/security.md). Modes can be combined. Without a mode, the API is
// open to every client, so it has to listen on a loopback address.
type Auth struct {
	// None accepts every request as an administrator, on any address: for a node that only an authenticating proxy
	// reaches. It excludes all modes.
	None   bool       `yaml:"none" env:"NONE"`
	Tokens AuthTokens `yaml:"tokens" envPrefix:"TOKENS_"`
}

// AuthTokens enables static tokens.
type AuthTokens struct {
	// File of the tokens, which "gybe token" edits; all nodes of one database need the same. It may be created later.
	File string `yaml:"file" env:"FILE"`
}

// modes lists the settings that enable a mode of authentication, and whether they are set.
func (a *Auth) modes() (all, set []string) {
	for _, m := range []struct {
		key   string
		value string
	}{
		{"auth.tokens.file", a.Tokens.File},
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
