package csar_test

import (
	"archive/zip"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
)

func readZip(t *testing.T, r io.ReaderAt, size int64) map[string]string {
	t.Helper()
	z, err := zip.NewReader(r, size)
	require.NoError(t, err)
	found := map[string]string{}
	for _, f := range z.File {
		rc, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(rc) // compares the CRC-32
		require.NoError(t, err)
		require.NoError(t, rc.Close())
		found[f.Name] = string(data)
	}
	return found
}

func TestSubsetHasTheFilesAndCanBeReadFromEveryOffset(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 40_000)
	for i := range noise {
		noise[i] = byte(rand.Int())
	}
	data := makeZip(t, good(
		entry{name: "Files/größe.txt", body: "name in UTF-8"}, entry{name: "Files/empty", body: ""},
		entry{name: "Files/stored", body: "stored", store: true}, entry{name: "Files/noise", body: string(noise)},
		entry{name: "Files/other", body: "other"},
	)...)
	a, err := openZip(data, csar.DefaultLimits())
	require.NoError(t, err)
	paths := []string{"Files/stored", "Files/größe.txt", "Files/empty", "Files/noise", "Files/stored"}
	sub, err := a.Subset(bytes.NewReader(data), paths)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"Files/größe.txt": "name in UTF-8", "Files/empty": "", "Files/stored": "stored", "Files/noise": string(noise),
	}, readZip(t, sub, sub.Size()))

	whole, err := io.ReadAll(sub)
	require.NoError(t, err)
	require.NoError(t, iotest.TestReader(io.NewSectionReader(sub, 0, sub.Size()), whole))
	again, err := a.Subset(bytes.NewReader(data), paths)
	require.NoError(t, err)
	same, err := io.ReadAll(again)
	require.NoError(t, err)
	require.Equal(t, whole, same, "the same files give the same bytes")

	empty, err := a.Subset(bytes.NewReader(data), nil)
	require.NoError(t, err)
	require.Empty(t, readZip(t, empty, empty.Size()))
	_, err = a.Subset(bytes.NewReader(data), []string{"Files/none"})
	require.ErrorContains(t, err, "Files/none")
	cut, err := a.Subset(bytes.NewReader(data[:len(data)/2]), paths)
	if err == nil {
		_, err = io.ReadAll(cut)
	}
	require.Error(t, err, "the package has become shorter")
}

// sparse writes zeros by leaving them out.
type sparse struct{ *os.File }

func (s sparse) Write(p []byte) (int, error) {
	if len(bytes.TrimLeft(p, "\x00")) > 0 {
		return s.File.Write(p)
	}
	_, err := s.Seek(int64(len(p)), io.SeekCurrent)
	return len(p), err
}

// TestSubsetOfFilesBeyond4GiB: sizes and offsets that do not fit into 32 bits.
func TestSubsetOfFilesBeyond4GiB(t *testing.T) {
	t.Parallel()
	const large = 4<<30 + 5
	f, err := os.Create(filepath.Join(t.TempDir(), "large.zip"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	z := zip.NewWriter(sparse{f})
	for _, e := range good(entry{name: "z/after", body: "after"}) {
		w, err := z.Create(e.name)
		require.NoError(t, err)
		_, err = io.WriteString(w, e.body)
		require.NoError(t, err)
	}
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: "image", Method: zip.Store, CompressedSize64: large, UncompressedSize64: large,
	})
	require.NoError(t, err)
	_, err = io.CopyBuffer(w, io.LimitReader(zeros{}, large), make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	info, err := f.Stat()
	require.NoError(t, err)

	a, err := csar.Open(f, info.Size(), csar.DefaultLimits())
	require.NoError(t, err)
	sub, err := a.Subset(f, []string{"image", "z/after"})
	require.NoError(t, err)
	got, err := zip.NewReader(sub, sub.Size())
	require.NoError(t, err)
	require.Len(t, got.File, 2)
	require.Equal(t, uint64(large), got.File[0].UncompressedSize64)
	after, err := got.Open("z/after")
	require.NoError(t, err)
	text, err := io.ReadAll(after)
	require.NoError(t, err)
	require.Equal(t, "after", string(text))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
