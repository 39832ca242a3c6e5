package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ lcm.Packages = (*vnfpkg.Services)(nil)

// bundle is a service with all that it works on.
type bundle struct {
	*vnfpkg.Service
	store   *vnfpkgtest.Memory
	content *content.Store
	dir     string
}

func setup(tb testing.TB, change ...func(*vnfpkg.Options)) *bundle {
	tb.Helper()
	b := &bundle{store: &vnfpkgtest.Memory{}, dir: tb.TempDir()}
	var err error
	b.content, err = content.Open(b.dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, b.content.Close()) })
	b.Service = b.another(change...)
	return b
}

// another is another node on the same database and content store.
func (b *bundle) another(change ...func(*vnfpkg.Options)) *vnfpkg.Service {
	o := vnfpkg.Options{Stores: b.store, Content: b.content, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	return vnfpkg.New(o).In(lcm.Principal{})
}

// work does the jobs that were added.
func (b *bundle) work(tb testing.TB) {
	tb.Helper()
	for _, id := range b.store.Jobs() {
		require.NoError(tb, b.Onboard(tb.Context(), id))
	}
}

func (b *bundle) create(tb testing.TB) string {
	tb.Helper()
	p, err := b.Create(tb.Context(), sol.KeyValuePairs{"k": "v"})
	require.NoError(tb, err)
	return p.ID
}

func (b *bundle) get(tb testing.TB, id string) *vnfpkg.Package {
	tb.Helper()
	p, err := b.Get(tb.Context(), id)
	require.NoError(tb, err)
	return p
}

// onboard makes an onboarded package of these files.
func (b *bundle) onboard(tb testing.TB, files map[string]string) *vnfpkg.Package {
	tb.Helper()
	id := b.create(tb)
	require.NoError(tb, b.Upload(tb.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(files))))
	b.work(tb)
	p := b.get(tb, id)
	require.Equal(tb, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.Failure)
	return p
}

func sha256Of(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (b *bundle) digests(tb testing.TB) []content.Digest {
	tb.Helper()
	var all []content.Digest
	for d, err := range b.content.All(tb.Context(), time.Now().Add(time.Hour)) {
		require.NoError(tb, err)
		all = append(all, d)
	}
	return all
}

func requireCode(tb testing.TB, err error, code lcm.Code) *lcm.Error {
	tb.Helper()
	var e *lcm.Error
	require.ErrorAs(tb, err, &e)
	require.Equal(tb, code, e.Code, err)
	return e
}

func TestPackageIsCreatedUploadedAndOnboarded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	require.Equal(t, sol.VnfPkgInfo{
		ID: id, OnboardingState: sol.PackageOnboardingStateCreated,
		OperationalState: sol.PackageOperationalStateDisabled, UsageState: sol.PackageUsageStateNotInUse,
		UserDefinedData: sol.KeyValuePairs{"k": "v"},
	}, b.get(t, id).Info())

	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(archive)))
	require.Equal(t, sol.PackageOnboardingStateProcessing, b.get(t, id).OnboardingState)
	require.Empty(t, b.get(t, id).Info().VnfdID)
	b.work(t)

	info := b.get(t, id).Info()
	require.Len(t, info.SoftwareImages, 1)
	require.WithinDuration(t, time.Now(), info.SoftwareImages[0].CreatedAt, time.Minute)
	info.SoftwareImages[0].CreatedAt = time.Time{}
	require.Equal(t, sol.VnfPkgInfo{
		ID: id, OnboardingState: sol.PackageOnboardingStateOnboarded,
		OperationalState: sol.PackageOperationalStateEnabled, UsageState: sol.PackageUsageStateNotInUse,
		UserDefinedData: sol.KeyValuePairs{"k": "v"}, VnfdID: "vnfd-1", VnfProvider: "Example", VnfProductName: "Small",
		VnfSoftwareVersion: "1.10", VnfdVersion: "1.0", VnfmInfo: []string{"Gybe"}, PackageSecurityOption: "OPTION_1",
		Checksum: &sol.Checksum{Algorithm: "SHA-512", Hash: string(b.digests(t)[0])},
		SoftwareImages: []sol.VnfPackageSoftwareImageInfo{{
			ID: "node", Name: "node-image", Version: "1", ContainerFormat: "BARE", DiskFormat: "QCOW2", Size: 1e9,
			ImagePath: "Files/images/node.img", UserMetadata: sol.KeyValuePairs{},
			Checksum: sol.Checksum{Algorithm: "SHA-256", Hash: sha256Of("an image")},
		}},
		AdditionalArtifacts: []sol.VnfPackageArtifactInfo{{
			ArtifactPath: "Scripts/run.sh", Checksum: sol.Checksum{Algorithm: "SHA-256", Hash: sha256Of("#!/bin/sh\n")},
			Metadata: sol.KeyValuePairs{},
		}},
	}, info)
	require.NoError(t, b.Onboard(t.Context(), id), "a job that runs again does nothing")
	require.Equal(t, int64(6), b.get(t, id).Version)
}

