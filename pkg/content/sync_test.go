package content

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSyncTree: where the file system cannot be synced with one call, each file and directory is.
func TestSyncTree(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	d := someDigest(t, s)
	tree, err := s.Extract(t.Context(), d, func(ctx context.Context, dst *os.Root) error {
		return errors.Join(writeOne(ctx, dst), dst.Mkdir("empty", 0o700), dst.WriteFile("c", nil, 0o400))
	})
	require.NoError(t, err)
	require.NoError(t, tree.Close())
	require.NoError(t, s.syncTree(d.path(trees)))
	require.NoError(t, s.syncEach(d.path(trees)))
	require.Error(t, s.syncTree("tmp/none"))
	require.Error(t, s.syncEach("tmp/none"))
}
