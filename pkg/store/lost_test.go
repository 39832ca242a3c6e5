package store_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// lossy loses the server's answer to the next message that contains a text, and the connection with it.
type lossy struct {
	net.Conn
	armed *atomic.Pointer[[]byte]
	lose  atomic.Bool
}

func (c *lossy) Write(p []byte) (int, error) {
	if text := c.armed.Load(); text != nil && bytes.Contains(p, *text) && c.armed.CompareAndSwap(text, nil) {
		c.lose.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *lossy) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lose.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// losing returns a store over connections of which lose breaks one.
func losing(t *testing.T, b *bundle) (s *bundle, lose func(text string)) {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(b.pool.Config().ConnString())
	require.NoError(t, err)
	var armed atomic.Pointer[[]byte]
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &lossy{Conn: conn, armed: &armed}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return on(t, pool, b.ring), func(text string) {
		raw := []byte(text)
		armed.Store(&raw)
	}
}

func TestAnAcceptedOperationIsReportedAsAcceptedWhenTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	b := on(t, devpg.New(t), newRing(t, testKeyLine))
	i := b.newInstance(t)
	s, lose := losing(t, b)
	lose(store.KindOperationState) // the pipeline that commits
	op := newOperation(i.ID)
	require.NoError(t, s.Admit(t.Context(), op, nil, ok))
	got, err := b.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	require.Equal(t, op.ID, got.ID)

	other := b.newInstance(t)
	lose(lcm.DefaultProject) // the pipeline before
	requireCode(t, lcm.CodeUnavailable, s.Admit(t.Context(), newOperation(other.ID), nil, ok))
	require.NoError(t, s.Admit(t.Context(), newOperation(other.ID), nil, ok), "nothing was stored")
}

const testKeyLine = "k1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
