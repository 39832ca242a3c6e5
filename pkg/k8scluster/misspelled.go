package k8scluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// members are the names that the parameters have, object by object; those of lists are the names in their objects.
type members map[string]members

// loginMembers are those of every role.
func loginMembers(more members) members {
	out := members{
		"vdu_id": nil, "aspect_id": nil, "ssh_cp_name": nil, "nic_cp_name": nil, "username": nil,
		"password": nil, "private_key": nil,
	}
	maps.Copy(out, more)
	return out
}

var known = members{
	"master_node_username": nil, "master_node_password": nil, "worker_node_username": nil, "worker_node_password": nil,
	ParamKey: {
		"script_path": nil, "vim_name": nil, "kubernetes_version": nil, "cilium_version": nil, "drain_timeout": nil,
		"upgrade_batch":                 nil,
		"helm_installation_script_path": nil,
		"master_node": loginMembers(
			members{"pod_cidr": nil, "cluster_cidr": nil, "cluster_cp_name": nil, "cluster_fip_name": nil},
		),
		"worker_node": loginMembers(nil),
		"proxy":       {"http_proxy": nil, "https_proxy": nil, "no_proxy": nil, "k8s_node_cidr": nil},
		"storage_server": loginMembers(members{
			"cinder_volume_setup_params": {"volume_resource_id": nil, "mount_to": nil},
			"nfs_server_setup_params":    {"export_dir": nil, "export_to": nil},
		}),
		"pv_registration_params": {"pv_manifest_file_path": nil, "nfs_server_cp": nil},
		"private_registry_connection_info": {
			"connection_type": nil, "server": nil, "username": nil, "password": nil, "certificate_path": nil,
			"hosts_string": nil,
		},
	},
}

// misspelled reports members of a request whose names are similar to known ones: a request with pod_cird would get the
// default, and its user would notice it only in the cluster. Other unknown members are ignored, as in other VNFMs. Only
// this request is checked, not the parameters of earlier ones.
func misspelled(request json.RawMessage) []lcm.InvalidParam { return known.check(request) }

// check is misspelled for these names.
func (k members) check(request json.RawMessage) []lcm.InvalidParam {
	var req struct {
		AdditionalParams map[string]any `json:"additionalParams"`
	}
	if len(request) > 0 && json.Unmarshal(request, &req) != nil {
		return nil // reported by the parser of the request
	}
	return k.misspelled("/additionalParams", "additionalParams", req.AdditionalParams)
}

func (k members) misspelled(pointer, name string, in any) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	switch v := in.(type) {
	case []any:
		for i, item := range v {
			bad = append(bad, k.misspelled(fmt.Sprintf("%s/%d", pointer, i), name, item)...)
		}
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(v)) {
			at := pointer + "/" + lcm.Escape(member)
			if sub, ok := k[member]; ok {
				bad = append(bad, sub.misspelled(at, member, v[member])...)
			} else if meant := k.meant(member, v); meant != "" && v[member] != nil {
				bad = append(bad, lcm.InvalidParam{
					Pointer: at, Detail: fmt.Sprintf("%s has no member %q; did you mean %s?", name, member, meant),
				})
			}
		}
	}
	return bad
}

// meant is the known name that a member is nearly called, "" when there is none that the object does not have besides.
func (k members) meant(member string, object map[string]any) string {
	best, least := "", 3 // more than two letters are another word
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if _, has := object[name]; has {
			continue
		}
		if d := distance(strings.ToLower(member), name); d < least && d*3 < len(name) {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be changed, added or left out to make one word of the other (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
