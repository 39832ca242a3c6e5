package openstack

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// unalterable lists the properties whose change makes Heat replace a resource; "*" is every one. All others change in place.
var unalterable = map[string][]string{
	typeServer: {
		"availability_zone", "user_data", "user_data_format", "key_name", "config_drive", "block_device_mapping", "block_device_mapping_v2",
		"scheduler_hints", "reservation_id", "security_groups", "personality", "diskConfig",
	},
	typePort:                         {"network", "network_id"},
	typeFloat:                        {"floating_network", "floating_network_id", "floating_subnet", "floating_ip_address"},
	typeVolume:                       {"image", "imageRef", "snapshot_id", "source_volid", "availability_zone", "scheduler_hints"},
	"OS::Neutron::Subnet":            {"network", "network_id", "cidr", "ip_version", "subnetpool", "prefixlen"},
	"OS::Neutron::RouterInterface":   {"*"},
	"OS::Nova::ServerGroup":          {"*"},
	"OS::Nova::KeyPair":              {"*"},
	"OS::Cinder::VolumeAttachment":   {"*"},
	"OS::Heat::RandomString":         {"*"},
	"OS::Neutron::RouterGateway":     {"*"},
	"OS::Neutron::SecurityGroupRule": {"*"},
}

// policies are the properties that decide whether a server is made anew for another flavour or image.
var policies = map[string]string{"flavor": "flavor_update_policy", "image": "image_update_policy"}

// changesOf tells in words what is different about a resource; "" when nothing is. Heat replaces it when replaced is true.
func changesOf(old, now element) (detail string, replaced bool) {
	names := map[string]bool{}
	for k := range old.props {
		names[k] = true
	}
	for k := range now.props {
		names[k] = true
	}
	var words []string
	fixed := unalterable[now.typ]
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if sameJSON(old.props[k], now.props[k]) {
			continue
		}
		words = append(words, k+": "+shown(old.props[k])+" becomes "+shown(now.props[k]))
		policy := policies[k]
		if slices.Contains(fixed, k) || slices.Contains(fixed, "*") || now.typ == typeServer && policy != "" && now.props[policy] == "REPLACE" {
			replaced = true
		}
	}
	return clip(strings.Join(words, "; "), maxText), replaced
}

// shown is a property's value as it is told to users.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return clip(v, 100)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "something else"
	}
	return clip(string(raw), 200)
}
