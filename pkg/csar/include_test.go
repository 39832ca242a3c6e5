package csar_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
)

// siblings makes source folders beside each other and opens one of them.
func siblings(t *testing.T, open string, folders map[string]map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for sub, files := range folders {
		for name, body := range files {
			at := filepath.Join(dir, sub, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
			require.NoError(t, os.WriteFile(at, []byte(body), 0o644))
		}
	}
	root, err := os.OpenRoot(filepath.Join(dir, open))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root
}

// Two packages can have the same script although it exists once.
func TestPackageTakesFilesFromASiblingFolder(t *testing.T) {
	t.Parallel()
	root := siblings(t, "one", map[string]map[string]string{
		"one": {
			csar.MetaPath: meta +
				"\nName: Scripts/x.sh\nContent-Type: application/sh\n\nName: Scripts/lib/os.sh\n" +
				"Content-Type: application/sh\n",
			"Definitions/top.yaml": "a: b\n", "Scripts/own.sh": "own",
			".csarinclude": "# from the other package\nother/Scripts/x.sh\nother/Scripts/own.sh\nother/Scripts/lib\n",
		},
		"other": {
			"Scripts/x.sh": script, "Scripts/own.sh": "not this one", "Scripts/lib/os.sh": "os",
			"Scripts/lib/.os.sh.swp": "", "Scripts/y.sh": "not asked for",
		},
	})
	a, err := openZip(build(t, root), csar.DefaultLimits())
	require.NoError(t, err)
	require.Equal(
		t, []string{"Definitions/top.yaml", "Scripts/lib/os.sh", "Scripts/own.sh", "Scripts/x.sh", csar.MetaPath},
		a.Names(),
	)
	got, err := fs.ReadFile(a.FS(), csar.MetaPath)
	require.NoError(t, err)
	require.Contains(t, string(got), sha256Of(script), "an included file has a checksum, too")
	own, err := fs.ReadFile(a.FS(), "Scripts/own.sh")
	require.NoError(t, err)
	require.Equal(t, "own", string(own))
}

// A folder that is not there, or a line that leads elsewhere, is reported with its place.
func TestWrongInclusionIsRejected(t *testing.T) {
	t.Parallel()
	for line, words := range map[string]string{
		"missing/Scripts/x.sh":  "has no file",
		"other/Scripts/z.sh":    "has no file",
		"../other/Scripts/x.sh": "is not like FOLDER/PATH",
		"/other/Scripts/x.sh":   "is not like FOLDER/PATH",
		"other/../../etc/hosts": "is not like FOLDER/PATH",
		"other":                 "is not like FOLDER/PATH",
		"other/Scripts/link.sh": "not a regular file",
	} {
		root := siblings(t, "one", map[string]map[string]string{
			"one":   {csar.MetaPath: meta, "Definitions/top.yaml": "a: b\n", ".csarinclude": line + "\n"},
			"other": {"Scripts/x.sh": script},
		})
		require.NoError(
			t, os.Symlink("/etc/hosts", filepath.Join(filepath.Dir(root.Name()), "other", "Scripts", "link.sh")),
		)
		_, err := csar.Build(t.Context(), root, io.Discard, csar.DefaultLimits())
		var r *csar.Rejection
		require.ErrorAs(t, err, &r, line)
		require.ErrorContains(t, err, words, line)
	}
}
