package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// Outbound limits the addresses that the node connects to for requests and packages: VIMs, nodes, coordination servers.
// Link-local addresses, with the metadata services of clouds, are never connected to.
type Outbound struct {
	// Loopback allows VIMs and nodes on loopback addresses: yes, no, or auto. auto allows them if the API itself can
	// only be reached by a loopback address, as in development.
	Loopback string `yaml:"loopback" env:"LOOPBACK"`
	// Allow restricts connections to these networks (CIDR) or addresses; empty allows all that are not denied.
	Allow []string `yaml:"allow" env:"ALLOW"`
	// Deny rejects connections to these networks or addresses. It takes precedence over allow.
	Deny []string `yaml:"deny" env:"DENY"`
}

// Values of Outbound.Loopback.
const (
	LoopbackAuto = "auto"
	LoopbackYes  = "yes"
	LoopbackNo   = "no"
)

// OutboundLoopback says whether the node may connect to loopback addresses. With auto, both the address that the API
// listens on and its public URL have to be loopback addresses: a reverse proxy on this machine has another public URL.
func (c *Config) OutboundLoopback() bool {
	if c.Outbound.Loopback != LoopbackAuto {
		return c.Outbound.Loopback == LoopbackYes
	}
	if !isLoopback(c.Listen) {
		return false
	}
	u, err := url.Parse(c.PublicURL)
	return c.PublicURL == "" || err == nil && isLoopback(net.JoinHostPort(u.Hostname(), "0"))
}

// ParseNetworks reads networks (CIDR) and addresses.
func ParseNetworks(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range texts {
		network, err := netip.ParsePrefix(s)
		if ip, ipErr := netip.ParseAddr(s); ipErr == nil && ip.Zone() == "" {
			network, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is not a network such as 10.0.0.0/8 or fd00::/8", s)
		}
		out = append(out, network.Masked())
	}
	return out, nil
}

func (c *Config) validateOutbound(report report) {
	checkOneOf(report, "outbound.loopback", c.Outbound.Loopback, LoopbackAuto, LoopbackYes, LoopbackNo)
	if _, err := ParseNetworks(c.Outbound.Allow); err != nil {
		report("outbound.allow", "%w", err)
	}
	if _, err := ParseNetworks(c.Outbound.Deny); err != nil {
		report("outbound.deny", "%w", err)
	}
}