func TestEnablingAndDisabling(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	empty := b.create(t)
	disable := sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled}

	_, _, err := b.Update(t.Context(), empty, disable, nil)
	requireCode(t, err, lcm.CodeConflict)
	_, _, err = b.Update(t.Context(), p.ID, sol.VnfPkgInfoModifications{}, nil)
	requireCode(t, err, lcm.CodeInvalid)
	_, _, err = b.Update(
		t.Context(), p.ID, sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateEnabled}, nil,
	)
	requireCode(t, err, lcm.CodeConflict)
	old := p.Version - 1
	_, _, err = b.Update(t.Context(), p.ID, disable, &old)
	requireCode(t, err, lcm.CodePrecondition)
	_, _, err = b.Update(t.Context(), "none", disable, nil)
	requireCode(t, err, lcm.CodeNotFound)

	got, changed, err := b.Update(t.Context(), p.ID, disable, &p.Version)
	require.NoError(t, err)
	require.Equal(t, sol.PackageOperationalStateDisabled, got.OperationalState)
	require.Equal(t, disable, changed)
	_, _, err = b.Model(t.Context(), lcm.Principal{}, "vnfd-1")
	requireCode(t, err, lcm.CodeUnprocessable)
	_, err = b.ModelOf(t.Context(), p.ID)
	require.NoError(t, err, "instances that exist need it still")
}

func TestUserDataIsMerged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	for _, step := range []struct{ patch, want sol.KeyValuePairs }{
		{sol.KeyValuePairs{"a": map[string]any{"x": 1.0, "y": 2.0}}, sol.KeyValuePairs{
			"k": "v", "a": map[string]any{"x": 1.0, "y": 2.0},
		}},
		{sol.KeyValuePairs{"k": nil, "a": map[string]any{"x": nil, "z": 3.0}}, sol.KeyValuePairs{
			"a": map[string]any{"y": 2.0, "z": 3.0},
		}},
		{sol.KeyValuePairs{"a": []any{"l"}, "absent": nil}, sol.KeyValuePairs{"a": []any{"l"}}},
		{sol.KeyValuePairs{
			"a": map[string]any{"n": map[string]any{"deep": nil, "kept": true}},
		}, sol.KeyValuePairs{"a": map[string]any{"n": map[string]any{"kept": true}}}},
		{sol.KeyValuePairs{"a": nil}, sol.KeyValuePairs{}},
	} {
		_, changed, err := b.Update(t.Context(), id, sol.VnfPkgInfoModifications{UserDefinedData: step.patch}, nil)
		require.NoError(t, err)
		require.Equal(t, sol.VnfPkgInfoModifications{UserDefinedData: step.want}, changed)
	}
}

