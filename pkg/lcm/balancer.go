package lcm

import (
	"net/netip"
	"strings"
)

const balancerPrefix = "external-lb-"

// BalancerMachine names the machine of a load balancer that is not a VNFC, where machines are known by the id of their
// VNFC: its host key is pinned for the instance under this name.
func BalancerMachine(address netip.Addr) string { return balancerPrefix + address.String() }

// IsBalancerMachine reports whether a name is one of BalancerMachine.
func IsBalancerMachine(name string) bool {
	address, ok := strings.CutPrefix(name, balancerPrefix)
	_, err := netip.ParseAddr(address)
	return ok && err == nil
}
