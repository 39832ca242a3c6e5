package k8scluster

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// FuzzNodeOutput: texts that a node prints, or writes to a file, are data. Values never span lines, and what is kept of
// them does not show secrets.
func FuzzNodeOutput(f *testing.F) {
	const key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	f.Add(
		[]byte("token=abcdef.0123456789abcdef\nssl_ca_cert_hash=sha256:"+key+"\ncertificate_key="+key+"\n"),
		"s3cret-value",
	)
	f.Add([]byte("\x1b[H\x1b[2Jtoken: abcdef.0123456789abcdef \r\nssl_ca_cert_hash:\t"+key+"\n"), "")
	f.Add(
		[]byte("[upload-certs] Using certificate key:\n"+key+"\npassword: x\nJoin with --certificate-key "+key), "key:",
	)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\nv1.34.2-rc.1+x"), "-----")
	f.Fuzz(func(t *testing.T, out []byte, secret string) {
		for _, js := range []joinSecrets{parseSecrets(out), parsePrinted(out)} {
			for _, value := range []string{js.token, js.caHash, js.certKey} {
				require.NotContains(t, value, "\n")
				require.Contains(t, string(out), value)
			}
		}
		if token := joinToken.FindString(string(out)); token != "" {
			require.Len(t, token, 23)
			require.NotContains(t, mask(string(out), nil), token)
		}
		for _, key := range bareKey.FindAllString(string(out), -1) {
			require.NotContains(t, strings.Split(mask(string(out), nil), "\n"), key)
		}
		if hash, err := caHash(out); err == nil {
			require.Len(t, hash, 64)
		}
		if len(secret) >= 6 && !strings.Contains(secret, "*") {
			masked := mask(string(out), []string{secret})
			require.NotContains(t, masked, secret)
			require.LessOrEqual(t, len(masked), 4*len(out))
		}
		for line := range strings.Lines(string(out)) {
			if v, ok := parseVersion(strings.TrimSpace(line)); ok {
				again, ok := parseVersion(v.String())
				require.True(t, ok)
				require.Equal(t, v, again)
				require.True(t, v.takes(again))
				require.False(t, v.below(again))
			}
		}
	})
}

// FuzzInstallScript: a script and its manifest are read, or the error names the manifest.
func FuzzInstallScript(f *testing.F) {
	f.Add([]byte("#!/bin/bash\n# GYBE_PHASE\nK8S_VERSION=${K8S_VERSION:-1.34}\n"), []byte(""), false)
	f.Add([]byte("x"), []byte("phases: [prepare, init, join]\nlibrary: lib\nkubernetes_version: '1.34'\n"), true)
	f.Add([]byte("x"), []byte("library: ..\n---\n{"), true)
	f.Fuzz(func(t *testing.T, script, manifest []byte, declared bool) {
		pkg := fstest.MapFS{
			"Scripts/i.sh": {Data: script}, "Scripts/lib/a": {Data: []byte("a")}, "secret": {Data: []byte("x")},
		}
		if declared {
			pkg["Scripts/i.yaml"] = &fstest.MapFile{Data: manifest}
		}
		s, err := loadScript(pkg, "Scripts/i.sh")
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Equal(t, string(script), string(s.content))
		for _, l := range s.library {
			require.Equal(t, "lib/a", l.Name, "only files beside the script are copied to nodes")
		}
		for _, v := range []string{s.kubernetes} {
			if v != "" {
				_, ok := parseVersion(v)
				require.True(t, ok, v)
			}
		}
	})
}