func TestDeleting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	e := requireCode(t, b.Delete(t.Context(), p.ID, nil), lcm.CodeConflict)
	require.Contains(t, e.Detail, "ENABLED")
	_, _, err := b.Update(
		t.Context(), p.ID, sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled}, nil,
	)
	require.NoError(t, err)
	b.store.Refer(p.ID, true)
	e = requireCode(t, b.Delete(t.Context(), p.ID, nil), lcm.CodeConflict)
	require.Contains(t, e.Detail, "IN_USE")
	b.store.Refer(p.ID, false)
	requireCode(t, b.Delete(t.Context(), p.ID, &p.Version), lcm.CodePrecondition)

	require.NoError(t, b.Delete(t.Context(), p.ID, nil))
	requireCode(t, b.Delete(t.Context(), p.ID, nil), lcm.CodeNotFound)
	require.Empty(t, b.digests(t))
	_, _, err = b.Model(t.Context(), lcm.Principal{}, "vnfd-1")
	requireCode(t, err, lcm.CodeUnprocessable)
}

func TestContentIsServedOnceOnboarded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	empty := b.create(t)
	for _, open := range []func(id string) error{
		func(id string) error { _, err := b.Content(t.Context(), id); return err },
		func(id string) error { _, err := b.VNFD(t.Context(), id, false); return err },
		func(id string) error { _, err := b.Artifact(t.Context(), id, "Scripts/run.sh"); return err },
		func(id string) error { _, err := b.Files(t.Context(), id); return err },
	} {
		requireCode(t, open(empty), lcm.CodeConflict)
		requireCode(t, open("none"), lcm.CodeNotFound)
	}

	files := vnfpkgtest.Files("vnfd-1")
	p := b.onboard(t, files)
	archive, err := b.Content(t.Context(), p.ID)
	require.NoError(t, err)
	data, err := io.ReadAll(archive)
	require.NoError(t, err)
	require.Equal(t, vnfpkgtest.Zip(files), data)
	require.Equal(t, int64(len(data)), archive.Size)
	require.NoError(t, archive.Close())

	for path, want := range map[string]bool{
		"Scripts/run.sh": true, "Files/images/node.img": true,
		"Definitions/vnfd.yaml": false, "BaseHOT/simple/top.yaml": false, "../../../etc/passwd": false, "": false,
		"Scripts": false,
	} {
		f, err := b.Artifact(t.Context(), p.ID, path)
		if !want {
			requireCode(t, err, lcm.CodeNotFound)
			continue
		}
		require.NoError(t, err)
		data, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, files[path], string(data))
		require.NotEmpty(t, f.Hash)
		require.NoError(t, f.Close())
	}
}

// TestChecksumsAreSpelledAsInSOL004: also those of rows of the release before, and of VNFDs with another spelling.
func TestChecksumsAreSpelledAsInSOL004(t *testing.T) {
	t.Parallel()
	p := &vnfpkg.Package{
		OnboardingState: sol.PackageOnboardingStateOnboarded, Content: &vnfpkg.Content{Digest: "d"},
		Onboarded: &vnfpkg.Onboarded{
			Images: []sol.VnfPackageSoftwareImageInfo{
				{Checksum: sol.Checksum{Algorithm: "sha-512"}}, {Checksum: sol.Checksum{Algorithm: "md5"}},
			},
			Artifacts: []sol.VnfPackageArtifactInfo{{Checksum: sol.Checksum{Algorithm: "sha256"}}},
		},
	}
	info := p.Info()
	require.Equal(t, "SHA-512", info.Checksum.Algorithm)
	require.Equal(t, "SHA-512", info.SoftwareImages[0].Checksum.Algorithm)
	require.Equal(t, "md5", info.SoftwareImages[1].Checksum.Algorithm, "SOL004 has no name for it")
	require.Equal(t, "SHA-256", info.AdditionalArtifacts[0].Checksum.Algorithm)
	require.Equal(t, "sha256", p.Onboarded.Artifacts[0].Checksum.Algorithm, "the package itself does not change")
}

