package keepalived

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const sample = `
global_defs {
  router_id m1
}
! a comment
vrrp_script haproxy {
  script "/usr/bin/pgrep -x haproxy"
  interval 2
  timeout 3
  weight -20
}
vrrp_instance kubernetes_api {
  state BACKUP
  nopreempt
  interface ens3   # the card
  virtual_router_id 101
  priority 150
  authentication {
    auth_type PASS
    auth_pass abc
  }
  unicast_peer {
    127.9.10.2
  }
  virtual_ipaddress {
    127.9.10.100/32 dev ens3
  }
  track_script {
    haproxy
  }
}
`

func TestConfigurationIsRead(t *testing.T) {
	t.Parallel()
	c := parse(sample)
	require.Empty(t, c.problems)
	require.Equal(t, &script{
		command: "/usr/bin/pgrep -x haproxy", interval: 2 * time.Second, timeout: 3 * time.Second, weight: -20,
	}, c.scripts["haproxy"])
	require.Len(t, c.instances, 1)
	require.Equal(t, &instance{
		name: "kubernetes_api", iface: "ens3", router: 101, priority: 150, nopreempt: true,
		vips: []netip.Addr{netip.MustParseAddr("127.9.10.100")}, track: []string{"haproxy"},
	}, c.instances[0])
	for text, want := range map[string]string{
		"vrrp_instance x {\n interface e\n virtual_router_id 300\n}\n": "VRID not valid",
		"vrrp_instance x {\n virtual_router_id 3\n}\n":                 "Unknown interface",
		"vrrp_instance x {\n interface e\n virtual_router_id 3\n track_script {\n" +
			" nope\n }\n}": "track script nope not found",
		"frob {\n}\n": "Unknown keyword 'frob'",
		"vrrp_instance x {\n interface e\n virtual_router_id 3\n virtual_ipaddress {\n" +
			" abc\n }\n}": "invalid ip address abc",
	} {
		require.Contains(t, parse(text).problems[0], want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("{{}")
	f.Fuzz(func(_ *testing.T, text string) { parse(text) })
}

// TestElection: who holds the address, as VRRP would have it.
func TestElection(t *testing.T) {
	t.Parallel()
	vip := netip.MustParseAddr("127.9.10.100")
	s := NewSegment()
	holder, up := "", map[string]bool{"a": true, "b": true, "c": true}
	add := func(name string, priority int, nopreempt bool) *member {
		m := &member{
			inst:     &instance{name: name, priority: priority, nopreempt: nopreempt, vips: []netip.Addr{vip}},
			healthy:  true,
			eligible: func(netip.Addr) bool { return up[name] },
			acquire:  func(netip.Addr) { require.Empty(t, holder, "two holders at once"); holder = name },
			release:  func(netip.Addr) { require.Equal(t, name, holder); holder = "" },
		}
		s.join(m)
		return m
	}
	b := add("b", 140, true)
	require.Equal(t, "b", holder)
	add("a", 150, true)
	require.Equal(t, "b", holder, "nopreempt: a better one does not take over")
	c := add("c", 160, false)
	require.Equal(t, "c", holder, "a better one takes over")
	s.update(c, false, 0)
	require.Equal(t, "a", holder, "a failing track script gives the address away")
	s.update(c, true, -50)
	require.Equal(t, "a", holder, "a weight lowers the priority")
	up["a"] = false
	s.Elect()
	require.Equal(t, "b", holder, "a machine that is cut off loses it")
	s.leave(b)
	require.Equal(t, "c", holder)
	s.leave(c)
	require.Empty(t, holder)
	up["a"] = true
	s.Elect()
	require.Equal(t, "a", holder)
}
