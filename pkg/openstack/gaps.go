package openstack

import (
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// required are the properties without which Heat cannot make a resource; each may have several spellings.
var required = map[string][]string{
	typeServer: {"flavor"},
	typePort:   {"network", "network_id"},
	typeFloat:  {"floating_network", "floating_network_id"},
	typeVolume: {"size"},
}

// lacks says which property of a resource the template has and nobody gives a value; "" when there is none that it needs. A server without an
// image needs a volume to boot from.
func (e element) lacks() string {
	if names := required[e.typ]; e.empty(names...) {
		return names[0]
	}
	if e.typ == typeServer && e.empty("image") && e.props["block_device_mapping_v2"] == nil && e.props["block_device_mapping"] == nil {
		return "image"
	}
	return ""
}

// empty says whether the property is in the template, in one of its spellings, and has no value.
func (e element) empty(names ...string) bool {
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

// gapsOf lists the leaves without a value, sorted.
func gapsOf(nfv map[string]any) []gap {
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

// known are the leaves whose absence is told in other words, or means something: a port without a fixed address gets one.
var known = map[string]bool{"computeFlavourId": true, "vcImageId": true, "locationConstraints": true, "network": true, "fixed_ips": true, "port": true}

// gaps tells what nobody gives to the resources that would be made: Heat takes nothing for a value, and says only later, if at all, that something is missing.
func (c *checker) gaps() {
	const hint = "give it in additionalParams.nfv"
	all := gapsOf(c.plan.nfv)
	var unzoned []string
	for _, e := range c.plan.made {
		var own []string
		for _, g := range all {
			if g.name != e.label() && g.name != e.name {
				continue
			}
			own = append(own, g.String())
			if !known[g.leaf] {
				c.add(lcm.CheckWarning, "value of nfv."+g.String(), hint, "nobody gives one, and the template asks for it; Heat takes an empty one")
			}
		}
		if e.empty("availability_zone") {
			unzoned = append(unzoned, e.label())
		}
		if name := e.lacks(); name != "" {
			from := "nobody gives it a value"
			if len(own) > 0 {
				from = "nobody gives a value to nfv." + strings.Join(own, ", nfv.")
			}
			c.add(lcm.CheckFailed, name+" of "+e.label(), hint, "it is needed, and %s", from)
		}
	}
	if len(unzoned) > 0 {
		c.add(lcm.CheckOK, "zone of "+strings.Join(unzoned, ", "), "", "none is given here: it is the grant's, or else Nova's choice")
	}
}
