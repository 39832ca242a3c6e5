package lcm

import (
	"net/netip"
	"strings"
)

const (
	balancerPrefix = "external-lb-"
	ansiblePrefix  = "ansible-"
)

// BalancerMachine names the machine of a load balancer that is not a VNFC, where machines are known by the id of their
// VNFC: its host key is pinned for the instance under this name.
func BalancerMachine(address netip.Addr) string { return balancerPrefix + address.String() }

// AnsibleMachine does the same for a host that runs playbooks and belongs to no VNF.
func AnsibleMachine(address netip.Addr) string { return ansiblePrefix + address.String() }

// IsOutsideMachine reports whether a name is one of BalancerMachine or AnsibleMachine.
func IsOutsideMachine(name string) bool {
	for _, prefix := range []string{balancerPrefix, ansiblePrefix} {
		if address, ok := strings.CutPrefix(name, prefix); ok {
			_, err := netip.ParseAddr(address)
			return err == nil
		}
	}
	return false
}
