package config_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

func TestOutboundLoopback(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		set  []string
		want bool
	}{
		{nil, true}, // the default address is 127.0.0.1
		{[]string{"listen=localhost:1"}, true},
		{[]string{"listen=[::1]:1", "public_url=http://127.0.0.1:8080/nfv"}, true},
		{[]string{"listen=0.0.0.0:1"}, false},
		{[]string{"listen=:1"}, false},
		{[]string{"listen=10.0.0.1:1"}, false},
		{[]string{"public_url=https://vnfm.example/nfv"}, false}, // a reverse proxy on this machine
		{[]string{"outbound.loopback=no"}, false},
		{[]string{"outbound.loopback=yes", "listen=0.0.0.0:1"}, true},
	} {
		cfg, _, err := config.Load(config.Source{Set: append(tt.set, "auth.none=true", "database_url="+database)})
		require.NoError(t, err, tt.set)
		require.Equal(t, tt.want, cfg.OutboundLoopback(), tt.set)
	}
}

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	got, err := config.ParseNetworks([]string{"10.1.2.3/8", "192.0.2.1", "fd00::1", "fd12::/16"})
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"),
		netip.MustParsePrefix("fd00::1/128"), netip.MustParsePrefix("fd12::/16"),
	}, got)
	for _, s := range []string{"", "vim.example", "10.0.0.0/33", "::ffff:10.0.0.1", "fe80::1%eth0"} {
		_, err := config.ParseNetworks([]string{s})
		require.Error(t, err, s)
	}
}

func TestOutboundMistakes(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load(config.Source{Set: []string{
		"database_url=" + database, "outbound.loopback=maybe", "outbound.allow=10.0.0.0/8,x", "outbound.deny=vim",
	}})
	for _, key := range []string{"outbound.loopback:", "outbound.allow:", "outbound.deny:"} {
		require.ErrorContains(t, err, key)
	}
}
