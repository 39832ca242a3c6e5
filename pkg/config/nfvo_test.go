package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

func TestNFVO(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("x"), 0o600))
	load := func(set ...string) (config.Config, error) {
		cfg, _, err := config.Load(config.Source{Set: append(set, "database_url="+database)})
		return cfg, err
	}
	cfg, err := load()
	require.NoError(t, err)
	require.False(t, cfg.NFVO.Grantor(), "operations are granted locally without an NFVO")
	cfg, err = load("nfvo.url=https://nfvo", "nfvo.oauth2.token_url=https://idp/token", "nfvo.oauth2.client_id=c",
		"nfvo.oauth2.client_secret_file="+secret, "nfvo.oauth2.scopes=a,b")
	require.NoError(t, err)
	require.True(t, cfg.NFVO.Grantor())
	require.Equal(t, []string{"a", "b"}, cfg.NFVO.OAuth2.Scopes)
	cfg, err = load("nfvo.url=http://127.0.0.1:1/x", "nfvo.token_file="+secret, "nfvo.grants=false")
	require.NoError(t, err)
	require.False(t, cfg.NFVO.Grantor())

	for _, tt := range []struct {
		set  []string
		want string
	}{
		{[]string{"nfvo.token_file=" + secret}, "nfvo.token_file: is set, but nfvo.url is not"},
		{[]string{"nfvo.url=nfvo"}, "nfvo.url:"},
		{[]string{"nfvo.url=http://nfvo", "nfvo.token_file=" + secret}, "would carry credentials"},
		{[]string{"nfvo.url=https://nfvo", "nfvo.token_file=/none"}, "nfvo.token_file:"},
		{[]string{"nfvo.url=https://nfvo", "nfvo.username=u"}, "nfvo.username: and nfvo.password_file"},
		{
			[]string{"nfvo.url=https://nfvo", "nfvo.username=u", "nfvo.password_file=" + secret, "nfvo.token_file=" +
				secret},
			"nfvo: has several logins",
		},
		{[]string{"nfvo.url=https://nfvo", "nfvo.oauth2.client_id=u"}, "nfvo.oauth2.token_url: is not set"},
		{
			[]string{"nfvo.url=https://nfvo", "nfvo.oauth2.token_url=https://i", "nfvo.oauth2.client_id=u"},
			"nfvo.oauth2.client_secret_file: is not set",
		},
		{
			[]string{"nfvo.url=https://nfvo", "nfvo.oauth2.token_url=http://i", "nfvo.oauth2.client_secret_file=" +
				secret},
			"nfvo.oauth2.token_url: is http",
		},
		{[]string{"nfvo.url=https://nfvo", "nfvo.cert_file=" + secret}, "nfvo.cert_file: and nfvo.key_file"},
		{[]string{"nfvo.retry_base=1m"}, "nfvo.retry_base:"},
	} {
		_, err := load(tt.set...)
		require.ErrorContains(t, err, tt.want, tt.set)
	}
}
