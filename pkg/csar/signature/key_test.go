package signature_test

import (
	"archive/zip"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

// openssl runs the program in a folder. The test is skipped where it is not installed.
func openssl(t *testing.T, dir string, args ...string) {
	t.Helper()
	program, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "openssl %s: %s", strings.Join(args, " "), out)
}

func readFile(t *testing.T, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return data
}

func noPassphrase() (string, error) { return "", os.ErrInvalid }

// TestReadIdentityReadsKeysOfOpenssl reads each format of key that openssl writes, or says how to convert it.
func TestReadIdentityReadsKeysOfOpenssl(t *testing.T) {
	t.Parallel()
	ca, dir := cmstest.NewCA(t, "root"), t.TempDir()
	id, rsa := ca.Issue(cmstest.Options{Name: "ec"}), ca.Issue(cmstest.Options{Name: "rsa", Key: cmstest.RSA()})
	encrypt := func(more ...string) []string {
		return append([]string{"pkcs8", "-topk8", "-passout", "pass:secret word"}, more...)
	}
	const wrong = "the passphrase of the key is wrong"
	for name, one := range map[string]cms.Identity{"ec": id, "rsa": rsa} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), cmstest.KeyPEM(t, one), 0o600))
		cert := cmstest.CertificatePEM(one.Certificate)
		for _, tc := range []struct {
			args []string
			want string // an error
		}{
			{[]string{"pkey"}, ""},
			{[]string{"pkey", "-traditional"}, ""},
			{encrypt(), ""},
			{encrypt("-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA1"), ""},
			{encrypt("-v2", "aes256", "-v2prf", "hmacWithSHA512", "-iter", "5000"), ""},
			{encrypt("-scrypt"), "openssl pkcs8 -topk8 -v2 aes-256-cbc"},
			{encrypt("-v1", "PBE-SHA1-3DES"), "openssl pkcs8 -topk8 -v2 aes-256-cbc"},
			{encrypt("-passout", "pass:another"), wrong},
		} {
			openssl(t, dir, append(tc.args, "-in", name, "-out", "out")...)
			got, err := signature.ReadIdentity(readFile(t, dir, "out"), cert, func() (string, error) {
				return "secret word", nil
			})
			if tc.want != "" {
				require.Error(t, err, "%s", tc.args)
				if tc.want != wrong { // other bytes may look like padding
					require.ErrorContains(t, err, tc.want, "%s", tc.args)
				}
				continue
			}
			require.NoError(t, err, "%s", tc.args)
			require.Equal(t, one.Certificate.Raw, got.Certificate.Raw)
			require.Equal(t, one.Key.Public(), got.Key.Public())
		}
	}
}

func TestReadIdentityRejects(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id, other := ca.Issue(cmstest.Options{Name: "a"}), ca.Issue(cmstest.Options{Name: "b"})
	key, cert := cmstest.KeyPEM(t, id), cmstest.CertificatePEM(id.Certificate)
	for name, tc := range map[string]struct {
		key, cert []byte
		want      string
	}{
		"the key of another certificate": {cmstest.KeyPEM(t, other), cert, "does not belong to the certificate"},
		"no key":                         {cert, cert, "no private key"},
		"no certificate":                 {key, key, "the file has something else than certificates"},
		"a damaged key": {
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), cert, "cannot be read",
		},
		"a damaged encrypted key": {
			pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), cert,
			"file already closed",
		},
	} {
		_, err := signature.ReadIdentity(tc.key, tc.cert, func() (string, error) { return "", os.ErrClosed })
		require.ErrorContains(t, err, tc.want, name)
	}
	chain := append(cmstest.CertificatePEM(id.Certificate), ca.PEM()...)
	got, err := signature.ReadIdentity(key, chain, noPassphrase)
	require.NoError(t, err)
	require.Len(t, got.Chain, 1)
}

// TestPackageOfOpenssl: packages that were signed with openssl alone, as guides for SOL004 show it, and the reverse.
func TestPackageOfOpenssl(t *testing.T) {
	t.Parallel()
	ca, dir := cmstest.NewCA(t, "root"), t.TempDir()
	id := ca.Issue(cmstest.Options{
		Name: "signer", Key: cmstest.RSA(), ExtUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	trust := trustOf(t, ca.PEM())
	write := func(name, data string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	write("key.pem", string(cmstest.KeyPEM(t, id)))
	write("cert.pem", string(cmstest.CertificatePEM(id.Certificate)))
	write("ca.pem", string(ca.PEM()))
	sign := func(in, out string, more ...string) {
		openssl(t, dir, append([]string{
			"cms", "-sign", "-signer", "cert.pem", "-inkey", "key.pem", "-outform", "PEM", "-in", in, "-out", out,
		}, more...)...)
	}

	f := sign1(t, id, false)
	ours := f[manifestPath]
	content, block, _ := strings.Cut(ours, "-----BEGIN CMS-----")
	write("manifest", content)
	for _, more := range [][]string{{"-binary"}, {}, {"-binary", "-md", "sha512", "-noattr"}} { // without -binary: CRLF
		sign("manifest", "sig", more...)
		f[manifestPath] = content + string(readFile(t, dir, "sig"))
		r, err := checkAt(t, pack(t, f, zip.Deflate), trust, time.Now())
		require.NoError(t, err)
		require.Equal(t, signature.Trusted, r.State, "%v: %+v", more, r.Checks)
	}

	write("vnf.csar", string(pack(t, files(), zip.Deflate)))
	sign("vnf.csar", "vnf.cms", "-binary", "-nocerts")
	container := map[string]string{
		"vnf.csar": string(readFile(t, dir, "vnf.csar")), "vnf.cms": string(readFile(t, dir, "vnf.cms")),
		"vnf.cert": string(cmstest.CertificatePEM(id.Certificate)),
	}
	r, err := checkAt(t, pack(t, container, zip.Deflate), trust, time.Now())
	require.NoError(t, err)
	require.Equal(t, signature.Trusted, r.State, "%+v", r.Checks)

	write("ours", "-----BEGIN CMS-----"+block)
	openssl(t, dir, "cms", "-verify", "-binary", "-inform", "PEM", "-in", "ours", "-content", "manifest", "-CAfile",
		"ca.pem", "-purpose", "any", "-out", "verified", "-attime", "1780315200")
}