func TestVNFDOfOneFileIsTextAndOfSeveralAnArchive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	files := vnfpkgtest.Files("vnfd-1")
	d, err := b.VNFD(t.Context(), b.onboard(t, files).ID, false)
	require.NoError(t, err)
	require.True(t, d.Single())
	text, err := d.Text(t.Context())
	require.NoError(t, err)
	data, err := io.ReadAll(text)
	require.NoError(t, err)
	require.Equal(t, files["Definitions/vnfd.yaml"], string(data))
	require.NoError(t, text.Close())
	require.Equal(t, []string{"Definitions/vnfd.yaml", csar.MetaPath}, zipNames(t, d))

	files = vnfpkgtest.Files("vnfd-2")
	files["Definitions/vnfd.yaml"] = strings.Replace(
		files["Definitions/vnfd.yaml"], "imports:\n", "imports:\n  - types.yaml\n", 1,
	)
	files["Definitions/types.yaml"] = "node_types: {}\n"
	d, err = b.VNFD(t.Context(), b.onboard(t, files).ID, false)
	require.NoError(t, err)
	require.False(t, d.Single())
	_, err = d.Text(t.Context())
	requireCode(t, err, lcm.CodeNotAcceptable)
	require.Equal(t, []string{"Definitions/types.yaml", "Definitions/vnfd.yaml", csar.MetaPath}, zipNames(t, d))
}

