package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// entries is the number of files in archiveOf.
const entries = 6

// archiveOf is an archive with a manifest. Its entries are stored or compressed, and have their sizes in front of the
// data, as zip writes them, or behind it, as programs that cannot seek do.
func archiveOf(tb testing.TB, method uint16, sizesFirst bool) []byte {
	tb.Helper()
	files := vnfpkgtest.Files("vnfd-1")
	files["Definitions/vnfd.mf"] = "metadata:\nvnf_product_name: Small\n\nSource: Scripts/run.sh\n" +
		"Algorithm: SHA-256\nHash: " + sha256Of(files["Scripts/run.sh"]) + "\n"
	files[csar.MetaPath] = "ETSI-Entry-Manifest: Definitions/vnfd.mf\n" + files[csar.MetaPath]
	packed, err := zip.NewReader(bytes.NewReader(vnfpkgtest.Zip(files)), int64(len(vnfpkgtest.Zip(files))))
	require.NoError(tb, err)

	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range packed.File {
		r, err := f.Open()
		require.NoError(tb, err)
		body, err := io.ReadAll(r)
		require.NoError(tb, err)
		h := &zip.FileHeader{Name: f.Name, Method: method}
		if !sizesFirst {
			w, err := z.CreateHeader(h)
			require.NoError(tb, err)
			_, err = w.Write(body)
			require.NoError(tb, err)
			continue
		}
		raw := compressed(tb, method, body)
		h.CRC32 = crc32.ChecksumIEEE(body)
		h.CompressedSize64, h.UncompressedSize64 = uint64(len(raw)), uint64(len(body))
		w, err := z.CreateRaw(h)
		require.NoError(tb, err)
		_, err = w.Write(raw)
		require.NoError(tb, err)
	}
	require.NoError(tb, z.Close())
	return buf.Bytes()
}

// result is what onboarding makes of an archive, as text; the error is what Onboard would see.
func result(tb testing.TB, archive []byte) (string, error) {
	tb.Helper()
	c, err := vnfpkg.Read(tb.Context(), bytes.NewReader(archive), int64(len(archive)), vnfpkg.DefaultLimits())
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{
		c.VNFD, c.VnfdFiles, c.Warnings, c.Report.Artifacts, c.Report.Files, c.Report.Bytes,
	})
	require.NoError(tb, err)
	return string(text), nil
}

// isRejection reports whether an error is a defect of the package, with a text for its owner.
func isRejection(err error) bool {
	var (
		archive *csar.Rejection
		defects tosca.Errors
		defect  *tosca.Error
	)
	return (errors.As(err, &archive) || errors.As(err, &defects) || errors.As(err, &defect)) && err.Error() != ""
}

// TestDamageAnywhereIsARejection inverts one bit at each place of an archive: in local headers, names, data, the
// directory and its end. Onboarding rejects the archive, or, where no content depends on the bit (a time, an
// attribute), its result is the same.
func TestDamageAnywhereIsARejection(t *testing.T) {
	t.Parallel()
	for name, archive := range map[string][]byte{
		"compressed, sizes behind": archiveOf(t, zip.Deflate, false),
		"compressed, sizes first":  archiveOf(t, zip.Deflate, true),
		"stored, sizes first":      archiveOf(t, zip.Store, true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, err := result(t, archive)
			require.NoError(t, err)
			harmless := map[string]int{}
			for at := range archive {
				damaged := slices.Clone(archive)
				damaged[at] ^= 1 << (at % 8)
				part := partOf(t, archive, at)
				switch got, err := result(t, damaged); {
				case err != nil:
					require.True(t, isRejection(err), "byte %d (%s): %v", at, part, err)
				default:
					require.Equal(t, good, got, "byte %d (%s)", at, part)
					harmless[part]++
				}
			}
			// Deflate fills the last byte before an uncompressed block with bits that mean nothing.
			require.LessOrEqual(t, harmless["data"], entries, "%v", harmless)
			require.NotContains(t, harmless, "name")
			require.LessOrEqual(t, harmless["header"], len(archive)/10, "%v", harmless)
		})
	}
}

// TestTruncatedArchiveIsARejection: an archive that ends anywhere.
func TestTruncatedArchiveIsARejection(t *testing.T) {
	t.Parallel()
	archive := archiveOf(t, zip.Deflate, false)
	for end := range archive {
		_, err := result(t, archive[:end])
		require.Error(t, err, "%d bytes", end)
		require.True(t, isRejection(err), "%d bytes: %v", end, err)
	}
}

// TestDamagedMembersLeaveProcessing: the rejection of a damaged member ends the onboarding at the first attempt, and
// the package shows the reason.
func TestDamagedMembersLeaveProcessing(t *testing.T) {
	t.Parallel()
	archive := archiveOf(t, zip.Deflate, true)
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	require.Len(t, z.File, entries)
	for _, f := range z.File {
		offset, err := f.DataOffset()
		require.NoError(t, err)
		damaged := slices.Clone(archive)
		damaged[offset+int64(f.CompressedSize64)/2] ^= 0x10

		b := setup(t)
		id := b.create(t)
		require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(damaged)))
		b.work(t)
		p := b.get(t, id)
		require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState, f.Name)
		require.Contains(t, p.Failure.Detail, f.Name+": the archive is damaged here")
		require.Empty(t, b.digests(t))
	}
}

// partOf names the part of an archive that a byte belongs to.
func partOf(tb testing.TB, archive []byte, at int) string {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(tb, err)
	const header = 30
	for _, f := range z.File {
		data, err := f.DataOffset()
		require.NoError(tb, err)
		switch name := int(data) - len(f.Name); {
		case at >= int(data) && at < int(data)+int(f.CompressedSize64):
			return "data"
		case at >= name && at < int(data):
			return "name"
		case at >= name-header && at < name:
			return "header"
		}
	}
	return "directory"
}

func compressed(tb testing.TB, method uint16, body []byte) []byte {
	tb.Helper()
	if method == zip.Store {
		return body
	}
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.DefaultCompression)
	require.NoError(tb, err)
	_, err = w.Write(body)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return buf.Bytes()
}
