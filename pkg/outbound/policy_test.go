package outbound_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/outbound"
)

func networks(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	production := &outbound.Policy{}
	development := &outbound.Policy{Loopback: true}
	limited := &outbound.Policy{Allow: networks("10.0.0.0/8", "127.0.0.5/32"), Deny: networks("10.9.0.0/16")}
	for _, tt := range []struct {
		ip                               string
		production, development, limited bool
	}{
		{"10.0.0.1", true, true, true},
		{"10.9.0.1", true, true, false},
		{"192.0.2.7", true, true, false},
		{"2600::1", true, true, false},
		{"fd12::1", true, true, false},
		{"127.0.0.1", false, true, false},
		{"127.0.0.5", false, true, true},
		{"::1", false, true, false},
		{"::ffff:127.0.0.1", false, true, false},
		{"64:ff9b::127.0.0.1", false, true, false},
		{"2002:7f00:1::", false, true, false},
		{"64:ff9b::10.9.0.1", true, true, false},

		// Never: link-local with the metadata of clouds, in every form.
		{"169.254.169.254", false, false, false},
		{"169.254.0.1", false, false, false},
		{"::ffff:169.254.169.254", false, false, false},
		{"::169.254.169.254", false, false, false},
		{"::ffff:0:169.254.169.254", false, false, false},
		{"64:ff9b::169.254.169.254", false, false, false},
		{"64:ff9b:1:a9fe:a9:fe00::", false, false, false},
		{"64:ff9b:1::169.254.169.254", false, false, false},
		{"2002:a9fe:a9fe::1", false, false, false},
		{"2001:0:a9fe:a9fe::", false, false, false},
		{"2001::5601:5601", false, false, false},
		{"fe80::1", false, false, false},
		{"fe80::a9fe:a9fe%eth0", false, false, false},
		{"2600::5efe:169.254.169.254", false, false, false},
		{"2600::200:5efe:169.254.169.254", false, false, false},
		{"fd00:ec2::254", false, false, false},
		{"100.100.100.200", false, false, false},
		{"168.63.129.16", false, false, false},
		{"0.0.0.0", false, false, false},
		{"0.1.2.3", false, false, false},
		{"::", false, false, false},
		{"224.0.0.1", false, false, false},
		{"ff02::1", false, false, false},
		{"255.255.255.255", false, false, false},
	} {
		ip := netip.MustParseAddr(tt.ip)
		require.Equal(t, tt.production, production.Check(ip) == nil, "production %s", tt.ip)
		require.Equal(t, tt.development, development.Check(ip) == nil, "development %s", tt.ip)
		require.Equal(t, tt.limited, limited.Check(ip) == nil, "limited %s", tt.ip)
		require.NoError(t, (*outbound.Policy)(nil).Check(ip))
	}
	require.NoError(t, production.Check(netip.MustParseAddr("64:ff9b:1::10.0.0.1")))
	allowsNAT64 := &outbound.Policy{Allow: networks("64:ff9b::/96")}
	require.NoError(t, allowsNAT64.Check(netip.MustParseAddr("64:ff9b::10.0.0.1")))
	require.Error(t, (&outbound.Policy{Allow: networks("169.254.0.0/16")}).Check(netip.MustParseAddr("169.254.1.1")))
	require.Error(t, production.Check(netip.Addr{}))
}

func TestPolicyCheckHost(t *testing.T) {
	t.Parallel()
	p := &outbound.Policy{}
	require.NoError(t, p.CheckHost("localhost"), "a name is checked when it is dialled")
	require.Error(t, p.CheckHost("127.0.0.1"))
	require.Error(t, p.CheckHost("fe80::1%eth0"))
	require.NoError(t, p.CheckHost("192.0.2.1"))
}

// TestDialerChecksTheResolvedAddress dials a name: the policy sees what it resolves to, before anything is sent.
func TestDialerChecksTheResolvedAddress(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan struct{}, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_ = conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	_, err = (&outbound.Policy{}).Dialer(time.Minute).DialContext(ctx, "tcp4", "localhost:"+port)
	var denied *outbound.Error
	require.ErrorAs(t, err, &denied)
	require.Equal(t, "localhost:"+port+" (127.0.0.1) is not an address that this VNFM connects to (settings "+
		"outbound.allow, outbound.deny and outbound.loopback)", err.Error())
	require.Empty(t, accepted, "the connection was not begun")

	conn, err := (&outbound.Policy{Loopback: true}).Dialer(time.Minute).DialContext(ctx, "tcp4", "localhost:"+port)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	<-accepted
}

// TestErrorIsNoOracle: a port that is open, one that is closed and an address that does not exist look the same.
func TestErrorIsNoOracle(t *testing.T) {
	t.Parallel()
	d := (&outbound.Policy{Deny: networks("192.0.2.0/24")}).Dialer(time.Minute)
	for _, host := range []string{"127.0.0.1", "127.9.9.9", "169.254.169.254", "192.0.2.1"} {
		_, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "1"))
		require.EqualError(t, err, net.JoinHostPort(host, "1")+" ("+host+") is not an address that this VNFM connects "+
			"to (settings outbound.allow, outbound.deny and outbound.loopback)")
	}
}
