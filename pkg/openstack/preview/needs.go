package preview

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// needs is what a plan takes from the VIM.
type needs struct {
	servers []element      // that are made, or get another flavour
	groups  map[string]int // members of each server group afterwards
	// Names or ids, each once.
	images, networks, subnets, external, ports, zones, keys, volumeTypes []string
	fixed                                                                []fixedAddress
	// networking is the number of new objects by the name of Neutron's quota.
	networking map[string]int
	volumes    int
	gigabytes  int
	newGroups  int
}

// fixedAddress is an address that a port shall have.
type fixedAddress struct {
	network, ip, port string // port names the resource
}

// neutronQuota names the quota of each type.
var neutronQuota = map[string]string{
	cloud.TypePort: "port", cloud.TypeFloatingIP: "floatingip", cloud.TypeNetwork: "network",
	cloud.TypeSubnet: "subnet", cloud.TypeRouter: "router",
	cloud.TypeSecurityGroup: "security_group",
}

func needsOf(p *Plan) needs {
	n := needs{groups: map[string]int{}, networking: map[string]int{}}
	for _, e := range p.created {
		n.take(e, p.replacedFirst)
	}
	for _, c := range p.changed {
		if c.New.typ == cloud.TypeServer && c.Old.text("flavor") != c.New.text("flavor") {
			n.servers = append(n.servers, *c.New)
		}
		n.names(*c.New)
	}
	created := keyed(p.created)
	for _, e := range p.after {
		if e.typ == cloud.TypeServer && created[e.key()] != nil {
			n.member(e, p.after)
		}
	}
	for _, list := range []*[]string{
		&n.images, &n.networks, &n.subnets, &n.external, &n.ports, &n.zones, &n.keys, &n.volumeTypes,
	} {
		slices.Sort(*list)
		*list = slices.DeleteFunc(slices.Compact(*list), func(s string) bool { return s == "" })
	}
	return n
}

// take counts what a new resource needs; freed says that it takes the room of one that is gone by then.
func (n *needs) take(e element, freed bool) {
	n.names(e)
	if quota, ok := neutronQuota[e.typ]; ok && !freed {
		n.networking[quota]++
	}
	switch e.typ {
	case cloud.TypeServer:
		if !freed {
			n.servers = append(n.servers, e)
		}
		for _, net := range objects(e.props["networks"]) {
			if net["port"] == nil && (net["network"] != nil || net["uuid"] != nil || net["subnet"] != nil) && !freed {
				n.networking["port"]++ // Nova makes it
			}
		}
		for _, b := range objects(e.props["block_device_mapping_v2"]) {
			if b["image"] != nil && number(b["volume_size"], 0) > 0 && !freed {
				n.volumes++
				n.gigabytes += number(b["volume_size"], 0)
			}
		}
	case cloud.TypeVolume:
		if !freed {
			n.volumes++
			n.gigabytes += number(e.props["size"], 0)
		}
	case cloud.TypeServerGroup:
		n.newGroups++
	}
}

// names collects what a resource refers to.
func (n *needs) names(e element) {
	text := func(m map[string]any, names ...string) string { return element{props: m}.text(names...) }
	switch e.typ {
	case cloud.TypeServer:
		n.images = append(n.images, e.text("image"))
		n.zones = append(n.zones, e.text("availability_zone"))
		n.keys = append(n.keys, e.text("key_name"))
		for _, net := range objects(e.props["networks"]) {
			n.networks = append(n.networks, text(net, "network", "uuid"))
			n.subnets = append(n.subnets, text(net, "subnet"))
			n.ports = append(n.ports, text(net, "port"))
			if ip := text(net, "fixed_ip"); ip != "" {
				n.fixed = append(n.fixed, fixedAddress{text(net, "network", "uuid"), ip, e.label()})
			}
		}
		for _, b := range objects(e.props["block_device_mapping_v2"]) {
			n.images = append(n.images, text(b, "image"))
			n.volumeTypes = append(n.volumeTypes, text(b, "volume_type"))
		}
	case cloud.TypePort:
		network := e.text("network", "network_id")
		n.networks = append(n.networks, network)
		for _, ip := range objects(e.props["fixed_ips"]) {
			n.subnets = append(n.subnets, text(ip, "subnet", "subnet_id"))
			if address := text(ip, "ip_address"); address != "" {
				n.fixed = append(n.fixed, fixedAddress{network, address, e.label()})
			}
		}
	case cloud.TypeFloatingIP:
		n.external = append(n.external, e.text("floating_network", "floating_network_id"))
	case cloud.TypeVolume:
		n.images = append(n.images, e.text("image", "imageRef"))
		n.volumeTypes = append(n.volumeTypes, e.text("volume_type"))
	}
}

// member counts a new server in its group.
func (n *needs) member(e element, after []element) {
	hints, _ := e.props["scheduler_hints"].(map[string]any)
	ref, _ := hints["group"].(map[string]any)
	group, ok := ref["get_resource"].(string)
	if !ok {
		return
	}
	n.groups[group] = 0
	for _, other := range after {
		h, _ := other.props["scheduler_hints"].(map[string]any)
		if r, _ := h["group"].(map[string]any); other.typ == cloud.TypeServer && r["get_resource"] == group {
			n.groups[group]++
		}
	}
}

// objects are the maps in a list.
func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// packagedImage is the image of the package that an image name stands for.
func packagedImage(f *vnfd.Flavour, name string) *vnfd.SwImage {
	for _, n := range images.Packaged(f) {
		if n.Image.Name == name {
			return n.Image
		}
	}
	return nil
}
