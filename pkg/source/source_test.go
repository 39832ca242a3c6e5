package source_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/source"
)

func TestAddressesOfOneClient(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]netip.Prefix{
		"192.0.2.1:80":             netip.MustParsePrefix("192.0.2.1/32"),
		"[::ffff:192.0.2.1]:80":    netip.MustParsePrefix("192.0.2.1/32"),
		"[2001:db8:0:1::1]:80":     netip.MustParsePrefix("2001:db8:0:1::/64"),
		"[2001:db8:0:1:ffff::]:81": netip.MustParsePrefix("2001:db8:0:1::/64"),
		"[fe80::1%eth0]:80":        netip.MustParsePrefix("fe80::/64"),
		"":                         {},
		"@":                        {},
		"192.0.2.1":                {},
	} {
		require.Equal(t, want, source.OfRemote(remote), remote)
	}
	require.Equal(t, netip.Prefix{}, source.Of(netip.Addr{}))
}
