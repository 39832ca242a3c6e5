package auth_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// FuzzCredentials: a request is accepted only as one of the users whose tokens exist, and an error does not quote the
// credentials.
func FuzzCredentials(f *testing.F) {
	p := newProvider(f)
	file := filepath.Join(f.TempDir(), "tokens")
	static, entry, err := auth.NewToken("ci", "red", lcm.RoleReader, time.Time{}, time.Now())
	require.NoError(f, err)
	require.NoError(f, auth.AddToken(file, entry))
	opts := p.options(newClock())
	opts.Remote.Failures = 1 << 30 // the fuzzer fails more often than a client may
	w := newWorld(f, auth.Options{Tokens: &auth.TokenOptions{File: file}, OIDC: opts})
	jwt := p.sign(p.claims(nil))
	for _, scheme := range []string{"Bearer ", "bearer  ", "Basic ", ""} {
		for _, secret := range []string{
			jwt, static, "", "opaque", jwt[:len(jwt)-1], jwt + "=", static[:len(static)-1], "gybe_", "ey..", "a b",
			unsigned(f, map[string]any{"alg": "none"}, p.claims(nil), nil), p.confused(p.claims(nil)),
			p.sign(p.claims(map[string]any{"exp": 1})), p.sign(p.claims(map[string]any{"aud": "other"})),
		} {
			f.Add(false, scheme+secret, "")
			f.Add(true, secret, scheme)
		}
	}
	f.Fuzz(func(t *testing.T, token bool, value, more string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		name := "Authorization"
		if token {
			name = "X-Auth-Token"
		}
		r.Header[name] = []string{value}
		if more != "" {
			r.Header["Authorization"] = append(r.Header["Authorization"], more)
		}
		got, err := w.Authenticate(r)
		if err == nil {
			require.Contains(t, []string{"ci", "alice"}, got.Subject)
			require.Contains(t, []string{"red", "p1"}, got.Project)
			return
		}
		require.Zero(t, got)
		e := lcm.AsError(err)
		require.Contains(t, []lcm.Code{
			lcm.CodeInvalid, lcm.CodeUnauthorized, lcm.CodeForbidden, lcm.CodeUnavailable, lcm.CodeTooMany,
		}, e.Code)
		for part := range strings.FieldsSeq(value) {
			if len(part) > 40 { // shorter parts can be words of our own texts
				require.NotContains(t, err.Error()+e.Hint, part)
			}
		}
	})
}

// FuzzTokenFile: whatever a line has, the tokens of the others are read, and those that are read can be written.
func FuzzTokenFile(f *testing.F) {
	_, entry, err := auth.NewToken("ci", "red", lcm.RoleReader, time.Now().Add(time.Hour), time.Now())
	require.NoError(f, err)
	dir := f.TempDir()
	good := filepath.Join(dir, "good")
	require.NoError(f, auth.AddToken(good, entry))
	text, err := os.ReadFile(good)
	require.NoError(f, err)
	f.Add(string(text))
	for _, line := range []string{"", "#", "a b c", strings.Repeat("x ", 7), "\x00", strings.Repeat("é", 70_000)} {
		f.Add(line)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n")
	own := lines[len(lines)-1]
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, entry.ID) || strings.ContainsAny(line, "\n\r") {
			return // it takes the token away, as it should
		}
		path := filepath.Join(t.TempDir(), "tokens")
		require.NoError(t, os.WriteFile(path, []byte(own+"\n"+line+"\n"), 0o600))
		tokens, err := auth.ReadTokens(path)
		if len(line) < 4096 {
			require.NotEmpty(t, tokens, "%v", err)
			require.Equal(t, entry.ID, tokens[0].ID)
		}
		if err == nil && len(tokens) == 2 {
			again := filepath.Join(t.TempDir(), "tokens")
			require.NoError(t, auth.AddToken(again, tokens[1]))
			read, err := auth.ReadTokens(again)
			require.NoError(t, err)
			require.Equal(t, tokens[1:], read)
		}
	})
}

// FuzzCertificateRules: a rule that is accepted has a role and a name.
func FuzzCertificateRules(f *testing.F) {
	for _, line := range []string{
		"admin default cn:nfvo.example.com", "operator red uri:spiffe://example.com/*", "reader * o:x", "admin  a b:c",
		"admin default cn:*", "# comment", "", "admin default", "reader red dns:\x00",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		path := filepath.Join(t.TempDir(), "map")
		require.NoError(t, os.WriteFile(path, []byte(line), 0o600))
		rules, _ := auth.ReadCertificateRules(path) // a rule or an error for each line
		for _, r := range rules {
			require.Contains(t, lcm.Roles, r.Role)
			require.NotEmpty(t, r.Project)
			require.NotEmpty(t, r.Name)
		}
	})
}
