package preview

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// alterable are the properties of servers that Heat changes without replacing or rebuilding the server. It is the
// counterpart of unalterable for those who have to be sure: properties in neither table may change in place or not.
var alterable = []string{
	"flavor", "flavor_update_policy", "image_update_policy", "metadata", "name", "tags", "admin_pass",
	"user_data_update_policy",
	"software_config_transport",
}

// Templates answers questions about the templates of a request; a bundle that cannot be read, or is not there, is nil.
type Templates struct{ Now, Previous *hot.Bundle }

var _ lcm.Templates = Templates{}

// Resources implements lcm.Templates.
func (t Templates) Resources() []string {
	var out []string
	for _, tpl := range t.Now.All() {
		out = append(out, tpl.Resources()...)
	}
	return out
}

// TakesKey implements lcm.Templates.
func (t Templates) TakesKey() bool {
	return t.Now != nil && t.Now.Template.Declares(userdata.ParamPublicKey)
}

// Replaces implements lcm.Templates. Only resources that both packages have can be compared.
func (t Templates) Replaces(vdu string) []string {
	now, previous := machines(t.Now, vdu), machines(t.Previous, vdu)
	found := map[string]bool{}
	for kind, props := range now {
		old, both := previous[kind]
		if !both {
			continue
		}
		for _, side := range []map[string]any{props, old} {
			for name := range side {
				if !slices.Contains(alterable, name) && !reflect.DeepEqual(props[name], old[name]) {
					found[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// machines are the properties of the resources named like a VDU: of the server itself, and of the nested template that
// contains the server.
func machines(b *hot.Bundle, vdu string) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, t := range b.All() {
		typ, props := t.Properties(vdu)
		switch ext := strings.ToLower(path.Ext(typ)); {
		case typ == cloud.TypeServer:
			out[cloud.TypeServer] = props
		case ext == ".yaml" || ext == ".yml":
			out["nested"] = props
		}
	}
	return out
}
