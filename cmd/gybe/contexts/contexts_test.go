package contexts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
)

// TestUpdateKeepsTheChangesOfAll: commands that change the file at the same time lose no context, and a reader never
// sees a part of the file.
func TestUpdateKeepsTheChangesOfAll(t *testing.T) {
	t.Parallel()
	const writers, changes = 16, 5
	path := filepath.Join(t.TempDir(), "gybe", "config.yaml")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin, end := make(chan struct{}), make(chan struct{})
	var writing, reading sync.WaitGroup
	failed := make(chan error, 2*writers*changes)
	for w := range writers {
		writing.Go(func() {
			<-begin
			for c := range changes {
				name := fmt.Sprintf("context-%d-%d", w, c)
				if err := contexts.Update(ctx, path, func(f *contexts.File) error {
					f.Contexts[name], f.Current = &contexts.Context{Endpoint: "https://" + name}, name
					return nil
				}); err != nil {
					failed <- err
				}
			}
		})
	}
	reading.Go(func() {
		for had := 0; ; {
			f, err := contexts.Load(path)
			if err == nil && (len(f.Contexts) < had || had > 0 && f.Contexts[f.Current] == nil) {
				err = fmt.Errorf("%d contexts after %d", len(f.Contexts), had)
			}
			if err != nil {
				failed <- err
				return
			}
			had = len(f.Contexts)
			select {
			case <-end:
				return
			default:
			}
		}
	})
	close(begin)
	writing.Wait()
	close(end)
	reading.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	f, err := contexts.Load(path)
	require.NoError(t, err)
	require.Len(t, f.Contexts, writers*changes)
	for name, c := range f.Contexts {
		require.Equal(t, "https://"+name, c.Endpoint)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the file and its lock")
}

// TestUpdateReplacesTheTargetOfALink: a file that a user keeps elsewhere stays there.
func TestUpdateReplacesTheTargetOfALink(t *testing.T) {
	t.Parallel()
	target, path := filepath.Join(t.TempDir(), "kept.yaml"), filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(target, []byte("current: a\ncontexts: {a: {endpoint: http://a}}\n"), 0o600))
	require.NoError(t, os.Symlink(target, path))
	require.NoError(t, contexts.Update(t.Context(), path, func(f *contexts.File) error {
		f.Contexts["b"] = &contexts.Context{Endpoint: "http://b"}
		return nil
	}))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	f, err := contexts.Load(target)
	require.NoError(t, err)
	require.Len(t, f.Contexts, 2)
}

// TestLockCanBeInterrupted: a command that waits for another one ends with its user's interrupt.
func TestLockCanBeInterrupted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	unlock, err := contexts.Lock(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = contexts.Lock(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	again, err := contexts.Lock(t.Context(), path)
	require.NoError(t, err)
	again()
}
