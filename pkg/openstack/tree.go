package openstack

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// tree is a stack's resources with their places.
type tree struct {
	all  []resource
	byID map[string]resource // by physical id
	in   map[string][]resource
	top  string // id of the top stack
	// oldestFirst are the VDUs of which scaling in takes away the oldest VNFC, because Heat chooses.
	oldestFirst map[string]bool
}

func newTree(top *stack, all []resource) tree {
	t := tree{byID: map[string]resource{}, in: map[string][]resource{}, top: top.ID}
	for _, r := range all {
		if r.PhysicalID == "" || r.Status == "DELETE_COMPLETE" {
			continue
		}
		t.all = append(t.all, r)
		t.byID[r.PhysicalID] = r
		owner := r.owner().ID
		t.in[owner] = append(t.in[owner], r)
	}
	return t
}

// ids lists the physical ids of all resources of a type.
func (t tree) ids(typ string) []string {
	var out []string
	for _, r := range t.all {
		if r.Type == typ {
			out = append(out, r.PhysicalID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parent is the resource that stands for the stack r is in.
func (t tree) parent(r resource) (resource, bool) {
	p, ok := t.byID[r.owner().ID]
	return p, ok
}

// beside finds a resource by name in the stack that r is in.
func (t tree) beside(r resource, name, typ string) (resource, bool) {
	for _, o := range t.in[r.owner().ID] {
		if o.Name == name && o.Type == typ {
			return o, true
		}
	}
	return resource{}, false
}

// vnfc is one VNFC as the stack has it.
type vnfc struct {
	id    string // vnfcInfo.id
	vdu   *vnfd.VDU
	index int // place in its VDU
	// numbered says that index is the one in the resource's name, not one by age.
	numbered bool
	server   resource
	parent   resource // of server; its zero value when server is in the top stack
}

func (c vnfc) vduKey() string {
	if c.numbered {
		return c.vdu.Name + "-" + strconv.Itoa(c.index)
	}
	return c.vdu.Name
}

// created is the age of the server; an unreadable one is the oldest.
func (r resource) created() time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, r.Created); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

var trailingIndex = regexp.MustCompile(`^(.+)-(\d+)$`)

// vnfcs finds the VNFCs of the flavour: servers with the name of a VDU. They are sorted as scaling in takes them away: the highest index
// first, then the youngest, or the oldest where Heat chooses.
func (t tree) vnfcs(f *vnfd.Flavour, i *lcm.Instance) []vnfc {
	ids, younger := vnfcIDs(i), youngerOf(i)
	var out []vnfc
	for i := range f.VDUs {
		v := &f.VDUs[i]
		var of []vnfc
		for _, r := range t.all {
			if r.Type != typeServer {
				continue
			}
			if c, ok := t.vnfcOf(v, r); ok {
				of = append(of, c)
			}
		}
		age(of, younger)
		for k := range of {
			c := &of[k]
			c.id = v.Name + "-" + c.server.PhysicalID
			if named := ids[v.Name]; c.index < len(named) && named[c.index] != "" {
				c.id = named[c.index]
			}
		}
		out = append(out, of...)
	}
	slices.SortStableFunc(out, func(a, b vnfc) int {
		if a.numbered && b.numbered && a.index != b.index {
			return b.index - a.index
		}
		return younger(a.server, b.server)
	})
	for vdu := range t.oldestFirst {
		t.inHeatsOrder(out, vdu)
	}
	return out
}

// inHeatsOrder sorts the VNFCs of a VDU, in the places that they have among the others, as Heat takes members of a group away.
func (t tree) inHeatsOrder(all []vnfc, vdu string) {
	var of []vnfc
	var places []int
	for at, c := range all {
		if c.vdu.Name == vdu && !c.numbered {
			of, places = append(of, c), append(places, at)
		}
	}
	slices.SortStableFunc(of, func(a, b vnfc) int { return firstToGo(a.parent, b.parent) })
	for n, at := range places {
		all[at] = of[n]
	}
}

// youngerOf compares servers, the younger first. Heat tells their age in seconds; of those that are of one second, new ones are younger than those that
// the instance had, which keep their indexes.
func youngerOf(i *lcm.Instance) func(a, b resource) int {
	known := map[string]int{}
	for _, r := range i.Inventory {
		if r.Type == typeServer {
			known[r.ID] = r.Index
		}
	}
	place := func(r resource) int {
		if index, ok := known[r.PhysicalID]; ok {
			return index
		}
		return math.MaxInt
	}
	return func(a, b resource) int {
		return cmp.Or(b.created().Compare(a.created()), cmp.Compare(place(b), place(a)), strings.Compare(a.PhysicalID, b.PhysicalID))
	}
}

func (t tree) vnfcOf(v *vnfd.VDU, r resource) (vnfc, bool) {
	p, nested := t.parent(r)
	if m := trailingIndex.FindStringSubmatch(p.Name); nested && r.Name == v.Name && m != nil && m[1] == v.Name {
		i, err := strconv.Atoi(m[2])
		return vnfc{vdu: v, index: i, numbered: true, server: r, parent: p}, err == nil
	}
	if m := trailingIndex.FindStringSubmatch(r.Name); m != nil && m[1] == v.Name { // the VDU's resource is the server itself
		i, err := strconv.Atoi(m[2])
		return vnfc{vdu: v, index: i, numbered: true, server: r, parent: p}, err == nil
	}
	return vnfc{vdu: v, server: r, parent: p}, r.Name == v.Name
}

// age numbers VNFCs without an index of their own, the oldest first.
func age(of []vnfc, younger func(a, b resource) int) {
	slices.SortStableFunc(of, func(a, b vnfc) int { return younger(b.server, a.server) })
	n := 0
	for i := range of {
		if !of[i].numbered {
			of[i].index = n
			n++
		}
	}
}

// vnfcIDs reads the ids that the user chose for VNFCs: VDU_VNFc_mapping in the instance's metadata.
func vnfcIDs(i *lcm.Instance) map[string][]string {
	m, _ := i.Metadata["VDU_VNFc_mapping"].(map[string]any)
	out := make(map[string][]string, len(m))
	for vdu := range maps.Keys(m) {
		list, _ := m[vdu].([]any)
		for _, v := range list {
			s, _ := v.(string)
			out[vdu] = append(out[vdu], s)
		}
	}
	return out
}

// decodeNFV reads the parameter as Heat gives it: JSON text. nil when it is not to be had.
func decodeNFV(v any) map[string]any {
	if s, ok := v.(string); ok {
		var out map[string]any
		if json.Unmarshal([]byte(s), &out) != nil {
			return nil
		}
		return out
	}
	m, _ := v.(map[string]any)
	return plain(m)
}

// plain gives m the types that encoding/json produces, as they are after the instance has been stored and read.
func plain(m map[string]any) map[string]any {
	raw, err := json.Marshal(m)
	if err != nil {
		return m
	}
	var out map[string]any
	_ = json.Unmarshal(raw, &out)
	return out
}
