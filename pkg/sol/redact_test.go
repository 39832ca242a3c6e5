package sol_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestRedactOperationParamsDropsSecretsAtAnyDepth(t *testing.T) {
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
	got := string(sol.RedactOperationParams(json.RawMessage(in)))
	require.JSONEq(t, want, got)
	require.NotContains(t, got, "s3cret")
	require.Contains(t, got, "9007199254740993", "numbers keep their digits")
	require.Contains(t, got, "<a&b>")
}

func TestRedactOperationParamsDropsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "{", `{"a":1} {"password":"x"}`, "password=x"} {
		require.Nil(t, sol.RedactOperationParams(json.RawMessage(in)), in)
	}
	require.Equal(t, `null`, string(sol.RedactOperationParams(json.RawMessage(`null`))))
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
		require.Equal(t, want, sol.KeyValuePairs{"k": in}.Redacted()["k"], in)
	}
}

func TestIsSecretName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"password", "PASSWORD", "userPassword", "bearer_token", "client_secret", "clientPassword", "private_key",
		"privateKey", "passphrase", "secret", "token", "credentials", "ssh-key", "certificate_key", "pwd", "api.key",
	} {
		require.True(t, sol.IsSecretName(name), name)
	}
	for _, name := range []string{
		"username", "region", "project", "tokenEndpoint", "token_endpoint", "oidc_token_url", "endpoint", "key",
		"key_name", "ssl_ca_cert", "passive", "bypass", "compass",
	} {
		require.False(t, sol.IsSecretName(name), name)
	}
}

func TestRedactedLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	inst := sol.VnfInstance{
		VimConnectionInfo: map[string]sol.VimConnectionInfo{
			"v": {VimType: "T", AccessInfo: sol.KeyValuePairs{"password": "x", "username": "u"}},
		},
		InstantiatedVnfInfo: &sol.InstantiatedVnfInfo{Metadata: sol.KeyValuePairs{
			"stack_id": "s", "nfv": map[string]any{"VDU": map[string]any{"a": map[string]any{"admin_password": "x"}}},
		}},
	}
	clean := inst.Redacted()
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

	op := sol.VnfLcmOpOcc{
		OperationParams: json.RawMessage(`{"password":"x"}`),
		ChangedInfo:     &sol.VnfInfoModifications{VimConnectionInfo: inst.VimConnectionInfo},
	}
	cleanOp := op.Redacted()
	require.JSONEq(t, `{}`, string(cleanOp.OperationParams))
	require.NotContains(t, cleanOp.ChangedInfo.VimConnectionInfo["v"].AccessInfo, "password")
	require.Contains(t, op.ChangedInfo.VimConnectionInfo["v"].AccessInfo, "password")
}

func FuzzRedactOperationParams(f *testing.F) {
	f.Add(`{"a":{"password":"x","b":["http://u:p@h"]}}`)
	f.Add(`[1,2.50,"é"]`)
	f.Fuzz(func(t *testing.T, in string) {
		out := sol.RedactOperationParams(json.RawMessage(in))
		if out == nil {
			return
		}
		require.True(t, json.Valid(out))
		require.Equal(t, string(out), string(sol.RedactOperationParams(out)), "redacting twice changes nothing more")
	})
}
