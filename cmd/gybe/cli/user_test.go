package cli_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// user is a person with a home directory and variables.
type user struct {
	t    *testing.T
	home string
	env  []string
}

func newUser(t *testing.T, env ...string) *user {
	t.Helper()
	home := t.TempDir()
	return &user{t, home, append([]string{"HOME=" + home}, env...)}
}

// with is the user with more variables.
func (u *user) with(env ...string) *user {
	return &user{u.t, u.home, append(append([]string{}, u.env...), env...)}
}

// gybe runs a command and returns its exit code and its output.
func (u *user) gybe(stdin string, args ...string) (code int, stdout, stderr string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = cli.Run(ctx, args, cli.Env{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Environ: u.env, Version: "test",
	})
	return code, out.String(), errs.String()
}

// ok runs a command that has to succeed.
func (u *user) ok(stdin string, args ...string) string {
	u.t.Helper()
	code, out, errs := u.gybe(stdin, args...)
	require.Equal(u.t, 0, code, "gybe %s: %s", strings.Join(args, " "), errs)
	return out
}

// fails runs a command that has to end with an exit code, and returns its errors.
func (u *user) fails(want int, stdin string, args ...string) string {
	u.t.Helper()
	code, out, errs := u.gybe(stdin, args...)
	require.Equal(u.t, want, code, "gybe %s: %s%s", strings.Join(args, " "), out, errs)
	return errs
}

// secretFiles requires that all files of the user are for the user only.
func (u *user) secretFiles() {
	u.t.Helper()
	n := 0
	require.NoError(u.t, filepath.Walk(u.home, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n++
			require.Equal(u.t, os.FileMode(0o600), info.Mode().Perm(), path)
		}
		return err
	}))
	require.Positive(u.t, n)
}

// startNode starts a node with authentication.
func startNode(t *testing.T, vim *apitest.VIM, change func(*config.Config)) *app.App {
	t.Helper()
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen = devpg.TestURL(t), "127.0.0.1:0", ""
	cfg.DataDir, cfg.NodeID = t.TempDir(), "node-1"
	change(&cfg)
	node, err := app.New(t.Context(), cfg, app.Options{
		Log: slog.New(slog.DiscardHandler), Version: "v1.2.3", Infras: map[string]lcm.Infra{apitest.VimType: vim},
		WrapAPI: oracle.Handler(t),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-node.Ready()
	return node
}

// certificate writes a certificate for this machine with its key, and returns the files. It is its own authority.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gybe"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}
