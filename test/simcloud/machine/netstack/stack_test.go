package netstack_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func echo(c net.Conn) {
	_, _ = io.Copy(c, c)
	_ = c.Close()
}

func dial(t *testing.T, ip netip.Addr, port uint16) (net.Conn, error) {
	t.Helper()
	return (&net.Dialer{Timeout: time.Minute}).DialContext(t.Context(), "tcp", netip.AddrPortFrom(ip, port).String())
}

func says(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	b := make([]byte, len(text))
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadFull(c, b)
	require.NoError(t, err)
	require.Equal(t, text, string(b))
}

// TestMachineNetwork: what outsiders and the machine's own programs see of its services.
func TestMachineNetwork(t *testing.T) {
	t.Parallel()
	b, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	own, floating, vip := b.Addr(10, 1), b.Addr(20, 1), b.Addr(10, 100)
	s := netstack.New()
	t.Cleanup(s.Down)
	require.NoError(t, s.Add(t.Context(), netstack.Addr{IP: own}))
	require.NoError(t, s.Add(t.Context(), netstack.Addr{IP: floating, Target: own}))
	_, err = s.Listen(t.Context(), netip.Addr{}, 7001, echo)
	require.ErrorIs(t, err, syscall.ENETDOWN)
	s.Up()
	stop, err := s.Listen(t.Context(), netip.Addr{}, 7001, echo)
	require.NoError(t, err)
	_, err = s.Listen(t.Context(), own, 7001, echo)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	_, err = s.Listen(t.Context(), b.Addr(10, 77), 7002, echo)
	require.ErrorIs(t, err, syscall.EADDRNOTAVAIL)
	_, err = s.Listen(t.Context(), own, 7002, echo)
	require.NoError(t, err)
	_, err = s.Listen(t.Context(), netip.MustParseAddr("127.0.0.1"), 7003, echo)
	require.NoError(t, err)

	for _, at := range []struct {
		ip   netip.Addr
		port uint16
	}{{own, 7001}, {floating, 7001}, {own, 7002}, {floating, 7002}} {
		c, err := dial(t, at.ip, at.port)
		require.NoError(t, err, "%v", at)
		says(t, c, "hello")
		require.NoError(t, c.Close())
	}
	_, err = dial(t, own, 7003)
	require.Error(t, err, "a loopback service is not for outsiders")
	for _, to := range []string{"127.0.0.1:7003", "localhost:7001", own.String() + ":7001"} {
		c, err := s.Dial(t.Context(), to)
		require.NoError(t, err, to)
		says(t, c, "inside")
		require.NoError(t, c.Close())
	}
	_, err = s.Dial(t.Context(), "127.0.0.1:9")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = s.Dial(t.Context(), "8.8.8.8:53")
	require.ErrorIs(t, err, syscall.ENETUNREACH)
	_, err = s.Dial(t.Context(), "nowhere:53")
	require.True(t, netstack.NoHost(err))

	require.NoError(t, s.Add(t.Context(), netstack.Addr{IP: vip, Virtual: true}))
	c, err := dial(t, vip, 7001)
	require.NoError(t, err)
	says(t, c, "vip")
	s.Remove(vip)
	_, err = io.ReadAll(c)
	if err == nil {
		_, err = dial(t, vip, 7001)
	}
	require.Error(t, err)
	_ = c.Close()

	stop()
	_, err = dial(t, own, 7001)
	require.ErrorContains(t, err, "refused")
	s.Down()
	_, err = dial(t, own, 7002)
	require.ErrorContains(t, err, "refused")
	_, err = s.Dial(t.Context(), own.String()+":7002")
	require.Error(t, err)
}

// TestCutMachine: a cut holds traffic both ways without closing anything.
func TestCutMachine(t *testing.T) {
	t.Parallel()
	b, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	one, two := netstack.New(), netstack.New()
	for i, s := range []*netstack.Stack{one, two} {
		require.NoError(t, s.Add(t.Context(), netstack.Addr{IP: b.Addr(10, byte(i+1))}))
		s.Up()
		t.Cleanup(s.Down)
	}
	_, err = one.Listen(t.Context(), netip.Addr{}, 7001, echo)
	require.NoError(t, err)
	c, err := two.Dial(t.Context(), b.Addr(10, 1).String()+":7001")
	require.NoError(t, err)
	says(t, c, "before")
	one.Cut(true)
	_, err = io.WriteString(c, "lost?")
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = one.Dial(ctx, b.Addr(10, 2).String()+":7001")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	one.Cut(false)
	got := make([]byte, 5)
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, "lost?", string(got))
	require.NoError(t, c.Close())
}
