package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// TestDeleteDuringUploadEndsTheUpload: the upload notices it while the client still sends, and leaves no content.
func TestDeleteDuringUploadEndsTheUpload(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *vnfpkg.Options) { o.Lease = 30 * time.Millisecond }) // it is renewed every 10 ms
	id := b.create(t)
	deleted := false
	err := b.Upload(t.Context(), id, nil, readerFunc(func(p []byte) (int, error) {
		if !deleted {
			deleted = true
			if err := b.another().Delete(t.Context(), id, nil); err != nil {
				return 0, err
			}
		}
		return copy(p, "PK"), nil // for ever: the deletion ends it
	}))
	e := requireCode(t, err, lcm.CodeNotFound)
	require.Contains(t, e.Detail, "was deleted during the upload")
	requireNothingLeft(t, b)
}

// TestDeleteAtEveryTransactionLeavesNoContent deletes a package between any two transactions of its upload and its
// onboarding. The node goes on, or dies there.
func TestDeleteAtEveryTransactionLeavesNoContent(t *testing.T) {
	t.Parallel()
	archive := vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1"))
	for _, dies := range []bool{false, true} {
		for n := 1; ; n++ {
			b := setup(t, func(o *vnfpkg.Options) { o.Lease = time.Hour })
			id := b.create(t)
			calls, dead, inside := 0, false, false
			b.store.Lost = func(string) error {
				if dead {
					return errDead
				}
				if inside {
					return nil
				}
				if calls++; calls == n {
					inside = true
					if err := b.another().Delete(t.Context(), id, nil); err != nil {
						require.ErrorContains(t, err, "ENABLED", "transaction %d", n)
					}
					inside, dead = false, dies
				}
				return nil
			}
			_ = b.Upload(t.Context(), id, nil, bytes.NewReader(archive))
			for _, id := range b.store.Jobs() {
				_ = b.Onboard(t.Context(), id)
			}
			b.store.Lost = nil
			if _, err := b.Get(t.Context(), id); err == nil { // it was ONBOARDED already
				require.GreaterOrEqual(t, n, 6, "the deletion met %d transactions", n)
				break
			}
			if dies {
				age(t, b, time.Now().Add(-2*time.Hour))
				require.NoError(t, b.another().Sweep(t.Context()))
			}
			requireNothingLeft(t, b)
		}
	}
}

// TestDeleteEndsTheWorkOnALargeArchive: onboarding notices the deletion while it reads, and does not read to the end.
func TestDeleteEndsTheWorkOnALargeArchive(t *testing.T) {
	t.Parallel()
	limits := vnfpkg.DefaultLimits()
	limits.Archive.RatioFrom = 1 << 40
	b := setup(t, func(o *vnfpkg.Options) { o.Lease, o.Limits = 100*time.Millisecond, limits })
	id := b.create(t)
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(withLargeFile(t, 2<<10))))

	var deleted, updates atomic.Int64
	b.store.Fail = func(method string) error {
		if method == "UpdatePackage" && deleted.Load() > 0 {
			updates.Add(1)
		}
		return nil
	}
	b.store.Lost = func(method string) error {
		if method == "DeletePackage" {
			deleted.Add(1)
		}
		return nil
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Onboard(t.Context(), id) }()
	require.Eventually(t, func() bool { // the node reads
		found, err := filepath.Glob(filepath.Join(b.dir, "tmp", "tree-*", "large"))
		return err == nil && len(found) == 1
	}, time.Minute, time.Millisecond)
	require.NoError(t, b.another().Delete(t.Context(), id, nil))
	require.NoError(t, <-ended)
	require.Zero(t, updates.Load(), "the node has not read to the end of the archive, where it would reject it")
	requireNothingLeft(t, b)
}

// withLargeFile is the small package with a file of zeros of this many MiB, whose checksum is wrong.
func withLargeFile(tb testing.TB, size int) []byte {
	tb.Helper()
	var block, buf bytes.Buffer
	w, err := flate.NewWriter(&block, flate.BestSpeed)
	require.NoError(tb, err)
	_, err = w.Write(make([]byte, 1<<20))
	require.NoError(tb, err)
	require.NoError(tb, w.Flush())

	z := zip.NewWriter(&buf)
	for name, body := range vnfpkgtest.Files("vnfd-1") {
		f, err := z.Create(name)
		require.NoError(tb, err)
		_, err = f.Write([]byte(body))
		require.NoError(tb, err)
	}
	f, err := z.CreateRaw(&zip.FileHeader{
		Name: "large", Method: zip.Deflate, CRC32: 1,
		CompressedSize64: uint64(size * block.Len()), UncompressedSize64: uint64(size << 20),
	})
	require.NoError(tb, err)
	_, err = f.Write(bytes.Repeat(block.Bytes(), size))
	require.NoError(tb, err)
	require.NoError(tb, z.Close())
	return buf.Bytes()
}

// requireNothingLeft checks that neither the content store nor the database holds anything of a deleted package.
func requireNothingLeft(t *testing.T, b *bundle) {
	t.Helper()
	require.Empty(t, b.digests(t))
	require.Zero(t, b.store.Models())
	unfinished, err := os.ReadDir(filepath.Join(b.dir, "tmp"))
	require.NoError(t, err)
	require.Empty(t, unfinished)
}
