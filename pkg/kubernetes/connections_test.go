package kubernetes_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
)

// counted counts itself while it is open.
type counted struct {
	net.Conn
	open  *atomic.Int32
	ended atomic.Bool
}

func (c *counted) Close() error {
	if c.ended.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// A VNFM that builds clusters all day would otherwise keep connections, through machines that may be gone, for a minute
// and a half each.
func TestClosedClientKeepsNoConnection(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var open, made atomic.Int32
	access := kubernetes.Access{Endpoint: a.URL, CA: a.ca(), Token: "good"}
	c, err := kubernetes.New(kubernetes.Through(access.Config(), "127.0.0.1",
		func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			open.Add(1)
			made.Add(1)
			return &counted{Conn: conn, open: &open}, nil
		}))
	require.NoError(t, err)
	require.NoError(t, c.Ready(t.Context()))
	require.NoError(t, c.Ready(t.Context()))
	require.EqualValues(t, 1, made.Load(), "one connection serves all calls")
	require.EqualValues(t, 1, open.Load())
	c.Close()
	require.Zero(t, open.Load())
	require.Error(t, c.Ready(t.Context()))
	require.Zero(t, open.Load(), "what is dialled later is not kept either")
}
