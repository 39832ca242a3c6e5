package outbound

import "net/netip"

// Networks of IPv6 whose addresses stand for IPv4 addresses.
var (
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291, deprecated
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765, SIIT
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215; the operator chooses the length of the prefix
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380
)

// embedded returns the IPv4 addresses that an IPv6 address stands for: a gateway would connect to them.
func embedded(ip netip.Addr) []netip.Addr {
	if !ip.Is6() {
		return nil
	}
	b := ip.As16()
	at := func(n ...int) netip.Addr {
		return netip.AddrFrom4([4]byte{b[n[0]], b[n[1]], b[n[2]], b[n[3]]})
	}
	var out []netip.Addr
	switch {
	case compatible.Contains(ip) && b[12]|b[13]|b[14] != 0: // ::1 is loopback itself
		out = append(out, at(12, 13, 14, 15))
	case translated.Contains(ip), nat64.Contains(ip):
		out = append(out, at(12, 13, 14, 15))
	case localNAT64.Contains(ip): // RFC 6052 clause 2.2; bits 64 to 71 are skipped
		for _, a := range []netip.Addr{at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), at(12, 13, 14, 15)} {
			if a.As4()[0] != 0 { // else it is the prefix of a longer one
				out = append(out, a)
			}
		}
	case sixToFour.Contains(ip):
		out = append(out, at(2, 3, 4, 5))
	case teredo.Contains(ip):
		out = append(out, at(4, 5, 6, 7), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP, RFC 5214
		out = append(out, at(12, 13, 14, 15))
	}
	return out
}
