package content

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func writeOne(_ context.Context, dst *os.Root) error {
	return errors.Join(dst.Mkdir("a", 0o755), dst.WriteFile("a/b", []byte("hello"), 0o600))
}

func extract(t *testing.T, s *Store, d Digest) *Tree {
	t.Helper()
	tree, err := s.Extract(t.Context(), d, writeOne)
	require.NoError(t, err)
	return tree
}

func someDigest(t *testing.T, s *Store) Digest {
	t.Helper()
	d, _, err := s.Ingest(t.Context(), strings.NewReader(t.Name()), 0)
	require.NoError(t, err)
	return d
}

func TestExtractedFilesAreReadableAndConfined(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	d := someDigest(t, s)
	_, err := s.Tree(d)
	require.ErrorIs(t, err, fs.ErrNotExist)

	tree := extract(t, s, d)
	defer func() { require.NoError(t, tree.Close()) }()
	data, err := fs.ReadFile(tree.FS(), "a/b")
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))

	require.NoError(t, os.WriteFile(dir+"/secret", []byte("x"), 0o600))
	_, err = tree.Root().ReadFile("../../../secret")
	require.Error(t, err)

	again, err := s.Extract(t.Context(), d, func(context.Context, *os.Root) error {
		return errors.New("must not run: the tree is there")
	})
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestFilesNeedNoClosing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	d := someDigest(t, s)
	_, err := s.Files(d)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, extract(t, s, d).Close())

	fsys, err := s.Files(d)
	require.NoError(t, err)
	data, err := fs.ReadFile(fsys, "a/b")
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))
	entries, err := fs.ReadDir(fsys, "a")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	_, err = fs.Stat(fsys, "nope")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fsys.Open("../../../secret")
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.NoError(t, s.Delete(d))
	_, err = fsys.Open("a/b")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestFailedExtractionLeavesNoHalfTree(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	d := someDigest(t, s)
	bad := errors.New("checksum")
	_, err := s.Extract(t.Context(), d, func(ctx context.Context, dst *os.Root) error {
		return errors.Join(writeOne(ctx, dst), bad)
	})
	require.ErrorIs(t, err, bad)
	_, err = s.Tree(d)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Empty(t, tmpEntries(t, s))
	require.NoError(t, extract(t, s, d).Close())
}

func TestTwoProcessesExtractingTheSameArchiveEndWithOneTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := open(t, dir), open(t, dir)
	d := someDigest(t, one)

	var inside, done sync.WaitGroup
	inside.Add(2)
	trees := make([]*Tree, 2)
	errs := make([]error, 2)
	for i, s := range []*Store{one, two} {
		done.Go(func() {
			trees[i], errs[i] = s.Extract(context.WithoutCancel(t.Context()), d,
				func(ctx context.Context, dst *os.Root) error {
					inside.Done()
					inside.Wait() // both are in the middle at once
					return writeOne(ctx, dst)
				})
		})
	}
	done.Wait()
	for i := range trees {
		require.NoError(t, errs[i])
		data, err := fs.ReadFile(trees[i].FS(), "a/b")
		require.NoError(t, err)
		require.Equal(t, "hello", string(data))
		require.NoError(t, trees[i].Close())
	}
	require.Empty(t, tmpEntries(t, one))
}

func TestSweepRemovesOnlyEntriesOfDeadProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	alive, err := s.Stage(t.Context(), strings.NewReader("abc"), 0)
	require.NoError(t, err)
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(dir+"/"+alive.name, past, past))
	require.NoError(t, os.WriteFile(dir+"/tmp/upload-dead", []byte("x"), 0o600))
	require.NoError(t, os.MkdirAll(dir+"/tmp/tree-dead/sub", 0o750))
	require.NoError(t, os.WriteFile(dir+"/tmp/upload-young", []byte("x"), 0o600))
	for _, n := range []string{"/tmp/upload-dead", "/tmp/tree-dead"} {
		require.NoError(t, os.Chtimes(dir+n, past, past))
	}

	n, err := other.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Len(t, tmpEntries(t, s), 2)
	require.NoError(t, alive.Publish())
	require.Equal(t, []string{"upload-young"}, tmpEntries(t, s))
}

// TestTreeWithoutBlobIsListed: a process can extract an archive that another deletes, and die.
func TestTreeWithoutBlobIsListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	d := someDigest(t, s)
	require.NoError(t, extract(t, s, d).Close())
	require.Equal(t, []Digest{d}, digests(t, s, time.Now().Add(time.Hour)), "a blob and its tree are listed once")

	require.NoError(t, os.Remove(dir+"/"+d.path(blobs)))
	require.Equal(t, []Digest{d}, digests(t, s, time.Now().Add(time.Hour)))
	require.Empty(t, digests(t, s, time.Now().Add(-time.Hour)), "too young")
	require.NoError(t, s.Delete(d))
	require.Empty(t, digests(t, s, time.Now().Add(time.Hour)))
}
