package userdata

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// capacity is the leaf that holds the size of a group.
const capacity = "desired_capacity"

// filler gives the leaves of nfv their values.
type filler struct {
	in   Input
	held map[string]any    // what outlasts the operation
	used map[string]string // the CP that took a network's address
	bad  []lcm.InvalidParam
}

// split takes the index off a name such as VDU1_CP1-0; the index is -1 when it has none.
func split(name string) (string, int) {
	if at := strings.LastIndexByte(name, '-'); at > 0 {
		if i, err := strconv.Atoi(name[at+1:]); err == nil && i >= 0 {
			return name[:at], i
		}
	}
	return name, -1
}

// set fills a leaf that the template asks for; an empty value leaves it nil.
func set(leaves map[string]any, leaf, value string) {
	if _, asked := leaves[leaf]; asked && value != "" {
		leaves[leaf] = value
	}
}

// vdus fills nfv.VDU, which has VDUs and storages.
func (f *filler) vdus(nfv map[string]any) {
	for _, e := range entries(nfv, "VDU") {
		name := e.name
		if f.in.Flavour.VDU(name) == nil && f.storage(name) == nil {
			name, _ = split(name)
		}
		if v := f.in.Flavour.VDU(name); v != nil {
			for _, leaf := range Leaves(LeafFlavour) {
				set(e.leaves, leaf, cmp.Or(f.in.Grant.Flavours[name], f.sibling(e.name, leaf), v.ComputeFlavour))
			}
			f.images(e, name, v.Image)
			set(e.leaves, "locationConstraints", cmp.Or(f.in.Grant.Zones[e.name], f.in.Grant.Zones[name]))
			if _, asked := e.leaves[capacity]; asked {
				e.leaves[capacity] = f.in.Counts[name]
			}
		} else if s := f.storage(name); s != nil {
			f.images(e, name, s.Image)
		}
		f.leave(e)
	}
}

// leave takes back what was given to a VNFC that has been without: it would be recreated in another place because of an
// operation that does not concern it.
func (f *filler) leave(e entry) {
	if !stays(f.in, e.name) {
		return
	}
	for leaf := range e.leaves {
		if leaf != capacity && (f.in.Fresh == nil || !f.in.Fresh("VDU", e.name, leaf)) {
			e.leaves[leaf] = nil
		}
	}
}

// sibling is the value that the VDU's first VNFC has: a VNFC that is added is made like those that are there.
func (f *filler) sibling(name, leaf string) string {
	node, index := split(name)
	if index < 0 {
		return ""
	}
	for _, e := range entries(f.held, "VDU") {
		if n, i := split(e.name); n == node && i >= 0 {
			if v, ok := e.leaves[leaf].(string); ok {
				return v
			}
		}
	}
	return ""
}

func (f *filler) storage(name string) *vnfd.Storage {
	for i := range f.in.Flavour.Storages {
		if f.in.Flavour.Storages[i].Name == name {
			return &f.in.Flavour.Storages[i]
		}
	}
	return nil
}

// images fills the leaves that name the image of a node.
func (f *filler) images(e entry, node string, img *vnfd.SwImage) {
	named := ""
	if img != nil {
		named = img.Name
	}
	for _, leaf := range Leaves(LeafImage) {
		set(e.leaves, leaf, cmp.Or(f.in.Grant.Images[node], f.sibling(e.name, leaf), named))
	}
}

// cps fills nfv.CP from the external virtual links.
func (f *filler) cps(nfv map[string]any) {
	f.takeHeld()
	for _, e := range entries(nfv, "CP") {
		name, index := e.name, -1
		if f.in.Flavour.CP(name) == nil {
			name, index = split(name)
		}
		at, ok := Find(f.in.Ext, name, index)
		if !ok {
			f.noAddresses(e)
			continue
		}
		set(e.leaves, "network", f.in.Ext[at.Link].ResourceID)
		set(e.leaves, "port", at.port(f.in.Ext))
		want, asked := e.leaves["fixed_ips"]
		if list, ok := want.([]any); ok {
			e.leaves["fixed_ips"] = f.fixedIPs(e.name, index, list, at)
		} else if asked && want == nil { // the template takes the list as it is
			e.leaves["fixed_ips"] = f.fixedIPs(e.name, index, nil, at)
		}
	}
}

