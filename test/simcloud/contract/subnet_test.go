package contract

import (
	"strings"
	"testing"
)

// internal is a stack with a network, and a VNFC in a nested stack with a port on it.
const internal = hot + `
resources:
  NET: {type: OS::Neutron::Net}
  SUB: {type: OS::Neutron::Subnet, properties: {network: {get_resource: NET}, cidr: 10.97.0.0/24}}
  VDU-0: {type: VDU.yaml, depends_on: [SUB], properties: {net: {get_resource: NET}}}
`

func TestPortOfANewNetwork(t *testing.T) {
	t.Parallel()
	c := connect(t, "port of a new network")
	without := strings.Replace(internal, "  SUB:", "  #", 1)
	without = strings.Replace(without, "depends_on: [SUB], ", "", 1)
	s := c.create("nosubnet", obj{"template": without, "files": obj{"VDU.yaml": unit}}, "CREATE_FAILED")
	c.like("a server is refused with a port that was created before the network had a subnet",
		`^Resource CREATE failed: BadRequest: resources\.VDU-0\.resources\.VDU: Port [0-9a-f-]{36} requires a FixedIP `+
			`in order to be used\. \(HTTP 400\)`, s.reason())

	s = c.create("subnet", obj{"template": internal, "files": obj{"VDU.yaml": unit}}, "CREATE_COMPLETE")
	have := s.resources()
	c.like("a resource that depends on the subnet has a port with an address", `^10\.97\.0\.`,
		c.port(have["VDU-0/CP"].id).str("port", "fixed_ips", 0, "ip_address"))
	s.update(obj{"template": strings.Replace(internal, "depends_on: [SUB], ", "", 1)}, "UPDATE_COMPLETE")
	s.update(obj{"template": internal}, "UPDATE_COMPLETE")
	c.same("such a dependency can come and go, and changes nothing",
		[]any{have["VDU-0"].id, have["VDU-0/VDU"].id, have["VDU-0/CP"].id},
		[]any{s.resources()["VDU-0"].id, s.resources()["VDU-0/VDU"].id, s.resources()["VDU-0/CP"].id})
}
