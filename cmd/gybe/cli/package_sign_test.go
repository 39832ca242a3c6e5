package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

const plainPackage = "../../../test/packages/plain"

// TestPackageIsSignedAndVerified: without a server, with both options, the same bytes each time.
func TestPackageIsSignedAndVerified(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id := ca.Issue(cmstest.Options{Name: "signer"})
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte, mode os.FileMode) {
		require.NoError(t, os.WriteFile(at(name), data, 0o600))
		require.NoError(t, os.Chmod(at(name), mode))
	}
	write("key.pem", cmstest.KeyPEM(t, id), 0o600)
	write("cert.pem", cmstest.CertificatePEM(id.Certificate), 0o644)
	require.NoError(t, os.Mkdir(at("trust"), 0o700))
	write("trust/ca.pem", ca.PEM(), 0o644)

	u := newUser(t, "SOURCE_DATE_EPOCH=1780315200") // that of cmstest.Now
	keys := []string{"--key", at("key.pem"), "--cert", at("cert.pem")}
	sign := func(from, out string, more ...string) {
		t.Helper()
		args := append([]string{"package", "sign", from, "-f", at(out)}, keys...)
		require.Contains(t, u.ok("", append(args, more...)...), "signed by CN=signer,O=Test")
	}
	sign(plainPackage, "one.zip", "--artifacts")
	sign(plainPackage, "again.zip", "--artifacts")
	one, err := os.ReadFile(at("one.zip"))
	require.NoError(t, err)
	again, err := os.ReadFile(at("again.zip"))
	require.NoError(t, err)
	require.Equal(t, one, again)
	sign(at("one.zip"), "two.zip", "--option", "2")

	for name, option := range map[string]string{"one.zip": "OPTION_1", "two.zip": "OPTION_2"} {
		var d gybeapi.PackageSignature
		out := u.ok("", "package", "verify", at(name), "--trust", at("trust"), "-o", "json")
		require.NoError(t, json.Unmarshal([]byte(out), &d))
		require.Equal(t, "TRUSTED", d.State)
		require.Equal(t, option, d.Option)
		require.Equal(t, "CN=root,O=Test", d.Signers[0].Root)
		require.Equal(t, cmstest.Now, d.Signers[0].SigningTime)
		table := u.ok("", "package", "verify", at(name), "--trust-file", at("trust/ca.pem"))
		require.Contains(t, table, "signature  TRUSTED")
		require.Contains(t, u.ok("", "package", "validate", at(name)), "FLAVOUR")
	}
	require.Contains(t, u.fails(cli.ExitRejected, "", "package", "verify", at("one.zip")), "one.zip is FAILED")
	u.ok("", "package", "build", plainPackage, "-o", at("plain.zip"))
	require.Contains(t, u.fails(cli.ExitRejected, "", "package", "verify", at("plain.zip"), "--trust", at("trust")),
		"plain.zip is UNSIGNED")

	args := append([]string{"package", "sign", at("one.zip"), "-f", at("x.zip")}, keys...)
	require.Contains(t, u.fails(cli.ExitRejected, "", args...), "has a signature already")
	require.NoFileExists(t, at("x.zip"))
	require.Contains(t, u.fails(cli.ExitUsage, "", append(args, "--option", "2", "--artifacts")...), "needs option 1")
	require.Contains(t, u.fails(cli.ExitUsage, "", append(args, "--time", "today")...), "--time")
	require.NoError(t, os.Chmod(at("key.pem"), 0o640))
	require.Contains(t, u.fails(cli.ExitUsage, "", args...), "can be used by other users (mode 0640); run: chmod 600")
	require.NoError(t, os.Chmod(at("key.pem"), 0o600))
	write("cert.pem", cmstest.CertificatePEM(ca.Issue(cmstest.Options{Name: "other"}).Certificate), 0o644)
	require.Contains(t, u.fails(cli.ExitUsage, "", args...), "the key does not belong to the certificate")
	require.Contains(t, u.fails(cli.ExitUsage, "", "package", "sign", plainPackage), "--key and --cert are required")
}
