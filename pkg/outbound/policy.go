package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Policy says which addresses may be connected to. Its zero value rejects loopback addresses and those that are never
// allowed. Deny takes precedence over Allow.
type Policy struct {
	// Loopback allows connections to this machine's loopback addresses.
	Loopback bool
	// Allow restricts connections to these networks; empty allows all.
	Allow []netip.Prefix
	// Deny rejects connections to these networks.
	Deny []netip.Prefix
}

// never are the networks that no setting allows: no VIM, machine or callback has its address there, and some of them
// answer with credentials of the host that gybe runs on. Link-local, multicast and unspecified addresses are rejected
// by their kind.
var never = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),          // "this network": some systems connect to themselves
	netip.MustParsePrefix("255.255.255.255/32"), // broadcast
	netip.MustParsePrefix("240.0.0.0/4"),        // reserved
	netip.MustParsePrefix("100.100.100.200/32"), // metadata of Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),   // metadata of Azure
	netip.MustParsePrefix("192.0.0.192/32"),     // metadata of Oracle Cloud
	netip.MustParsePrefix("fd00:ec2::254/128"),  // metadata of AWS
	netip.MustParsePrefix("fd20:ce::254/128"),   // metadata of Google Cloud
}

// Error reports an address that the policy does not allow. Its text is the same for all reasons: it does not tell a
// client which addresses exist.
type Error struct {
	Target string     // host and port as they were asked for
	IP     netip.Addr // what the name resolved to
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%s) is not an address that this VNFM connects to (settings outbound.allow, outbound.deny "+
		"and outbound.loopback)", e.Target, e.IP)
}

// Check returns an *Error for an address that must not be connected to. A nil policy allows everything.
func (p *Policy) Check(ip netip.Addr) error {
	if p == nil {
		return nil
	}
	ip = ip.WithZone("").Unmap()
	if p.rejects(ip) || slices.ContainsFunc(embedded(ip), p.rejects) ||
		len(p.Allow) > 0 && !contain(p.Allow, ip) && !ip.IsLoopback() {
		return &Error{Target: ip.String(), IP: ip}
	}
	return nil
}

// rejects says whether an address is not allowed for another reason than that Allow does not name it.
func (p *Policy) rejects(ip netip.Addr) bool {
	return !ip.IsValid() || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast() || contain(never, ip) ||
		contain(p.Deny, ip) || ip.IsLoopback() && !p.Loopback && !contain(p.Allow, ip)
}

func contain(networks []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// CheckHost checks a host that is an address. It returns nil for a name: its addresses are checked when it is dialled.
func (p *Policy) CheckHost(host string) error {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil //nolint:nilerr // a name
	}
	return p.Check(ip)
}

// Dialer returns a dialer that connects only to allowed addresses. It checks the address that the name was resolved
// to, immediately before it connects, so a name that resolves differently the next time does not help.
func (p *Policy) Dialer(timeout time.Duration) Dialer {
	d := net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	if p != nil {
		d.ControlContext = p.control
	}
	return Dialer{d}
}

// control is called with the resolved address of a socket that is about to connect.
func (p *Policy) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("parse the resolved address %s: %w", address, err)
	}
	return p.Check(at.Addr())
}

// Dialer makes TCP connections.
type Dialer struct{ dialer net.Dialer }

// DialContext connects to host:port. The error of an address that is not allowed is an *Error.
func (d Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, network, addr)
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, &Error{Target: addr, IP: e.IP} // net.OpError would say which system call failed
	}
	return conn, err
}
