package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

func TestMaskTextHidesSecrets(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://a:s3cret@h http://b:s3cret@h/x":                                  "http://a@h http://b@h/x",
		"http://a:s3,cret@h,https://b:s3cret@h":                                  "http://a@h,https://b@h",
		"host=db password=s3cret dbname=x":                                       "host=db password=*** dbname=x",
		"Server=db;Uid=u;Pwd=s3cret;":                                            "Server=db;Uid=u;Pwd=***;",
		"PGPASSWORD='s3 cret' psql":                                              "PGPASSWORD=*** psql",
		"https://h/x?token=s3cret&a=b":                                           "https://h/x?token=***&a=b",
		"header Basic dXNlcjpzM2NyZXQ= sent":                                     "header Basic *** sent",
		"Bearer s3cret-s3cret":                                                   "Bearer ***",
		"Authorization: Basic secretly":                                          "Authorization: Basic ***",
		`curl -H "Authorization: abcdef" x`:                                      `curl -H "Authorization: ***" x`,
		`{"adminPass": "s3cret", "name": "n"}`:                                   `{"adminPass": ***, "name": "n"}`,
		"password: s3cret":                                                       "password: ***",
		"mysql --password s3cret -u x":                                           "mysql --password *** -u x",
		"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0":                      "got ***",
		"k -----BEGIN RSA PRIVATE KEY-----\nAB\n-----END RSA PRIVATE KEY----- z": "k *** z",
	} {
		require.Equal(t, want, redact.Text(in), in)
		require.Equal(t, want, redact.Text(want), "masking twice changes nothing more")
	}
}

func TestMaskTextLeavesUsualTexts(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"the token: expired", "basic configuration of the cluster", "bearer of news", "key=zone:NoSchedule",
		"Stack create failed: Resource CREATE failed: ResourceInError: No valid host was found", "key: value",
		"passwordAuthentication=true", "Keystone 401: The request you have made requires authentication.",
		"authType=password", "https://h:8080/path?a=b", "image=ubuntu", "mail a@b.c", "10.0.0.1:6443", "",
	} {
		require.Equal(t, in, redact.Text(in))
	}
}

func TestHiderHidesValuesOfARequest(t *testing.T) {
	t.Parallel()
	r := redact.New("pin")
	values := r.SecretValues(sol.KeyValuePairs{
		"password": "ubuntu", "username": "ubuntu",
		"db":    map[string]any{"pwd": "longsecret", "pin": "longsecret-and-more"},
		"proxy": "http://u:proxysecret@h", "short": "abc", "token": "abc",
		"ssh_private": "-----BEGIN X PRIVATE KEY-----\nabcdefghij\n-----END X PRIVATE KEY-----",
	}, map[string]sol.VimConnectionInfo{"v": {AccessInfo: sol.KeyValuePairs{"username": "u", "pin2": "vimsecret"}}})
	h := redact.NewHider(func() []string { return values })
	require.Equal(t, "image ubuntu-22.04: *** *** *** u abc ***",
		h.Hide("image ubuntu-22.04: longsecret longsecret-and-more proxysecret u abc vimsecret"))
	require.Equal(t, "line ***", h.Hide("line abcdefghij"))
	require.Equal(t, "pwd=***", redact.Hider{}.Hide("pwd=x"))
}

// TestHiderCollectsValuesForTheFirstText: most ticks of an operation have no text to hide secrets in.
func TestHiderCollectsValuesForTheFirstText(t *testing.T) {
	t.Parallel()
	collected := 0
	h := redact.NewHider(func() []string {
		collected++
		return []string{"longsecret"}
	})
	require.Empty(t, h.Hide(""))
	require.Zero(t, collected)
	require.Equal(t, "x ***", h.Hide("x longsecret"))
	require.Equal(t, "***", h.Hide("longsecret"))
	require.Equal(t, 1, collected)
}
