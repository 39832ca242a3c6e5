package preview

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// element is one resource of a stack as its templates have it, with its properties as far as they are known before
// anything is made.
type element struct {
	name, typ string
	props     map[string]any
	in        string // where it is: the names of the resources around it, from the top
	// vdu and index place it, when it belongs to one VNFC; numbered says that the index is in a name of the template.
	vdu      string
	index    int
	numbered bool
}

// key is the same for a resource before and after an update.
func (e element) key() string { return e.typ + " " + e.label() + " " + e.vdu }

// label is the resource's name with the index of its VNFC.
func (e element) label() string {
	if e.vdu == "" {
		return e.name
	}
	return fmt.Sprintf("%s-%d", strings.TrimSuffix(e.name, "-"+strconv.Itoa(e.index)), e.index)
}

func (e element) planned(detail string) lcm.PlannedResource {
	return lcm.PlannedResource{Type: e.typ, Name: e.label(), VDU: e.vdu, Detail: detail}
}

// refers says whether a property of the resource is made from another one beside it.
func (e element) refers(name string) bool {
	var found bool
	visitMaps(e.props, func(m map[string]any) {
		found = found || m["get_resource"] == name
		if list, ok := m["get_attr"].([]any); ok && len(list) > 0 {
			found = found || list[0] == name
		}
	})
	return found
}

// visitMaps calls f for every map in v.
func visitMaps(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			visitMaps(v[k], f)
		}
	case []any:
		for _, e := range v {
			visitMaps(e, f)
		}
	}
}

// text is a property that is known and is a text; the first of the names that is given.
func (e element) text(names ...string) string {
	for _, n := range names {
		if s, ok := e.props[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// keyed returns elements by their keys; of several with one key the first.
func keyed(list []element) map[string]*element {
	out := make(map[string]*element, len(list))
	for i := range list {
		if key := list[i].key(); out[key] == nil {
			out[key] = &list[i]
		}
	}
	return out
}

// elements lists the resources of a stack; nfv is what they are made from.
func (s *Side) elements() (list []element, nfv map[string]any, err error) {
	r := renderer{files: s.Stack.Files, flavour: s.Flavour, parsed: map[string]*document{}}
	nfv = inventory.Plain(s.Stack.NFV)
	err = r.template(s.Stack.Template, map[string]any{"nfv": nfv}, "", nil)
	return r.out, nfv, err
}

// records finds the records of a stack's resources.
type records struct{ named map[[2]string][]lcm.Resource } // by type and name

func recordsOf(i *lcm.Instance) records {
	v := records{map[[2]string][]lcm.Resource{}}
	for _, r := range i.Inventory {
		key := [2]string{r.Type, r.Name}
		v.named[key] = append(v.named[key], r)
	}
	return v
}

func (v records) find(e element) (lcm.Resource, bool) {
	list := v.named[[2]string{e.typ, e.name}]
	at := slices.IndexFunc(list, func(r lcm.Resource) bool {
		return e.vdu == "" || r.VDU == e.vdu && r.Index == e.index
	})
	if at < 0 {
		return lcm.Resource{}, false
	}
	return list[at], true
}

// renumbered gives the members of groups the indexes that they have after the VNFCs of remove are gone: those that stay
// keep theirs.
func renumbered(before, after []element, inv records, remove []string) []element {
	if len(remove) == 0 {
		return after
	}
	type members struct {
		kept []int // indexes before
		next int
	}
	groups := map[string]*members{} // by VDU
	for _, old := range before {
		if old.typ != cloud.TypeServer {
			continue
		}
		m := groups[old.vdu]
		if m == nil {
			m = &members{}
			groups[old.vdu] = m
		}
		m.next = max(m.next, old.index+1)
		if rec, ok := inv.find(old); !ok || !slices.Contains(remove, rec.VNFC) {
			m.kept = append(m.kept, old.index)
		}
	}
	out := slices.Clone(after)
	for i, e := range out {
		if e.vdu == "" || e.numbered {
			continue
		}
		m := groups[e.vdu]
		switch {
		case m == nil: // the VDU had no machines
		case e.index < len(m.kept):
			out[i].index = m.kept[e.index]
		default:
			out[i].index = m.next + e.index - len(m.kept)
		}
	}
	return out
}

// onlyVDU finds the VDU whose VNFC a level of a stack is: the one server in it.
func onlyVDU(f *vnfd.Flavour, level []element) string {
	vdu := ""
	for _, e := range level {
		if e.typ != cloud.TypeServer || f.VDU(e.name) == nil {
			continue
		}
		if vdu != "" {
			return ""
		}
		vdu = e.name
	}
	return vdu
}
