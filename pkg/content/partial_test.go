package content

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPartialContentIsContinuedAndPublished(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	broken := errors.New("connection reset")
	p, err := s.OpenPartial("one")
	require.NoError(t, err)
	err = p.Append(t.Context(), io.MultiReader(strings.NewReader("abcdef"), iotest.ErrReader(broken)), 10)
	require.ErrorIs(t, err, broken)
	require.Equal(t, int64(6), p.Size(), "the bytes before the error stay")
	_, err = s.OpenPartial("one")
	require.ErrorIs(t, err, ErrBusy)
	n, err := p.Sync()
	require.NoError(t, err)
	require.Equal(t, int64(6), n)
	require.NoError(t, p.Close())

	p, err = s.OpenPartial("one")
	require.NoError(t, err)
	require.Equal(t, int64(6), p.Size())
	require.NoError(t, p.Truncate(100))
	require.NoError(t, p.Truncate(3))
	limit := &LimitError{}
	require.ErrorAs(t, p.Append(t.Context(), strings.NewReader("12345678"), 10), &limit)
	require.NoError(t, p.Truncate(3))
	require.NoError(t, p.Append(t.Context(), strings.NewReader("DEF"), 6), "exactly at the limit")
	swept, err := s.sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, swept)
	names, err := s.Partials()
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, names)

	staged, err := p.Stage(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(6), staged.Size)
	require.NoError(t, staged.Publish())
	blob, err := s.Open(staged.Digest)
	require.NoError(t, err)
	data, err := io.ReadAll(blob)
	require.NoError(t, err)
	require.Equal(t, "abcDEF", string(data))
	require.NoError(t, blob.Close())
	d, _, err := s.Ingest(t.Context(), bytes.NewReader(data), 0)
	require.NoError(t, err)
	require.Equal(t, d, staged.Digest)
	names, err = s.Partials()
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestPartialContentIsRemoved(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	p, err := s.OpenPartial("one")
	require.NoError(t, err)
	require.NoError(t, p.Append(t.Context(), strings.NewReader("abc"), 0))
	require.NoError(t, s.RemovePartial("one"))
	require.NoError(t, s.RemovePartial("one"), "removing it again succeeds")
	staged, err := p.Stage(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, staged.Publish(), fs.ErrNotExist, "it was removed while it was received")
	require.Empty(t, digests(t, s, time.Now().Add(time.Hour)))
	for _, bad := range []string{"", ".", "..", "a/b", "../blobs/x"} {
		_, err := s.OpenPartial(bad)
		require.Error(t, err, bad)
		require.Error(t, s.RemovePartial(bad), bad)
	}

	p, err = s.OpenPartial("two")
	require.NoError(t, err)
	require.NoError(t, p.Append(t.Context(), strings.NewReader("abc"), 0))
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Stage(stopped)
	require.ErrorIs(t, err, context.Canceled)
	p, err = s.OpenPartial("two")
	require.NoError(t, err, "it can be continued")
	require.NoError(t, p.Close())
}
