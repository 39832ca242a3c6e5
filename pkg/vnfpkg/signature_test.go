package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// trusting sets a policy with a folder as trust store.
func trusting(policy signature.Policy, dir string) func(*vnfpkg.Options) {
	return func(o *vnfpkg.Options) { o.Signatures = signaturesOf(policy, dir) }
}

func signaturesOf(policy signature.Policy, dir string) vnfpkg.Signatures {
	return vnfpkg.Signatures{
		Policy: policy, Now: func() time.Time { return cmstest.Now },
		Trust: func() (*signature.Trust, error) { return signature.LoadTrust(dir, nil) },
	}
}

// trustDir is a trust store with the certificates of authorities.
func trustDir(tb testing.TB, all ...*cmstest.CA) string {
	tb.Helper()
	dir := tb.TempDir()
	for i, ca := range all {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".pem"), ca.PEM(), 0o600))
	}
	return dir
}

// signedPackage signs the small package.
func signedPackage(tb testing.TB, id cms.Identity, option string) []byte {
	tb.Helper()
	dir := tb.TempDir()
	in, out := filepath.Join(dir, "in.zip"), filepath.Join(dir, "vnf.zip")
	require.NoError(tb, os.WriteFile(in, vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")), 0o600))
	_, err := vnfpkg.Sign(tb.Context(), in, out, vnfpkg.Signing{
		Identity: id, Option: option, Artifacts: option == signature.Option1, Time: cmstest.Now,
	}, vnfpkg.DefaultLimits())
	require.NoError(tb, err)
	data, err := os.ReadFile(out)
	require.NoError(tb, err)
	files, err := os.ReadDir(dir)
	require.NoError(tb, err)
	require.Len(tb, files, 2, "nothing is left")
	return data
}

// repack writes the same files with another compression.
func repack(tb testing.TB, archive []byte, method uint16) []byte {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(tb, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(tb, err)
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: method})
		require.NoError(tb, err)
		_, err = io.Copy(to, r)
		require.NoError(tb, err)
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// upload onboards an archive and returns the package, which may be rejected.
func (b *bundle) upload(tb testing.TB, archive []byte) *vnfpkg.Package {
	tb.Helper()
	id := b.create(tb)
	require.NoError(tb, b.Upload(tb.Context(), id, nil, bytes.NewReader(archive)))
	b.work(tb)
	return b.get(tb, id)
}

func TestPolicyDecidesAboutPackages(t *testing.T) {
	t.Parallel()
	ca, stranger := cmstest.NewCA(t, "root"), cmstest.NewCA(t, "stranger")
	dir, known := trustDir(t, ca), ca.Issue(cmstest.Options{Name: "a"})
	for name, tc := range map[string]struct {
		archive []byte
		state   signature.State
		detail  string // of the rejection by Require
		hint    string
	}{
		"signed, option 1": {signedPackage(t, known, signature.Option1), signature.Trusted, "", ""},
		"signed, option 2": {signedPackage(t, known, signature.Option2), signature.Trusted, "", ""},
		"unsigned": {
			vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")), signature.Unsigned,
			`the check "signature" of the package's signature failed: the package has no manifest, and no signature`,
			"gybe package sign",
		},
		"by a stranger, option 1": {
			signedPackage(t, stranger.Issue(cmstest.Options{Name: "b"}), signature.Option1), signature.Failed,
			`the check "trust" of the package's signature failed for CN=b,O=Test: no chain leads from the signer's ` +
				"certificate to the trust store: unknown authority CN=stranger,O=Test",
			"put the certificate of its authority",
		},
		"by a stranger, option 2": {
			signedPackage(t, stranger.Issue(cmstest.Options{Name: "b"}), signature.Option2), signature.Failed,
			"unknown authority CN=stranger,O=Test", "put the certificate of its authority",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, policy := range []signature.Policy{signature.Require, signature.Warn, signature.Off} {
				b := setup(t, trusting(policy, dir))
				p := b.upload(t, tc.archive)
				if policy == signature.Require && tc.detail != "" {
					require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
					require.Contains(t, p.Failure.Detail, tc.detail)
					require.Contains(t, p.Failure.Hint, tc.hint)
					require.Equal(t, 422, p.Failure.Status)
					require.Empty(t, b.digests(t), "a rejected package leaves nothing")
					continue
				}
				require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.Failure)
				want := tc.state
				if policy == signature.Off {
					want = signature.NotChecked
				}
				require.Equal(t, want, p.Onboarded.Signature.State, "%s: %+v", policy, p.Onboarded.Signature.Checks)
			}
		})
	}
}

// TestContainerIsOnboarded: clients get back what was uploaded, and the files of the archive in it.
func TestContainerIsOnboarded(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id := ca.Issue(cmstest.Options{Name: "signer"})
	stored := signedPackage(t, id, signature.Option2)
	for name, archive := range map[string][]byte{"stored": stored, "compressed": repack(t, stored, zip.Deflate)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, trusting(signature.Require, trustDir(t, ca)))
			p := b.upload(t, archive)
			require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.Failure)
			info := p.Info()
			require.Equal(t, signature.Option2, info.PackageSecurityOption)
			require.Equal(t, string(cmstest.CertificatePEM(id.Certificate)), info.SigningCertificate)
			require.Equal(t, p.Content.Digest, info.Checksum.Hash)

			f, err := b.Content(t.Context(), p.ID)
			require.NoError(t, err)
			data, err := io.ReadAll(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.True(t, bytes.Equal(archive, data))

			b.content.KeepFree(1 << 62) // requests do not unpack the archive again
			f, err = b.Artifact(t.Context(), p.ID, "Scripts/run.sh")
			require.NoError(t, err)
			require.NoError(t, f.Close())
			d, err := b.VNFD(t.Context(), p.ID, true)
			require.NoError(t, err)
			require.Contains(t, zipNames(t, d), "Definitions/vnfd.yaml")
			b.content.KeepFree(0)

			// Another node extracts the files again if they are lost.
			require.NoError(t, os.RemoveAll(filepath.Join(b.dir, "trees")))
			fsys, err := b.another().Files(t.Context(), p.ID)
			require.NoError(t, err)
			file, err := fsys.Open("Scripts/run.sh")
			require.NoError(t, err)
			require.NoError(t, file.Close())
			d, err = b.VNFD(t.Context(), p.ID, true)
			require.NoError(t, err)
			require.Contains(t, zipNames(t, d), "Definitions/vnfd.yaml")
			left, err := os.ReadDir(filepath.Join(b.dir, "tmp"))
			require.NoError(t, err)
			require.Empty(t, left, "unpacked archives are removed")
		})
	}
}

