package auth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// challenges are those of an error.
func challenges(t *testing.T, err error) []string {
	t.Helper()
	var c interface{ Challenges() []string }
	require.ErrorAs(t, err, &c)
	return c.Challenges()
}

func TestNoneAcceptsEverythingAsAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, auth.Options{None: true})
	want := lcm.Principal{Project: lcm.DefaultProject, Role: lcm.RoleAdmin}
	require.Equal(t, want, w.accepted(t, request(t)))
	// Credentials that an authenticating proxy has checked do not disturb.
	require.Equal(t, want, w.accepted(t, request(t, "Authorization", "Basic eDp5", "X-Auth-Token", "\x01")))
}

func TestNoneExcludesModes(t *testing.T) {
	t.Parallel()
	_, err := auth.New(auth.Options{None: true, Tokens: &auth.TokenOptions{File: filepath.Join(t.TempDir(), "t")}})
	require.ErrorContains(t, err, "exclude each other")
}

func TestWithoutModesEverythingIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, auth.Options{})
	w.rejected(t, lcm.CodeUnauthorized, request(t))
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, "x"))
}

func TestSeveralOrBrokenCredentials(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	secret, _ := addToken(t, file, lcm.RoleOperator, time.Time{})
	w := newWorld(t, auth.Options{Tokens: &auth.TokenOptions{File: file}})
	for name, tt := range map[string]struct {
		headers   []string
		code      lcm.Code
		label     string
		challenge string
	}{
		"none": {nil, lcm.CodeUnauthorized, "any/missing", `Bearer realm="gybe"`},
		"two headers": {
			[]string{"X-Auth-Token", secret, "Authorization", "Bearer " + secret},
			lcm.CodeInvalid, "any/malformed",
			`Bearer realm="gybe", error="invalid_request"`,
		},
		"one header twice": {
			[]string{"X-Auth-Token", secret, "X-Auth-Token", secret},
			lcm.CodeInvalid, "any/malformed",
			`Bearer realm="gybe", error="invalid_request"`,
		},
		"empty":        {[]string{"Authorization", "Bearer "}, lcm.CodeInvalid, "any/malformed", ""},
		"scheme alone": {[]string{"Authorization", "Bearer"}, lcm.CodeInvalid, "any/malformed", ""},
		"empty token":  {[]string{"X-Auth-Token", ""}, lcm.CodeInvalid, "any/malformed", ""},
		"two words":    {[]string{"Authorization", "Bearer a b"}, lcm.CodeInvalid, "any/malformed", ""},
		"bytes":        {[]string{"X-Auth-Token", "a\x7fb"}, lcm.CodeInvalid, "any/malformed", ""},
		"too long":     {[]string{"X-Auth-Token", strings.Repeat("a", 17<<10)}, lcm.CodeInvalid, "any/malformed", ""},
		"basic":        {[]string{"Authorization", "Basic eDp5"}, lcm.CodeUnauthorized, "any/unsupported", ""},
		"other form": {
			[]string{"Authorization", "Bearer abc"},
			lcm.CodeUnauthorized, "any/unsupported",
			`Bearer realm="gybe", error="invalid_token"`,
		},
		"token of Keystone": {[]string{"X-Auth-Token", "gAAAAAB"}, lcm.CodeUnauthorized, "any/unsupported", ""},
	} {
		before := w.failed(tt.label)
		_, err := w.Authenticate(request(t, tt.headers...))
		require.Error(t, err, name)
		require.Equal(t, tt.code, lcm.AsError(err).Code, name)
		require.Equal(t, before+1, w.failed(tt.label), name)
		if tt.challenge != "" {
			require.Equal(t, []string{tt.challenge}, challenges(t, err), name)
		}
	}
	require.Contains(t, lcm.AsError(w.rejected(t, lcm.CodeUnauthorized, request(t))).Hint, "a token of gybe")
}

func TestCredentialIsHiddenInTextsAndKeptInSessions(t *testing.T) {
	t.Parallel()
	c := auth.Credential{Kind: auth.KindBearer, Secret: "canary"}
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", c, c, c, errors.New(c.String())), "canary")
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	var again auth.Credential
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, c, again)
}
