package preview

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
)

// unalterable lists the properties whose change makes Heat replace a resource; "*" is every one. All others change in
// place.
var unalterable = map[string][]string{
	cloud.TypeServer: {
		"availability_zone", "user_data", "user_data_format", "key_name", "config_drive", "block_device_mapping",
		"block_device_mapping_v2", "scheduler_hints", "reservation_id", "security_groups", "personality", "diskConfig",
	},
	cloud.TypePort:       {"network", "network_id"},
	cloud.TypeFloatingIP: {"floating_network", "floating_network_id", "floating_subnet", "floating_ip_address"},
	cloud.TypeVolume: {
		"image", "imageRef", "snapshot_id", "source_volid", "availability_zone", "scheduler_hints",
	},
	cloud.TypeSubnet:            {"network", "network_id", "cidr", "ip_version", "subnetpool", "prefixlen"},
	cloud.TypeRouterInterface:   {"*"},
	cloud.TypeServerGroup:       {"*"},
	cloud.TypeKeyPair:           {"*"},
	cloud.TypeVolumeAttachment:  {"*"},
	cloud.TypeRandomString:      {"*"},
	cloud.TypeRouterGateway:     {"*"},
	cloud.TypeSecurityGroupRule: {"*"},
}

// updatePolicies are the properties that decide whether a server is replaced for another flavour or image.
var updatePolicies = map[string]string{"flavor": "flavor_update_policy", "image": "image_update_policy"}

// changesOf tells in words what is different about a resource; "" when nothing is. Heat replaces it when replaced is
// true.
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
		if inventory.SameJSON(old.props[k], now.props[k]) {
			continue
		}
		words = append(words, k+": "+display(old.props[k])+" becomes "+display(now.props[k]))
		policy := updatePolicies[k]
		if slices.Contains(fixed, k) || slices.Contains(fixed, "*") || now.typ == cloud.TypeServer &&
			policy != "" && now.props[policy] == "REPLACE" {
			replaced = true
		}
	}
	return cloud.Clip(strings.Join(words, "; "), cloud.MaxText), replaced
}

// display is a property's value in a message.
func display(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return cloud.Clip(v, 100)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "something else"
	}
	return cloud.Clip(string(raw), 200)
}