// TestContainerWaitsForDiskSpace: the archive in a container cannot be unpacked now.
func TestContainerWaitsForDiskSpace(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	archive := signedPackage(t, ca.Issue(cmstest.Options{Name: "signer"}), signature.Option2)
	b := setup(t, trusting(signature.Require, trustDir(t, ca)))
	id := b.create(t)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(repack(t, archive, zip.Deflate))))
	jobs := b.store.Jobs()
	b.content.KeepFree(1 << 62)
	var space *content.SpaceError
	require.ErrorAs(t, b.Onboard(t.Context(), jobs[0]), &space)
	b.content.KeepFree(0)
	require.NoError(t, b.Onboard(t.Context(), jobs[0]))
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
}

// TestTrustStoreIsReadForEachPackage: an operator adds and revokes certificates while the node runs.
func TestTrustStoreIsReadForEachPackage(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id := ca.Issue(cmstest.Options{Name: "signer"})
	archive, dir := signedPackage(t, id, signature.Option1), t.TempDir()
	b := setup(t, trusting(signature.Require, dir))
	require.Contains(t, b.upload(t, archive).Failure.Detail, "the trust store has no certificates")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.pem"), ca.PEM(), 0o600))
	p := b.upload(t, archive)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.Failure)
	_, _, err := b.Update(t.Context(), p.ID, sol.VnfPkgInfoModifications{
		OperationalState: sol.PackageOperationalStateDisabled,
	}, nil)
	require.NoError(t, err)
	require.NoError(t, b.Delete(t.Context(), p.ID, nil))

	crl := ca.CRL(cmstest.Now.Add(time.Hour), id.Certificate)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crl"), crl, 0o600))
	require.Contains(t, b.upload(t, archive).Failure.Detail, "the certificate is revoked (ca.crl)")
}

// TestTrustStoreThatCannotBeRead is a problem of the node and not of the package.
func TestTrustStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	archive, dir := signedPackage(t, ca.Issue(cmstest.Options{Name: "signer"}), signature.Option1), trustDir(t, ca)
	broken := filepath.Join(dir, "broken.crl")
	require.NoError(t, os.WriteFile(broken, []byte("x"), 0o600))

	b := setup(t, trusting(signature.Require, dir))
	id := b.create(t)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(archive)))
	jobs := b.store.Jobs()
	require.Error(t, b.Onboard(t.Context(), jobs[0]))
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateProcessing, p.OnboardingState)
	require.Contains(t, p.Failure.Detail, "the trust store of this node")
	require.NoError(t, os.Remove(broken))
	require.NoError(t, b.Onboard(t.Context(), jobs[0]))
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)

	require.NoError(t, os.WriteFile(broken, []byte("x"), 0o600))
	b = setup(t, trusting(signature.Warn, dir))
	p = b.upload(t, archive)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.Failure)
	require.Equal(t, signature.Failed, p.Onboarded.Signature.State)
}

// TestDamageOfSignedPackages inverts one bit at each place of signed packages, or at every third: none of them is
// trusted unless its files are the same.
func TestDamageOfSignedPackages(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id, dir := ca.Issue(cmstest.Options{Name: "signer"}), trustDir(t, ca)
	one, two := signedPackage(t, id, signature.Option1), signedPackage(t, id, signature.Option2)
	for name, tc := range map[string]struct {
		archive []byte
		step    int
	}{
		"option 1, stored":     {repack(t, one, zip.Store), 1},
		"option 2, stored":     {two, 3},
		"option 2, compressed": {repack(t, two, zip.Deflate), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "p.zip")
			read := func(data []byte) (*vnfpkg.Contents, error) {
				require.NoError(t, os.WriteFile(file, data, 0o600))
				return vnfpkg.Check(t.Context(), file, vnfpkg.DefaultLimits(), signaturesOf(signature.Require, dir))
			}
			good, err := read(tc.archive)
			require.NoError(t, err)
			for at := 0; at < len(tc.archive); at += tc.step {
				damaged := slices.Clone(tc.archive)
				damaged[at] ^= 1 << (at % 8)
				c, err := read(damaged)
				if err != nil {
					require.True(t, isRejection(err), "byte %d: %v", at, err)
					continue
				}
				require.Equal(t, good.VNFD, c.VNFD, "byte %d", at)
				require.Equal(t, good.Report.Artifacts, c.Report.Artifacts, "byte %d", at)
				require.Equal(t, good.Report.Bytes, c.Report.Bytes, "byte %d", at)
				require.Equal(t, good.Signature.Signers, c.Signature.Signers, "byte %d", at)
			}
		})
	}
}
