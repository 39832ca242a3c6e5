package preview

import (
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// required are the properties without which Heat cannot make a resource; each may have several spellings.
var required = map[string][]string{
	cloud.TypeServer:     {"flavor"},
	cloud.TypePort:       {"network", "network_id"},
	cloud.TypeFloatingIP: {"floating_network", "floating_network_id"},
	cloud.TypeVolume:     {"size"},
}

// missingProperty returns the property that a resource needs and that has no value; "" when it has all. A server
// without an image needs a volume to boot from.
func (e element) missingProperty() string {
	if names := required[e.typ]; e.isEmpty(names...) {
		return names[0]
	}
	if e.typ == cloud.TypeServer && e.isEmpty("image") && e.props["block_device_mapping_v2"] == nil &&
		e.props["block_device_mapping"] == nil {
		return "image"
	}
	return ""
}

// isEmpty says whether the property is in the template, in one of its spellings, and has no value.
func (e element) isEmpty(names ...string) bool {
	there := false
	for _, n := range names {
		v, ok := e.props[n]
		if v != nil && v != "" {
			return false
		}
		there = there || ok
	}
	return there
}

// gap is a leaf of nfv that the template asks for and that has no value.
type gap struct{ kind, name, leaf string }

func (g gap) String() string { return g.kind + "." + g.name + "." + g.leaf }

// findGaps lists the leaves without a value, sorted.
func findGaps(nfv map[string]any) []gap {
	var out []gap
	for _, kind := range []string{"CP", "VDU"} {
		names, _ := nfv[kind].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			leaves, _ := names[name].(map[string]any)
			for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
				if leaves[leaf] == nil {
					out = append(out, gap{kind, name, leaf})
				}
			}
		}
	}
	return out
}

// reportedElsewhere are the leaves whose absence another check reports, or that may be empty: a port without a fixed
// address gets one.
var reportedElsewhere = map[string]bool{
	"computeFlavourId": true, "vcImageId": true, "locationConstraints": true,
	"network": true, "fixed_ips": true, "port": true,
}

// gaps reports the values that new resources lack: Heat accepts an empty value, and fails later, if at all.
func (c *checker) gaps() {
	const hint = "give it in additionalParams.nfv"
	all := findGaps(c.plan.nfv)
	var unzoned []string
	for _, e := range c.plan.created {
		var own []string
		for _, g := range all {
			if g.name != e.label() && g.name != e.name {
				continue
			}
			own = append(own, g.String())
			if !reportedElsewhere[g.leaf] {
				c.add(lcm.CheckWarning, "value of nfv."+g.String(), hint,
					"the template asks for it, and it has no value; Heat takes an empty one")
			}
		}
		if e.isEmpty("availability_zone") {
			unzoned = append(unzoned, e.label())
		}
		if name := e.missingProperty(); name != "" {
			from := "it has no value"
			if len(own) > 0 {
				from = "there is no value for nfv." + strings.Join(own, ", nfv.")
			}
			c.add(lcm.CheckFailed, name+" of "+e.label(), hint, "it is needed, and %s", from)
		}
	}
	if len(unzoned) > 0 {
		c.add(lcm.CheckOK, "zone of "+strings.Join(unzoned, ", "), "",
			"none is given here: it is the grant's, or else Nova's choice")
	}
}
