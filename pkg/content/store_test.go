package content

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha512"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func tmpEntries(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := fs.ReadDir(s.root.FS(), tmp)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func digests(t *testing.T, s *Store, before time.Time) []Digest {
	t.Helper()
	var found []Digest
	for d, err := range s.All(t.Context(), before) {
		require.NoError(t, err)
		found = append(found, d)
	}
	return found
}

func TestIngestedContentComesBackUnchanged(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	data := make([]byte, 3<<20+17)
	_, _ = rand.Read(data)
	sum := sha512.Sum512(data)

	for range 2 { // storing it again changes nothing
		d, n, err := s.Ingest(t.Context(), bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		require.Equal(t, digestOf(sum[:]), d)
		require.Equal(t, int64(len(data)), n)
	}
	require.Empty(t, tmpEntries(t, s))

	blob, err := s.Open(digestOf(sum[:]))
	require.NoError(t, err)
	defer func() { require.NoError(t, blob.Close()) }()
	require.Equal(t, int64(len(data)), blob.Size())
	require.WithinDuration(t, time.Now(), blob.ModTime(), time.Minute)
	got, err := io.ReadAll(blob)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	part := make([]byte, 5)
	_, err = blob.ReadAt(part, 100)
	require.NoError(t, err)
	require.Equal(t, data[100:105], part)
}

func TestFailedIngestLeavesNothing(t *testing.T) {
	t.Parallel()
	gone := errors.New("client went away")
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for name, tc := range map[string]struct {
		ctx   context.Context
		body  io.Reader
		limit int64
		want  error
	}{
		"over the limit":  {t.Context(), strings.NewReader("123456"), 5, &LimitError{Limit: 5}},
		"endless body":    {t.Context(), endless{}, 1 << 20, &LimitError{Limit: 1 << 20}},
		"broken upload":   {t.Context(), io.MultiReader(strings.NewReader("12"), iotest.ErrReader(gone)), 5, gone},
		"request stopped": {canceled, strings.NewReader("12"), 5, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, t.TempDir())
			_, _, err := s.Ingest(tc.ctx, tc.body, tc.limit)
			if limit, ok := errors.AsType[*LimitError](tc.want); ok {
				var got *LimitError
				require.ErrorAs(t, err, &got)
				require.Equal(t, limit, got)
			} else {
				require.ErrorIs(t, err, tc.want)
			}
			require.Empty(t, tmpEntries(t, s))
			require.Empty(t, digests(t, s, time.Now().Add(time.Hour)))
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestContentExactlyAtTheLimitIsAccepted(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	_, n, err := s.Ingest(t.Context(), strings.NewReader("12345"), 5)
	require.NoError(t, err)
	require.Equal(t, int64(5), n)
}

func TestStagedContentIsNotVisibleUntilPublished(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	staged, err := s.Stage(t.Context(), strings.NewReader("abc"), 0)
	require.NoError(t, err)
	_, err = s.Open(staged.Digest)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, staged.Publish())
	blob, err := s.Open(staged.Digest)
	require.NoError(t, err)
	require.NoError(t, blob.Close())

	staged, err = s.Stage(t.Context(), strings.NewReader("abd"), 0)
	require.NoError(t, err)
	require.NoError(t, staged.Discard())
	require.Empty(t, tmpEntries(t, s))
}

func TestPublishingHealsADamagedBlob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	d, _, err := s.Ingest(t.Context(), strings.NewReader("abc"), 0)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(dir+"/"+d.path(blobs), 1))
	_, _, err = s.Ingest(t.Context(), strings.NewReader("abc"), 0)
	require.NoError(t, err)
	blob, err := s.Open(d)
	require.NoError(t, err)
	require.Equal(t, int64(3), blob.Size())
	require.NoError(t, blob.Close())
}

func TestDeletedContentIsGoneButReadersKeepIt(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	d, _, err := s.Ingest(t.Context(), strings.NewReader("abc"), 0)
	require.NoError(t, err)
	tree := extract(t, s, d)
	require.NoError(t, tree.Close())
	blob, err := s.Open(d)
	require.NoError(t, err)

	require.NoError(t, s.Delete(d))
	require.NoError(t, s.Delete(d), "deleting again succeeds")
	_, err = s.Open(d)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = s.Tree(d)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Empty(t, tmpEntries(t, s))

	got, err := io.ReadAll(blob)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
	require.NoError(t, blob.Close())
}

func TestAllListsOnlyContentOfThatAge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	old, _, err := s.Ingest(t.Context(), strings.NewReader("old"), 0)
	require.NoError(t, err)
	_, _, err = s.Ingest(t.Context(), strings.NewReader("new"), 0)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dir+"/blobs/README", nil, 0o600))
	past := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(dir+"/"+old.path(blobs), past, past))

	require.Equal(t, []Digest{old}, digests(t, s, time.Now().Add(-time.Hour)))
	require.Len(t, digests(t, s, time.Now().Add(time.Hour)), 2)
	for range s.All(t.Context(), time.Now().Add(time.Hour)) {
		break // stopping early must not panic
	}
}

func TestDigestsThatAreNotDigestsNeverBecomePaths(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for _, bad := range []string{
		"", "..", "../../etc/passwd", strings.Repeat("g", 128), strings.Repeat("A", 128), strings.Repeat("a", 127),
	} {
		_, err := ParseDigest(bad)
		require.Error(t, err, bad)
		_, err = s.Open(Digest(bad))
		require.Error(t, err, bad)
		_, err = s.Tree(Digest(bad))
		require.Error(t, err, bad)
		require.Error(t, s.Delete(Digest(bad)), bad)
	}
}
