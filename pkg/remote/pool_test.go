package remote_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/remote"
)

func newPool(t *testing.T, idle time.Duration) *remote.Pool {
	t.Helper()
	p := remote.NewPool(remote.Options{HostKeys: &keys{}, ConnectTimeout: time.Minute}, idle)
	t.Cleanup(p.Close)
	return p
}

func TestPoolSharesOneConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := newPool(t, time.Minute)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			c, release, err := p.Get(t.Context(), s.target())
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			if err := c.Run(t.Context(), "true", remote.RunOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, s.count())
}

func TestPoolReplacesABrokenConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := newPool(t, time.Minute)
	c, release, err := p.Get(t.Context(), s.target())
	require.NoError(t, err)
	release()
	s.dropAll()
	<-c.Done()
	c, release, err = p.Get(t.Context(), s.target())
	require.NoError(t, err)
	defer release()
	require.NoError(t, c.Run(t.Context(), "true", remote.RunOptions{}))
	require.Equal(t, 2, s.count())
}

func TestPoolClosesWhatIsIdle(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := newPool(t, 20*time.Millisecond)
	c, release, err := p.Get(t.Context(), s.target())
	require.NoError(t, err)
	require.NoError(t, c.Run(t.Context(), "sleep 0.1", remote.RunOptions{}), "not idle while it is used")
	release()
	release() // once more does no harm
	select {
	case <-c.Done():
	case <-time.After(time.Minute):
		t.Fatal("the idle connection was not closed")
	}
}

func TestPoolDialsAgainWhenTheTargetHasChanged(t *testing.T) {
	t.Parallel()
	s, healed := newServer(t), newServer(t)
	healed.set(func(h *server) { h.key = s.key })
	p := newPool(t, time.Minute)
	c, release, err := p.Get(t.Context(), s.target())
	require.NoError(t, err)
	release()
	c2, release, err := p.Get(t.Context(), healed.target())
	require.NoError(t, err)
	defer release()
	require.NotSame(t, c, c2)
	<-c.Done()
}

// A failure is not remembered, and one caller's ended context is not another's failure.
func TestPoolTriesAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.set(func(s *server) { s.deaf = true })
	p := newPool(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, err := p.Get(ctx, s.target())
		if err == nil || remote.KindOf(err) != "" {
			t.Error(err)
		}
	})
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 1
	}, time.Minute, time.Millisecond)
	wg.Go(func() {
		_, release, err := p.Get(t.Context(), s.target())
		if err != nil {
			t.Error(err)
			return
		}
		release()
	})
	s.set(func(s *server) { s.deaf = false })
	cancel()
	wg.Wait()

	wrong := s.target()
	wrong.Password = "wrong"
	_, _, err := p.Get(t.Context(), wrong)
	require.Equal(t, remote.KindAuth, remote.KindOf(err))
	_, release, err := p.Get(t.Context(), s.target())
	require.NoError(t, err)
	release()
}
