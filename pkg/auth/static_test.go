package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// addToken adds a token to a file and returns its secret.
func addToken(t *testing.T, file string, role lcm.Role, expires time.Time) (string, auth.Token) {
	t.Helper()
	secret, token, err := auth.NewToken("ci@example.com", "p1", role, expires, time.Now())
	require.NoError(t, err)
	require.NoError(t, auth.AddToken(file, token))
	return secret, token
}

func TestStaticTokenIsAcceptedInBothHeaders(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	secret, _ := addToken(t, file, lcm.RoleOperator, time.Time{})
	w := newWorld(t, auth.Options{Tokens: &auth.TokenOptions{File: file}})

	want := lcm.Principal{Subject: "ci@example.com", Project: "p1", Role: lcm.RoleOperator, Mode: auth.ModeToken}
	require.Equal(t, want, w.accepted(t, bearer(t, secret)))
	require.Equal(t, want, w.accepted(t, xAuth(t, secret)))
	require.Equal(t, want, w.accepted(t, request(t, "Authorization", "bearer  "+secret)))

	p, err := w.AuthenticateCredential(t.Context(), auth.Credential{Kind: auth.KindBearer, Secret: secret}, "")
	require.NoError(t, err)
	require.Equal(t, want, p)
}

func TestStaticTokenThatIsNotValidIsRejectedAndNotLogged(t *testing.T) {
	t.Parallel()
	clock, file := newClock(), filepath.Join(t.TempDir(), "tokens")
	secret, token := addToken(t, file, lcm.RoleOperator, time.Now().Add(time.Hour))
	w := newWorld(t, auth.Options{Tokens: &auth.TokenOptions{File: file, Clock: clock.Now}})

	other, _, err := auth.NewToken("x", "p1", lcm.RoleAdmin, time.Time{}, time.Now())
	require.NoError(t, err)
	forged := secret[:len("gybe_")+9] + other[len("gybe_")+9:] // a known id with another secret
	for name, s := range map[string]string{
		"unknown": other, "forged": forged, "cut": secret[:len(secret)-1], "longer": secret + "A",
		"only the prefix": "gybe_", "only the id": "gybe_" + token.ID,
		"upper case": strings.ToUpper(secret[:13]) + secret[13:],
	} {
		e := w.rejected(t, lcm.CodeUnauthorized, bearer(t, s))
		require.NotContains(t, e.Error()+e.Hint, s, name)
	}
	require.Equal(t, "ci@example.com", w.accepted(t, bearer(t, secret)).Subject)
	clock.add(time.Hour)
	require.Contains(t, w.rejected(t, lcm.CodeUnauthorized, bearer(t, secret)).Detail, "expired")

	require.Contains(t, w.logged(), "remote=192.0.2.1:1234")
	require.NotContains(t, w.logged(), secret)
	require.NotContains(t, w.logged(), forged)
	require.Equal(t, 1, w.failed("token/expired"))
	require.Equal(t, 6, w.failed("token/invalid"))
	require.Equal(t, 1, w.failed("any/unsupported")) // GYBE_ is not the prefix
}

func TestStaticTokenFileIsReadAgain(t *testing.T) {
	t.Parallel()
	clock, file := newClock(), filepath.Join(t.TempDir(), "tokens")
	w := newWorld(t, auth.Options{Tokens: &auth.TokenOptions{File: file, Clock: clock.Now}})
	secret, token := addToken(t, file, lcm.RoleAdmin, time.Time{}) // the first one creates the file
	clock.add(time.Second)
	w.accepted(t, bearer(t, secret))

	second, _ := addToken(t, file, lcm.RoleReader, time.Time{})
	gone, err := auth.RevokeToken(file, token.ID)
	require.NoError(t, err)
	require.Equal(t, token, gone)
	w.accepted(t, bearer(t, secret)) // not looked at yet
	clock.add(time.Second)
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, secret))
	w.accepted(t, bearer(t, second))

	// A line that cannot be read takes its own token away, and no other.
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	third, _ := addToken(t, file, lcm.RoleReader, time.Time{})
	_, err = os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append([]byte("abc def\n"), raw...), 0o600))
	clock.add(time.Second)
	w.accepted(t, bearer(t, second))
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, third))
	require.Contains(t, w.logged(), "line 1: has 2 fields")

	// A file that is away, or that others can write, has no tokens.
	require.NoError(t, os.Chmod(file, 0o666))
	require.NoError(t, os.WriteFile(file, append([]byte("# changed\n"), raw...), 0o600))
	clock.add(time.Second)
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, second))
	require.NoError(t, os.Remove(file))
	clock.add(time.Second)
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, second))
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	clock.add(time.Second)
	w.accepted(t, bearer(t, second))
}

func TestStaticTokenFileIsEditedAtomically(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, token, err := auth.NewToken("s", "p", lcm.RoleReader, time.Now().Add(time.Hour), time.Now())
			if err == nil {
				err = auth.AddToken(file, token)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	tokens, err := auth.ReadTokens(file)
	require.NoError(t, err)
	require.Len(t, tokens, 20) // no command has overwritten the token of another one
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	require.NoError(t, err)
	require.Equal(t, []string{file}, left)

	_, err = auth.RevokeToken(file, "aaaaaaaa")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Error(t, auth.AddToken(file, tokens[0]), "the id is in use")
}

func TestNewTokenRefusesFieldsThatBreakTheFile(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct{ subject, project, role string }{
		"no subject": {"", "p", "reader"}, "blank": {"a b", "p", "reader"}, "line break": {"a\nb", "p", "reader"},
		"no project": {"a", "", "reader"}, "path": {"a", "p/q", "reader"}, "role": {"a", "p", "root"},
		"long project": {"a", strings.Repeat("p", 65), "reader"},
	} {
		_, _, err := auth.NewToken(f.subject, f.project, lcm.Role(f.role), time.Time{}, time.Now())
		require.Error(t, err, name)
	}
}
