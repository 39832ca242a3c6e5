package csar_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
)

func folder(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root
}

func build(t *testing.T, root *os.Root) []byte {
	t.Helper()
	var buf bytes.Buffer
	_, err := csar.Build(t.Context(), root, &buf, csar.DefaultLimits())
	require.NoError(t, err)
	return buf.Bytes()
}

func sourceFiles() map[string]string {
	return map[string]string{
		csar.MetaPath: meta +
			"\nName: Scripts/x.sh\nContent-Type: application/sh\n\nName: Scripts/y.sh\nAlgorithm: sha512\n" +
			"Hash: stale\nContent-Type: application/sh\n",
		"Definitions/top.yaml": "a: b\n",
		"Scripts/x.sh":         script, "Scripts/y.sh": "y",
		"Files/images/i.img": strings.Repeat("\x00", 200<<10),
		".csarignore":        "# not for the package\nparams/\n*.bak\n/Scripts/z.*\n",
		"params/simple.json": "{}", "Scripts/x.sh.bak": "", "Scripts/z.sh": "", ".git/config": "",
		"Scripts/.DS_Store": "",
	}
}

func TestBuiltPackageIsValidAndCarriesHashes(t *testing.T) {
	t.Parallel()
	data := build(t, folder(t, sourceFiles()))
	a, err := openZip(data, csar.DefaultLimits())
	require.NoError(t, err)
	require.Equal(
		t, []string{"Definitions/top.yaml", "Files/images/i.img", "Scripts/x.sh", "Scripts/y.sh", csar.MetaPath},
		a.Names(),
	)
	got, err := fs.ReadFile(a.FS(), csar.MetaPath)
	require.NoError(t, err)
	require.Equal(
		t, meta+"\nName: Scripts/x.sh\nContent-Type: application/sh\nAlgorithm: SHA-256\nHash: "+sha256Of(script)+
			"\n\nName: Scripts/y.sh\nContent-Type: application/sh\nAlgorithm: SHA-512\nHash: "+sha512Of("y")+"\n",
		string(got))
	_, err = a.Verify(t.Context(), nil)
	require.NoError(t, err)
}

func TestSameFolderGivesTheSamePackage(t *testing.T) {
	t.Parallel()
	one, two := build(t, folder(t, sourceFiles())), build(t, folder(t, sourceFiles()))
	require.True(t, bytes.Equal(one, two))
	z, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	require.NoError(t, err)
	require.Equal(t, 1980, z.File[0].Modified.Year())
}

func TestBuildFillsTheManifestAndItsHashOfTheMetadata(t *testing.T) {
	t.Parallel()
	data := build(t, folder(t, map[string]string{
		csar.MetaPath:          meta + "ETSI-Entry-Manifest: v.mf\n\nName: Scripts/x.sh",
		"Definitions/top.yaml": "a: b\n", "Scripts/x.sh": script,
		"v.mf": "metadata:\n  vnf_product_name: x\n\nSource: v.mf\n\nSource: TOSCA-Metadata/TOSCA.meta\n\n" +
			"non_mano_artifact_sets:\n  s:\n    Source: Scripts/x.sh\n",
	}))
	report, err := verify(t, data, csar.DefaultLimits())
	require.NoError(t, err)
	require.Len(t, report.Artifacts, 2)
}

func TestFoldersThatAreNoPackageAreRejected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(files map[string]string)
		reason csar.Reason
	}{
		"listed file missing": {func(f map[string]string) { delete(f, "Scripts/x.sh") }, csar.MissingFile},
		"listed file ignored": {func(f map[string]string) { f[".csarignore"] = "Scripts\n" }, csar.MissingFile},
		"unknown algorithm": {func(f map[string]string) {
			f[csar.MetaPath] += "\nName: Scripts/x.sh\nAlgorithm: crc\n"
		}, csar.BadAlgorithm},
		"malformed pattern": {func(f map[string]string) { f[".csarignore"] = "[\n" }, csar.BadMetadata},
		"no VNFD":           {func(f map[string]string) { delete(f, "Definitions/top.yaml") }, csar.MissingFile},
		"signed manifest lies": {func(f map[string]string) {
			f["Definitions/top.mf"] = "Source: Scripts/x.sh\nAlgorithm: SHA-256\nHash: " + sha256Of("z") +
				"\n-----BEGIN CMS-----\n"
		}, csar.WrongChecksum},
	} {
		files := sourceFiles()
		tc.change(files)
		_, err := csar.Build(t.Context(), folder(t, files), io.Discard, csar.DefaultLimits())
		var r *csar.Rejection
		require.ErrorAs(t, err, &r, name)
		require.Equal(t, tc.reason, r.Reason, name)
	}
}

func TestSymbolicLinkInSourceFolderIsRejected(t *testing.T) {
	t.Parallel()
	root := folder(t, sourceFiles())
	require.NoError(t, root.Symlink("x.sh", "Scripts/link.sh"))
	_, err := csar.OpenDir(root, csar.DefaultLimits())
	requireRejection(t, err, csar.NotRegular, "Scripts/link.sh", "not a regular file")
}

func TestVerifyExtractsExactlyTheFiles(t *testing.T) {
	t.Parallel()
	data := build(t, folder(t, sourceFiles()))
	a, err := openZip(data, csar.DefaultLimits())
	require.NoError(t, err)
	dst, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, dst.Close()) }()

	want := csar.Sum{Path: "Scripts/x.sh", Algorithm: csar.SHA384}
	report, err := a.Verify(t.Context(), dst, want)
	require.NoError(t, err)
	require.Len(t, report.Sums[want], 96)
	require.Equal(t, 5, report.Files)
	var names []string
	require.NoError(t, fs.WalkDir(dst.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			names = append(names, p)
		}
		return err
	}))
	require.ElementsMatch(t, a.Names(), names)
	got, err := dst.ReadFile("Scripts/x.sh")
	require.NoError(t, err)
	require.Equal(t, script, string(got))

	_, err = a.Verify(t.Context(), dst)
	require.ErrorIs(t, err, fs.ErrExist, "files are never overwritten")
}

func TestVerifyStopsWithItsContext(t *testing.T) {
	t.Parallel()
	a, err := openZip(makeZip(t, good()...), csar.DefaultLimits())
	require.NoError(t, err)
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = a.Verify(ctx, nil)
	require.ErrorIs(t, err, cause)
}
