package vnfpkg_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// FuzzRead: whatever the texts of a package say, the archive is read or rejected; no text makes onboarding try again.
func FuzzRead(f *testing.F) {
	files := vnfpkgtest.Files("vnfd-1")
	const vnfd, manifest = "Definitions/vnfd.yaml", "Definitions/vnfd.mf"
	f.Add(files[csar.MetaPath], files[vnfd], "metadata:\n\nSource: Scripts/run.sh\nAlgorithm: SHA-256\nHash: "+
		sha256Of(files["Scripts/run.sh"])+"\n", "Scripts/run.sh", "#!/bin/sh\n")
	f.Add("Entry-Definitions: x/../y\n", "a: *b", "Source: http://x\n", "../x", "")
	f.Fuzz(func(t *testing.T, meta, descriptor, mf, name, body string) {
		if strings.HasSuffix(name, "/") {
			return // a directory, which cannot be written with a body
		}
		files := vnfpkgtest.Files("vnfd-1")
		files[csar.MetaPath], files[vnfd], files[manifest], files[name] = meta, descriptor, mf, body
		archive := vnfpkgtest.Zip(files)
		c, err := vnfpkg.Read(t.Context(), bytes.NewReader(archive), int64(len(archive)), vnfpkg.DefaultLimits())
		if err != nil {
			require.True(t, isRejection(err), "%v", err)
			return
		}
		require.NotEmpty(t, c.VNFD.ID)
		require.Equal(t, len(files), c.Report.Files)
		require.NotEmpty(t, c.VnfdFiles)
	})
}
