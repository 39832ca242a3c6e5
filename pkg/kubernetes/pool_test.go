package kubernetes_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// pooledClient is a client of a pool that notes whether it is closed.
type pooledClient struct{ closed bool }

// Close implements the interface of clients.
func (c *pooledClient) Close() { c.closed = true }

// poolVim is a connection with a token.
func poolVim(token string) sol.VimConnectionInfo {
	return kubernetes.Access{Endpoint: "https://192.0.2.1:6443", Token: token}.Vim()
}

func newPool(now *time.Time) *kubernetes.Pool[*pooledClient] {
	return kubernetes.NewPool(func(vim sol.VimConnectionInfo) (*pooledClient, error) {
		if _, err := kubernetes.FromVim(vim); err != nil {
			return nil, err
		}
		return &pooledClient{}, nil
	}, func() time.Time { return *now })
}

func TestPoolSharesClientsOfEqualConnectionsOnly(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	p := newPool(&now)
	first, release, err := p.Get(poolVim("a"))
	require.NoError(t, err)
	defer release()
	again, release, err := p.Get(poolVim("a"))
	require.NoError(t, err)
	defer release()
	require.Same(t, first, again)
	other, release, err := p.Get(poolVim("b"))
	require.NoError(t, err)
	defer release()
	require.NotSame(t, first, other)
	_, _, err = p.Get(poolVim(""))
	require.Error(t, err)
	p.Close()
	require.True(t, first.closed && other.closed)
	next, release, err := p.Get(poolVim("a"))
	require.NoError(t, err)
	defer release()
	require.NotSame(t, first, next)
}

func TestPoolClosesUnusedClients(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	p := newPool(&now)
	get := func(token string) (*pooledClient, func()) {
		c, release, err := p.Get(poolVim(token))
		require.NoError(t, err)
		return c, release
	}
	used, releaseUsed := get("used")
	idle, release := get("idle")
	release()
	release() // without effect
	now = now.Add(10 * time.Minute)
	_, release = get("other")
	release()
	require.False(t, idle.closed)
	now = now.Add(time.Second)
	other, release := get("other")
	require.True(t, idle.closed)
	require.False(t, used.closed || other.closed)
	releaseUsed()
	release()

	now = now.Add(time.Second)
	var all []*pooledClient
	for n := range 63 {
		c, release := get(strconv.Itoa(n))
		now = now.Add(time.Second)
		release()
		all = append(all, c)
	}
	require.True(t, used.closed || other.closed) // 65 clients were one too many
	_, release = get("64")
	release()
	require.True(t, used.closed && other.closed)
	require.False(t, all[0].closed)
}

func TestPoolKeepsNoClientThatCannotBeMade(t *testing.T) {
	t.Parallel()
	refuse := true
	p := kubernetes.NewPool(func(sol.VimConnectionInfo) (*pooledClient, error) {
		if refuse {
			return nil, errors.New("refused")
		}
		return &pooledClient{}, nil
	}, nil)
	_, _, err := p.Get(poolVim("a"))
	require.EqualError(t, err, "refused")
	refuse = false
	_, release, err := p.Get(poolVim("a"))
	require.NoError(t, err)
	release()
}
