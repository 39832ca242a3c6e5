package cli_test

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

const root = "../../../"

// documents are the texts that operators and users read, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"README.md", "SECURITY.md", "docs/*.md", "docs/how-to/*.md"} {
		files, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			out[file] = string(raw)
		}
	}
	return out
}

var (
	commandLine = regexp.MustCompile(`(?m)^ *(?:\$ )?(?:export [A-Z_]+=\$\()?gybe ([a-z].*)$`)
	commandName = regexp.MustCompile("`gybe ([a-z][^`]*)`")
	// after ends the part of a line that gybe sees.
	after  = regexp.MustCompile(`\s(?:#|&&|[|<>]\s).*$`)
	number = regexp.MustCompile(`\bN\b`)
	quoted = regexp.MustCompile(`"[^"]*"|\$\([^)]*\)|<[^>]*>`)
	usage  = regexp.MustCompile(`(?m)^Usage:\n  gybe((?: [a-z][a-z-]*)*)`)
)

// TestDocumentedCommandsExist: each command line in a document names a command of gybe with flags that it has.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	u, checked := newUser(t), 0
	for file, text := range documents(t) {
		for _, m := range slices.Concat(commandLine.FindAllStringSubmatch(text, -1),
			commandName.FindAllStringSubmatch(text, -1)) {
			line := quoted.ReplaceAllString(m[1], "X")
			line = strings.Trim(after.ReplaceAllString(line, ""), " )")
			words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(number.ReplaceAllString(line, "1")))
			if slices.Contains(words, "help") {
				continue // a topic
			}
			code, out, errs := u.gybe("", append(words, "--help")...)
			require.Equal(t, 0, code, "%s: gybe %s: %s", file, m[1], errs)
			found := usage.FindStringSubmatch(out)
			require.NotNil(t, found, "%s: gybe %s: %s", file, m[1], out)
			path := strings.Fields(found[1])
			require.Equal(t, path, words[:min(len(path), len(words))], "%s: gybe %s", file, m[1])
			if strings.Contains(out, "Available Commands:") {
				require.Len(t, words, len(path), "%s: gybe %s is not a command", file, m[1])
			}
			checked++
		}
	}
	require.Greater(t, checked, 60)
}

// TestDocumentedSettingsExist: docs/security.md names settings that a configuration can have.
func TestDocumentedSettingsExist(t *testing.T) {
	t.Parallel()
	keys := config.Keys()
	sections := map[string]bool{}
	for _, k := range keys {
		if section, _, ok := strings.Cut(k, "."); ok {
			sections[section] = true
		}
	}
	checked := 0
	name := regexp.MustCompile("`([a-z_]+)((?:\\.[a-z_]+)+)(?:: [^`]*)?`")
	for _, m := range name.FindAllStringSubmatch(documents(t)[root+"docs/security.md"], -1) {
		if key := m[1] + m[2]; sections[m[1]] {
			require.True(t, slices.ContainsFunc(keys, func(k string) bool {
				return k == key || strings.HasPrefix(k, key+".")
			}), "%s is not a setting", key)
			checked++
		}
	}
	require.Greater(t, checked, 40)
}

// TestDocumentedConfigurations: gybe config check accepts the configurations in docs/security.md, with the files that
// they name.
func TestDocumentedConfigurations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t)
	for _, name := range []string{"tls.crt", "keystone-ca.pem", "client-ca.pem"} {
		require.NoError(t, os.Link(cert, filepath.Join(dir, name)))
	}
	require.NoError(t, os.Link(key, filepath.Join(dir, "tls.key")))
	for name, text := range map[string]string{
		"keystone-password": "word\n", "client-map": "admin default cn:nfvo.example.com\n",
		"client-crl.pem": revocations(t, cert, key),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	u, checked := newUser(t, "GYBE_DATABASE_URL=postgres://h/db"), 0
	for _, block := range strings.Split(documents(t)[root+"docs/security.md"], "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.Contains(block, "derived_from:") {
			continue // of a VNFD
		}
		file := filepath.Join(dir, "gybe.yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(block, "/etc/gybe", dir)), 0o600))
		require.Contains(t, u.ok("", "config", "check", file), "the configuration is valid", block)
		cfg, _, err := config.Load(config.Source{File: file, Set: []string{"database_url=postgres://h/db"}})
		require.NoError(t, err)
		require.False(t, cfg.Open(), block)
		checked++
	}
	require.Equal(t, 4, checked)
}

// revocations makes an empty revocation list of the authority in a file.
func revocations(t *testing.T, cert, key string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)

	signer, ok := pair.PrivateKey.(crypto.Signer)
	require.True(t, ok)
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour),
	}, pair.Leaf, signer)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}