// noAddresses empties the list of addresses of a CP for which the request has none: no value at all would be an object
// to Heat, and no list.
func (f *filler) noAddresses(e entry) {
	list, asked := e.leaves["fixed_ips"]
	if _, ok := list.([]any); ok || asked && list == nil {
		e.leaves["fixed_ips"] = []any{}
	}
}

// fixedIPs fills the addresses that the template asks for (nil = all there are), as far as the request gives some.
// Entries of the request that name neither an address nor a subnet are skipped.
func (f *filler) fixedIPs(name string, index int, want []any, at Place) []any {
	out := []any{}
	for p, proto := range at.Config.CpProtocolData {
		if proto.IpOverEthernet == nil {
			continue
		}
		for a, ip := range proto.IpOverEthernet.IpAddresses {
			address := fixedAddress(ip, index)
			if address == "" && ip.SubnetID == "" {
				continue
			}
			if want != nil && len(out) == len(want) {
				return out
			}
			leaves := leavesOf(want, len(out), ip.SubnetID, address)
			set(leaves, "subnet", ip.SubnetID)
			set(leaves, "ip_address", address)
			if _, asked := leaves["ip_address"]; asked && address != "" && !f.holds(name) {
				f.take(f.in.Ext[at.Link].ResourceID, address, name, fmt.Sprintf(
					"/extVirtualLinks/%d/extCps/%d/cpConfig/%s/cpProtocolData/%d/ipOverEthernet/ipAddresses/%d/"+
						"fixedAddresses",
					at.Link, at.CP, lcm.Escape(at.Key), p, a))
			}
			out = append(out, leaves)
		}
	}
	return out
}

// takeHeld notes the addresses of connection points that keep theirs.
func (f *filler) takeHeld() {
	for _, e := range entries(f.held, "CP") {
		network, _ := e.leaves["network"].(string)
		ips, _ := e.leaves["fixed_ips"].([]any)
		for _, ip := range ips {
			m, _ := ip.(map[string]any)
			if address, ok := m["ip_address"].(string); ok {
				f.used[network+" "+address] = e.name
			}
		}
	}
}

// holds says whether a connection point keeps its addresses, whatever is computed.
func (f *filler) holds(name string) bool {
	cps, _ := f.held["CP"].(map[string]any)
	leaves, _ := cps[name].(map[string]any)
	_, ok := leaves["fixed_ips"]
	return ok
}

// leavesOf returns the members that the template wants of its i-th address; of a list it takes whole, those that are
// given.
func leavesOf(want []any, i int, subnet, address string) map[string]any {
	if want != nil {
		m, _ := want[i].(map[string]any)
		return m
	}
	m := map[string]any{}
	if subnet != "" {
		m["subnet"] = nil
	}
	if address != "" {
		m["ip_address"] = nil
	}
	return m
}

// take notes that a CP gets a fixed address, which no other CP of the network can have.
func (f *filler) take(network, address, name, pointer string) {
	key := network + " " + address
	if other, taken := f.used[key]; taken {
		f.bad = append(f.bad, lcm.InvalidParam{Pointer: pointer, Detail: fmt.Sprintf(
			"%s and %s would both get %s; give one address, or one cpConfig entry, per VNFC", other, name, address,
		)})
		return
	}
	f.used[key] = name
}

// fixedAddress is the address for the VNFC with this index: the one in its place, or the only one.
func fixedAddress(ip sol.IpAddressData, index int) string {
	switch n := len(ip.FixedAddresses); {
	case n == 0:
		return ""
	case index < 0 || index >= n:
		return ip.FixedAddresses[0]
	}
	return ip.FixedAddresses[index]
}
