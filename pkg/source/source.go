// Package source says which addresses count as one client, wherever requests or failures are counted by address.
package source

import "net/netip"

// ipv6Bits is the length of the prefix that one client has in an IPv6 network (RFC 6177): it can use all addresses in
// it, so a limit for each address would be none.
const ipv6Bits = 64

// Of returns the network that counts as one client: an IPv4 address, also one that is written as IPv6, or the first 64
// bits of an IPv6 address. An address that is not valid has the zero prefix.
func Of(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = ipv6Bits
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// OfRemote is Of for an address with a port, as in http.Request.RemoteAddr. All texts of another form count as one.
func OfRemote(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	return Of(at.Addr())
}
