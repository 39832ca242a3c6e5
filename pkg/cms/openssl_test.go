package cms_test

import (
	"bytes"
	"crypto"
	"crypto/elliptic"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
)

// openssl runs the program in a folder. The test is skipped where it is not installed.
func openssl(t *testing.T, dir string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "openssl %s: %s", strings.Join(args, " "), out)
	return string(out)
}

func write(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
}

// TestVerifyReadsSignaturesOfOpenssl signs with the command that guides for SOL004 packages show, and its variants.
func TestVerifyReadsSignaturesOfOpenssl(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	content := []byte("metadata:\n  vnf_product_name: x\n\nSource: a\n")
	keys := map[string]crypto.Signer{
		"rsa": cmstest.RSA(), "p256": ecKey(t, elliptic.P256()), "p521": ecKey(t, elliptic.P521()),
	}
	for name, tc := range map[string]struct {
		key  string
		args []string
		want string // an error, "" when the signature is good
	}{
		"defaults":                 {"rsa", nil, ""},
		"ECDSA":                    {"p256", nil, ""},
		"ECDSA P-521 with SHA-512": {"p521", []string{"-md", "sha512"}, ""},
		"DER":                      {"rsa", []string{"-outform", "DER"}, ""},
		"BER with the content":     {"rsa", []string{"-outform", "DER", "-stream"}, "it has to be detached"},
		"without attributes":       {"rsa", []string{"-noattr"}, ""},
		"with a key identifier":    {"rsa", []string{"-keyid"}, ""},
		"PSS":                      {"rsa", []string{"-keyopt", "rsa_padding_mode:pss"}, ""},
		"PSS with SHA-384, salt of 32": {
			"rsa",
			[]string{"-md", "sha384", "-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_pss_saltlen:32"},
			"",
		},
		"PSS with another hash for MGF1": {
			"rsa",
			[]string{"-md", "sha384", "-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_mgf1_md:sha256"},
			"RSA-PSS with several hash algorithms is not accepted",
		},
		"SHA-1":            {"rsa", []string{"-md", "sha1"}, "SHA-1 is not accepted"},
		"SHA-224":          {"rsa", []string{"-md", "sha224"}, "SHA-224 is not accepted"},
		"MD5":              {"rsa", []string{"-md", "md5"}, "MD5 is not accepted"},
		"with the content": {"rsa", []string{"-nodetach"}, "it has to be detached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			id := ca.Issue(cmstest.Options{Name: "signer", Key: keys[tc.key]})
			write(t, dir, map[string][]byte{
				"cert.pem": cmstest.CertificatePEM(id.Certificate), "key.pem": cmstest.KeyPEM(t, id),
				"content": content,
			})
			openssl(t, dir, append([]string{
				"cms", "-sign", "-binary", "-in", "content", "-signer", "cert.pem", "-inkey", "key.pem", "-out", "sig",
				"-outform", "PEM",
			}, tc.args...)...)
			signature, err := os.ReadFile(filepath.Join(dir, "sig"))
			require.NoError(t, err)
			if tc.want != "" {
				require.ErrorContains(t, verify(signature, content), tc.want)
				return
			}
			require.NoError(t, verify(signature, content))
			require.Error(t, verify(signature, append(content, ' ')))
		})
	}
}

func TestVerifyReadsTwoSignersOfOpenssl(t *testing.T) {
	t.Parallel()
	ca, dir := cmstest.NewCA(t, "root"), t.TempDir()
	a, b := ca.Issue(cmstest.Options{Name: "a"}), ca.Issue(cmstest.Options{Name: "b", Key: cmstest.RSA()})
	write(t, dir, map[string][]byte{
		"a.pem": cmstest.CertificatePEM(a.Certificate), "a.key": cmstest.KeyPEM(t, a), "content": []byte("content"),
		"b.pem": cmstest.CertificatePEM(b.Certificate), "b.key": cmstest.KeyPEM(t, b),
	})
	openssl(t, dir, "cms", "-sign", "-binary", "-in", "content", "-signer", "a.pem", "-inkey", "a.key", "-signer",
		"b.pem", "-inkey", "b.key", "-outform", "PEM", "-out", "sig")
	signature, err := os.ReadFile(filepath.Join(dir, "sig"))
	require.NoError(t, err)
	s, err := cms.Parse(signature)
	require.NoError(t, err)
	require.Len(t, s.Signers, 2)
	require.NoError(t, verify(signature, []byte("content")))
}

// TestOpensslVerifiesOurSignatures is the other direction.
func TestOpensslVerifiesOurSignatures(t *testing.T) {
	t.Parallel()
	ca, content := cmstest.NewCA(t, "root"), []byte("content")
	middle := ca.Intermediate("middle")
	a := middle.Issue(cmstest.Options{Name: "a", Key: cmstest.RSA()})
	b := ca.Issue(cmstest.Options{Name: "b", Key: ecKey(t, elliptic.P384())})
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		"root.pem": ca.PEM(), "content": content, "one": sign(t, content, a), "two": sign(t, content, a, b),
	})
	for _, name := range []string{"one", "two"} {
		openssl(t, dir, "cms", "-verify", "-binary", "-inform", "PEM", "-in", name, "-content", "content", "-CAfile",
			"root.pem", "-out", "out", "-attime", "1780315200")
		out, err := os.ReadFile(filepath.Join(dir, "out"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, out))
	}
}
