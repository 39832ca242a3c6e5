package k8scluster

import (
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// inPlace are the properties of servers that Heat changes without making the server anew.
var inPlace = map[string]bool{
	"flavor": true, "flavor_update_policy": true, "image_update_policy": true, "metadata": true, "name": true, "tags": true,
	"admin_pass": true, "user_data_update_policy": true, "software_config_transport": true,
}

// remadeBy names the properties by which Heat would make the servers of a VDU anew. Only resources that both packages have can be compared.
func remadeBy(vdu, flavour string, is, was fs.FS) []string {
	now, before := templateServers(is, flavour, vdu), templateServers(was, flavour, vdu)
	found := map[string]bool{}
	for kind, properties := range now {
		old, both := before[kind]
		if !both {
			continue
		}
		for _, side := range []map[string]any{properties, old} {
			for name := range side {
				if !inPlace[name] && !reflect.DeepEqual(properties[name], old[name]) {
					found[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// templateServers are the properties of the resources of that name in a flavour's templates: of the server itself, and of what stands for
// its nested template further up. Templates that are none are the infra driver's to report.
func templateServers(pkg fs.FS, flavour, name string) map[string]map[string]any {
	out := map[string]map[string]any{}
	eachTemplate(pkg, flavour, func(raw []byte) {
		var t struct {
			Resources map[string]struct {
				Type       string         `yaml:"type"`
				Properties map[string]any `yaml:"properties"`
			} `yaml:"resources"`
		}
		if yaml.Unmarshal(raw, &t) != nil {
			return
		}
		r, ok := t.Resources[name]
		switch ext := strings.ToLower(path.Ext(r.Type)); {
		case ok && r.Type == serverType:
			out[serverType] = r.Properties
		case ok && (ext == ".yaml" || ext == ".yml"):
			out["nested"] = r.Properties
		}
	})
	return out
}
