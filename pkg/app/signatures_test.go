package app_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// uploaded uploads an archive and returns the package after its onboarding.
func uploaded(t *testing.T, c *client.Client, archive []byte) *sol.VnfPkgInfo {
	t.Helper()
	p, err := c.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	require.NoError(t, c.UploadPackage(t.Context(), p.ID, bytes.NewReader(archive)))
	require.Eventually(t, func() bool {
		p, err = c.Package(t.Context(), p.ID)
		require.NoError(t, err)
		return p.OnboardingState == sol.PackageOnboardingStateOnboarded || p.OnboardingFailureDetails != nil
	}, time.Minute, 20*time.Millisecond)
	return p
}

// TestNodeRequiresSignatures: the node rejects an unsigned package with the reason, and shows who signed another one in
// the API, in events and in the console. The trust store is read while the node runs.
func TestNodeRequiresSignatures(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	trust, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(trust, "other.pem"), cmstest.NewCA(t, "other").PEM(), 0o600))
	plain := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain.zip"), plain, 0o600))
	_, err := vnfpkg.Sign(t.Context(), filepath.Join(dir, "plain.zip"), filepath.Join(dir, "vnf.zip"), vnfpkg.Signing{
		Identity: ca.Issue(cmstest.Options{Name: "signer"}), Option: signature.Option2, Time: cmstest.Now,
	}, vnfpkg.DefaultLimits())
	require.NoError(t, err)
	signed, err := os.ReadFile(filepath.Join(dir, "vnf.zip"))
	require.NoError(t, err)

	cfg := settings(t, devpg.EmptyURL(t))
	cfg.Packages = config.Packages{Signatures: config.SignaturesRequire, TrustDir: trust}
	n, c, _ := start(t, cfg)
	p := uploaded(t, c, plain)
	require.Contains(t, p.OnboardingFailureDetails.Detail, "the package has no manifest, and no signature")
	require.Contains(t, p.OnboardingFailureDetails.Hint, "gybe package sign")
	_, err = c.PackageSignature(t.Context(), p.ID)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusConflict, refused.Status())
	require.Contains(t, uploaded(t, c, signed).OnboardingFailureDetails.Detail, "unknown authority CN=root,O=Test")

	require.NoError(t, os.WriteFile(filepath.Join(trust, "ca.pem"), ca.PEM(), 0o600))
	p = uploaded(t, c, signed)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.OnboardingFailureDetails)
	require.Equal(t, "OPTION_2", p.PackageSecurityOption)
	require.Contains(t, p.SigningCertificate, "-----BEGIN CERTIFICATE-----")
	s, err := c.PackageSignature(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, "TRUSTED", s.State)
	require.Equal(t, "CN=signer,O=Test", s.Signers[0].Subject)
	require.Equal(t, "CN=root,O=Test", s.Signers[0].Root)
	require.WithinDuration(t, time.Now(), s.Checked, time.Minute)

	for e, err := range c.Events(t.Context(), client.EventQuery{After: client.FromStart}) {
		require.NoError(t, err)
		if e.Kind == gybeapi.KindPackage && bytes.Contains(e.Body, []byte(`"ONBOARDED"`)) {
			require.Contains(t, string(e.Body), `"signature":"TRUSTED"`)
			break
		}
	}
	_, page := get(t, n.URL()+"/ui/packages/"+p.ID)
	require.Contains(t, page, "CN=signer,O=Test")
}

// TestTrustStoreThatCannotBeReadStopsTheStart: before a package is rejected because of it.
func TestTrustStoreThatCannotBeReadStopsTheStart(t *testing.T) {
	t.Parallel()
	cfg := settings(t, devpg.EmptyURL(t))
	cfg.Packages = config.Packages{Signatures: config.SignaturesWarn, TrustDir: filepath.Join(t.TempDir(), "missing")}
	_, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "packages.trust_dir, packages.trust_files: read trust store")

	cfg.Packages = config.Packages{Signatures: config.SignaturesRequire, TrustDir: t.TempDir()}
	_, err = app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "has a certificate")
}