func zipNames(t *testing.T, d *vnfpkg.Document) []string {
	t.Helper()
	f, err := d.Archive(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Len(t, data, int(f.Size))
	z, err := zip.NewReader(bytes.NewReader(data), f.Size)
	require.NoError(t, err)
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	return names
}

func TestUploadsThatFailLeaveThePackageReadyForTheNext(t *testing.T) {
	t.Parallel()
	gone := errors.New("connection reset")
	for name, tc := range map[string]struct {
		body   io.Reader
		code   lcm.Code
		detail string
	}{
		"over the limit": {
			strings.NewReader(strings.Repeat("x", 100_001)), lcm.CodeTooLarge, "larger than 100000 bytes",
		},
		"endless": {endless{}, lcm.CodeTooLarge, "larger than 100000 bytes"},
		"connection lost": {
			io.MultiReader(strings.NewReader("PK"), iotest.ErrReader(gone)), lcm.CodeInvalid,
			"could not be read to its end",
		},
		"client gone": {iotest.ErrReader(context.Canceled), lcm.CodeUnavailable, "the request ended"},
		"cut off in the middle": {
			iotest.ErrReader(io.ErrUnexpectedEOF), lcm.CodeInvalid, "could not be read to its end",
		},
		"disk is full": {
			iotest.ErrReader(&fs.PathError{Op: "write", Path: "/var/lib/secret", Err: errors.New("no space left")}),
			lcm.CodeUnavailable, "content store",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(
				t, func(o *vnfpkg.Options) { o.Limits = vnfpkg.DefaultLimits(); o.Limits.ArchiveBytes = 100_000 },
			)
			id := b.create(t)
			e := requireCode(t, b.Upload(t.Context(), id, nil, tc.body), tc.code)
			require.Contains(t, e.Detail, tc.detail)
			require.NotContains(t, e.Detail, "/var/lib/secret")
			p := b.get(t, id)
			require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
			require.Equal(t, e.Detail, p.Info().OnboardingFailureDetails.Detail)
			require.Equal(t, e.Status(), p.Failure.Status)
			require.Empty(t, b.digests(t))
			require.Empty(t, b.store.Jobs())

			require.NoError(
				t, b.Upload(t.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))),
			)
			b.work(t)
			p = b.get(t, id)
			require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
			require.Nil(t, p.Failure)
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestAbortedRequestStillReturnsThePackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Upload(ctx, id, nil, readerFunc(func(p []byte) (int, error) { cancel(); return copy(p, "PK"), nil }))
	requireCode(t, err, lcm.CodeUnavailable)
	require.Equal(t, sol.PackageOnboardingStateCreated, b.get(t, id).OnboardingState)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestContentCanOnlyBeUploadedToACreatedPackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	p := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	requireCode(t, b.Upload(t.Context(), p.ID, nil, bytes.NewReader(archive)), lcm.CodeConflict)
	requireCode(t, b.Upload(t.Context(), "none", nil, bytes.NewReader(archive)), lcm.CodeNotFound)

	id := b.create(t)
	started, finish := make(chan struct{}), make(chan struct{})
	first := make(chan error)
	go func() {
		first <- b.Upload(t.Context(), id, nil, readerFunc(func([]byte) (int, error) {
			close(started)
			<-finish
			return 0, io.EOF
		}))
	}()
	<-started
	e := requireCode(t, b.Upload(t.Context(), id, nil, bytes.NewReader(archive)), lcm.CodeConflict)
	require.Contains(t, e.Detail, "UPLOADING")
	close(finish)
	require.NoError(t, <-first)
}

func TestValidateReadsFoldersAndArchives(t *testing.T) {
	t.Parallel()
	const cluster = "../../vnf-packages/kubernetes-cluster"
	if _, err := os.Stat(cluster); err != nil {
		t.Skip("SKIPPED: the sample package is not there: ", err)
	}
	folder, err := vnfpkg.Validate(t.Context(), cluster, vnfpkg.DefaultLimits())
	require.NoError(t, err)
	require.Empty(t, folder.Warnings)
	for _, flavour := range []string{"simple", "complex"} {
		f := folder.VNFD.Flavour(flavour)
		require.NotNil(t, f)
		require.NotNil(t, f.VDU("masterNode"))
		require.NotNil(t, f.VDU("workerNode").Image)
		require.Equal(t, "mgmt-drivers-kubernetes", f.LCM["instantiate_end"].Name)
		require.Equal(t, 2, f.Aspect("workerNode_scale").MaxScaleLevel)
		require.Equal(t, "instantiation_level_1", f.DefaultLevel)
	}
	counts, ok := folder.VNFD.Flavour("complex").Counts("instantiation_level_2")
	require.True(t, ok)
	require.Equal(t, map[string]int{"masterNode": 3, "workerNode": 4}, counts)

	out := t.TempDir() + "/cluster.zip"
	built, err := vnfpkg.Build(t.Context(), cluster, out, vnfpkg.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, folder.VNFD, built.VNFD)
	archive, err := vnfpkg.Validate(t.Context(), out, vnfpkg.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, folder.VNFD, archive.VNFD)
}

func TestBuildLeavesNoFileOfABrokenPackage(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/vnfd.yaml", []byte("a: b\n"), 0o600))
	_, err := vnfpkg.Build(t.Context(), dir, out+"/x.zip", vnfpkg.DefaultLimits())
	var r *csar.Rejection
	require.ErrorAs(t, err, &r)
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestAProjectDoesNotSeeThePackagesOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ours := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	other := b.In(lcm.Principal{Project: "other"})

	_, err := other.Content(t.Context(), ours.ID)
	requireCode(t, err, lcm.CodeNotFound)
	_, err = other.VNFD(t.Context(), ours.ID, false)
	requireCode(t, err, lcm.CodeNotFound)
	requireCode(t, other.Upload(t.Context(), ours.ID, nil, bytes.NewReader(nil)), lcm.CodeNotFound)
	requireCode(t, other.Delete(t.Context(), ours.ID, nil), lcm.CodeNotFound)
	_, _, err = other.Update(
		t.Context(), ours.ID, sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled}, nil,
	)
	requireCode(t, err, lcm.CodeNotFound)
	_, _, err = b.Model(t.Context(), lcm.Principal{Project: "other"}, "vnfd-1")
	e := requireCode(t, err, lcm.CodeUnprocessable)
	require.NotContains(t, e.Hint, "vnfd-1", "a hint does not name packages of other projects")

	// The same VNFD in another project is another package. The engine onboards it there.
	p, err := other.Create(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(
		t, other.Upload(t.Context(), p.ID, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))),
	)
	b.work(t)
	_, id, err := b.Model(t.Context(), lcm.Principal{Project: "other"}, "vnfd-1")
	require.NoError(t, err)
	require.Equal(t, p.ID, id)
	_, id, err = b.Model(t.Context(), lcm.Principal{}, "vnfd-1")
	require.NoError(t, err)
	require.Equal(t, ours.ID, id)

	// A second one in the same project names the package of this project.
	second, err := other.Create(t.Context(), nil)
	require.NoError(t, err)
	requireCode(
		t, other.Upload(t.Context(), second.ID, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))),
		lcm.CodeConflict,
	)
	second, err = other.Get(t.Context(), second.ID)
	require.NoError(t, err)
	require.Contains(t, second.Failure.Detail+second.Failure.Hint, p.ID)
}
