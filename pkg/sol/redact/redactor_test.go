package redact_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

func TestRedactorParamsDropsSecretsAtAnyDepth(t *testing.T) {
	t.Parallel()
	in := `{
	  "flavourId": "simple",
	  "vimConnectionInfo": {"vim1": {"vimType": "T", "accessInfo": {"username": "u", "password": "s3cret", "region": "R", "client_secret": "s3cret"}}},
	  "additionalParams": {
	    "k8s_cluster_installation_param": {
	      "master_node": {"username": "ubuntu", "password": "s3cret", "pod_cidr": "192.168.0.0/16", "nic_cp_name": "cp"},
	      "proxy": {"http_proxy": "http://joe:s3cret@proxy:3128", "no_proxy": "a,b"}
	    },
	    "vdu_params": [{"new_vnfc_param": {"authentication": {"paramsBasic": {"userName": "u", "password": "s3cret"}}}}],
	    "big": 9007199254740993, "html": "<a&b>", "bearer_token": ["s3cret"], "private-key": {"pem": "s3cret"},
	    "tokenEndpoint": "https://auth/token", "requirePassword": true, "note": "-----BEGIN RSA PRIVATE KEY-----\ns3cret"
	  }
	}`
	want := `{
	  "flavourId": "simple",
	  "vimConnectionInfo": {"vim1": {"vimType": "T", "accessInfo": {"username": "u", "region": "R"}}},
	  "additionalParams": {
	    "k8s_cluster_installation_param": {
	      "master_node": {"username": "ubuntu", "pod_cidr": "192.168.0.0/16", "nic_cp_name": "cp"},
	      "proxy": {"http_proxy": "http://joe@proxy:3128", "no_proxy": "a,b"}
	    },
	    "vdu_params": [{"new_vnfc_param": {"authentication": {"paramsBasic": {"userName": "u"}}}}],
	    "big": 9007199254740993, "html": "<a&b>",
	    "tokenEndpoint": "https://auth/token", "requirePassword": true, "note": ""
	  }
	}`
	got := string(redact.New().Params(json.RawMessage(in)))
	require.JSONEq(t, want, got)
	require.NotContains(t, got, "s3cret")
	require.Contains(t, got, "9007199254740993", "numbers keep their digits")
	require.Contains(t, got, "<a&b>")
}

func TestRedactorParamsDropsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "{", `{"a":1} {"password":"x"}`, "password=x"} {
		require.Nil(t, redact.New().Params(json.RawMessage(in)), in)
	}
	require.Equal(t, `null`, string(redact.New().Params(json.RawMessage(`null`))))
}

func TestRedactURLs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://u:p@h:1/x?y=a@b": "http://u@h:1/x?y=a@b",
		"http://u:p%zz@h":        "http://u@h",
		"http://u:p/q@h":         "http://u@h",
		"http://u:p@q@h":         "http://u@h",
		"http://u@h":             "http://u@h",
		"http://h:80/a@b":        "http://h:80/a@b",
		"http://h/path@x":        "http://h/path@x",
		"mail a@b.c: ://":        "mail a@b.c: ://",
		"https://host:8080/path": "https://host:8080/path",
		"no url, user:pw@host":   "no url, user:pw@host",
	} {
		require.Equal(t, want, redact.New().Pairs(sol.KeyValuePairs{"k": in})["k"], in)
	}
}

func TestIsSecretName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"password", "PASSWORD", "userPassword", "bearer_token", "client_secret", "clientPassword", "private_key",
		"privateKey", "passphrase", "secret", "token", "credentials", "ssh-key", "certificate_key", "pwd", "api.key",
		"adminPass", "admin_pass", "userpass", "db_pwd", "pwdFile", "rootpw", "root_pw1", "psk", "wpaPSK", "authKey",
		"encryption_key", "SSHKey", "apiKeys", "key", "jwt", "sessionJWT", "auth", "oauth", "authorization",
		"proxyAuthorization", "session_cookie", "cookies", "snmp_community", "communityString", "auth_data", "AESKey",
	} {
		require.True(t, redact.IsSecretName(name), name)
	}
	for _, name := range []string{
		"username", "region", "project", "tokenEndpoint", "token_endpoint", "oidc_token_url", "endpoint",
		"key_name", "keyName", "ssl_ca_cert", "passive", "bypass", "compass", "passThrough", "public_key",
		"ssh_public_key", "sshKeyName", "ssh_key_names", "apiKeyName", "authorized_keys", "topologyKey", "keypair",
		"key_pair", "key_size", "monkey", "authType", "auth_url", "authMethod", "author", "authority", "authorName",
		"hostKey", "keystone", "keyboard", "pubkey", "keepalive", "pod_cidr", "", "123",
	} {
		require.False(t, redact.IsSecretName(name), name)
	}
}

func TestRedactorLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	inst := sol.VnfInstance{
		VimConnectionInfo: map[string]sol.VimConnectionInfo{
			"v": {VimType: "T", AccessInfo: sol.KeyValuePairs{"password": "x", "username": "u"}},
		},
		InstantiatedVnfInfo: &sol.InstantiatedVnfInfo{Metadata: sol.KeyValuePairs{
			"stack_id": "s", "nfv": map[string]any{"VDU": map[string]any{"a": map[string]any{"admin_password": "x"}}},
		}},
	}
	clean := redact.New().Instance(inst)
	require.Equal(t, sol.KeyValuePairs{"username": "u"}, clean.VimConnectionInfo["v"].AccessInfo)
	require.Equal(
		t,
		sol.KeyValuePairs{"stack_id": "s", "nfv": map[string]any{"VDU": map[string]any{"a": map[string]any{}}}},
		clean.InstantiatedVnfInfo.Metadata,
	)
	require.Equal(t, "x", inst.VimConnectionInfo["v"].AccessInfo["password"])
	require.Contains(
		t,
		inst.InstantiatedVnfInfo.Metadata["nfv"].(map[string]any)["VDU"].(map[string]any)["a"],
		"admin_password",
	)

	changes := &sol.VnfInfoModifications{VimConnectionInfo: inst.VimConnectionInfo}
	require.NotContains(t, redact.New().Changes(changes).VimConnectionInfo["v"].AccessInfo, "password")
	require.Contains(t, changes.VimConnectionInfo["v"].AccessInfo, "password")
}

func FuzzRedactorParams(f *testing.F) {
	f.Add(`{"a":{"password":"x","b":["http://u:p@h"]}}`)
	f.Add(`[1,2.50,"é"]`)
	f.Fuzz(func(t *testing.T, in string) {
		out := redact.New().Params(json.RawMessage(in))
		if out == nil {
			return
		}
		require.True(t, json.Valid(out))
		require.Equal(t, string(out), string(redact.New().Params(out)), "redacting twice changes nothing more")
	})
}

func TestRedactorShowsKnownMembersOfVimConnectionsOnly(t *testing.T) {
	t.Parallel()
	conn := sol.VimConnectionInfo{
		VimType: "T", InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://u:s3cret@h/v3", "clientKey": "s3cret"},
		AccessInfo: sol.KeyValuePairs{
			"username": "u", "projectDomain": "d", "applicationCredentialId": "a", "cloud": "c", "region": "r",
			"pin": "s3cret", "x": map[string]any{"username": "s3cret"}, "password": "s3cret",
		},
		Extra: sol.KeyValuePairs{
			"gybe.vdus": []any{"v"}, "note": "s3cret", "admin_pass": "s3cret",
			"helm_info": map[string]any{"masternode_ip": []any{"i"}, "masternode_username": "m", "other": "s3cret"},
		},
	}
	want := sol.VimConnectionInfo{
		VimType: "T", InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://u@h/v3"},
		AccessInfo: sol.KeyValuePairs{
			"username": "u", "projectDomain": "d", "applicationCredentialId": "a", "cloud": "c", "region": "r",
		},
		Extra: sol.KeyValuePairs{
			"gybe.vdus": []any{"v"},
			"helm_info": map[string]any{"masternode_ip": []any{"i"}, "masternode_username": "m"},
		},
	}
	require.Equal(t, want, redact.New().Connection(conn))

	raw, err := json.Marshal(map[string]any{"vimConnectionInfo": map[string]any{"v": conn}})
	require.NoError(t, err)
	shown, err := json.Marshal(map[string]any{"vimConnectionInfo": map[string]any{"v": want}})
	require.NoError(t, err)
	require.JSONEq(t, string(shown), string(redact.New().Params(raw)))
}

func TestRedactorDropsNamedMembers(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"additionalParams": {
		"gybe.secrets": ["pin", "db/login", "a~1b"], "pin": 1, "list": [{"pin": "s"}],
		"db": {"login": "s", "host": "h"}, "login": "shown", "a/b": "s", "x": {"db": [{"login": "s"}]}
	}}`)
	require.Equal(t, []string{"pin", "db/login", "a~1b"}, redact.NamedSecrets(raw))
	require.JSONEq(t, `{"additionalParams": {
		"gybe.secrets": ["pin", "db/login", "a~1b"], "list": [{}], "db": {"host": "h"}, "login": "shown",
		"x": {"db": [{}]}
	}}`, string(redact.New(redact.NamedSecrets(raw)...).Params(raw)))

	metadata := sol.KeyValuePairs{"pin": 1, "password": "p", "db": map[string]any{"login": "s"}}
	require.Equal(t, sol.KeyValuePairs{"password": "p", "db": map[string]any{}},
		redact.New("pin", "db/login").Named(metadata), "clients read back what they store under other names")
	require.Nil(t, redact.NamedSecrets(json.RawMessage(`{"additionalParams": {"gybe.secrets": "pin"}}`)))
}

func TestRedactorShowsKeysOfLabels(t *testing.T) {
	t.Parallel()
	in := sol.KeyValuePairs{
		"tolerations":    []any{map[string]any{"key": "zone", "operator": "Exists"}},
		"vpn":            map[string]any{"key": "s3cret"},
		"authentication": map[string]any{"userName": "u", "type": "t"}, "auth": "s3cret",
	}
	require.Equal(t, sol.KeyValuePairs{
		"tolerations": []any{map[string]any{"key": "zone", "operator": "Exists"}}, "vpn": map[string]any{},
		"authentication": map[string]any{"userName": "u", "type": "t"},
	}, redact.New().Pairs(in))
}
