package inventory

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Tree is a stack's resources with their places.
type Tree struct {
	all  []cloud.Resource
	byID map[string]cloud.Resource // by physical id
	In   map[string][]cloud.Resource
	top  string // id of the top stack
	// oldestFirst are the VDUs of which scaling in takes away the oldest VNFC, because Heat chooses.
	OldestFirst map[string]bool
}

// NewTree arranges the resources of a stack and of those nested in it.
func NewTree(top *cloud.Stack, all []cloud.Resource) Tree {
	t := Tree{byID: map[string]cloud.Resource{}, In: map[string][]cloud.Resource{}, top: top.ID}
	for _, r := range all {
		if r.PhysicalID == "" || r.Status == "DELETE_COMPLETE" {
			continue
		}
		t.all = append(t.all, r)
		t.byID[r.PhysicalID] = r
		owner := r.Owner().ID
		t.In[owner] = append(t.In[owner], r)
	}
	return t
}

// IDs lists the physical ids of all resources of a type.
func (t Tree) IDs(typ string) []string {
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
func (t Tree) parent(r cloud.Resource) (cloud.Resource, bool) {
	p, ok := t.byID[r.Owner().ID]
	return p, ok
}

// Beside finds a resource by name in the stack that r is in.
func (t Tree) Beside(r cloud.Resource, name, typ string) (cloud.Resource, bool) {
	for _, o := range t.In[r.Owner().ID] {
		if o.Name == name && o.Type == typ {
			return o, true
		}
	}
	return cloud.Resource{}, false
}

// VNFC is one VNFC as the stack has it.
type VNFC struct {
	ID    string // vnfcInfo.id
	VDU   *vnfd.VDU
	Index int // place in its VDU
	// numbered says that index is the one in the resource's name, not one by age.
	Numbered bool
	Server   cloud.Resource
	Parent   cloud.Resource // of server; its zero value when server is in the top stack
}

// Key is the name of the VNFC below nfv.VDU.
func (c VNFC) Key() string {
	if c.Numbered {
		return c.VDU.Name + "-" + strconv.Itoa(c.Index)
	}
	return c.VDU.Name
}

// VNFCs finds the VNFCs of the flavour: servers with the name of a VDU. They are sorted as scaling in removes them: the
// highest index first (or, where Heat chooses, the oldest). VNFCs of several VDUs that have the same index are sorted
// by the name of the VDU. The order does not depend on ages.
func (t Tree) VNFCs(f *vnfd.Flavour, i *lcm.Instance) []VNFC {
	ids, known, recorded := VNFCIDs(i), knownIndexes(i), recordedIDs(i)
	found := map[string]bool{} // a VIM may list a server twice
	var out []VNFC
	for i := range f.VDUs {
		v := &f.VDUs[i]
		var of []VNFC
		for _, r := range t.all {
			if r.Type != cloud.TypeServer || found[r.PhysicalID] {
				continue
			}
			if c, ok := t.vnfcOf(v, r); ok {
				of = append(of, c)
				found[r.PhysicalID] = true
			}
		}
		assignIndexes(of, known)
		for k := range of {
			c := &of[k]
			c.ID = cmp.Or(recorded[c.Server.PhysicalID], v.Name+"-"+c.Server.PhysicalID)
			if named := ids[v.Name]; c.Index < len(named) && named[c.Index] != "" {
				c.ID = named[c.Index]
			}
		}
		out = append(out, of...)
	}
	slices.SortFunc(out, func(a, b VNFC) int {
		return cmp.Or(
			cmp.Compare(b.Index, a.Index), strings.Compare(a.VDU.Name, b.VDU.Name),
			strings.Compare(a.Server.PhysicalID, b.Server.PhysicalID),
		)
	})
	for vdu := range t.OldestFirst {
		t.inHeatsOrder(out, vdu)
	}
	return out
}

// inHeatsOrder sorts the VNFCs of a VDU, in the places that they have among the others, as Heat takes members of a
// group away.
func (t Tree) inHeatsOrder(all []VNFC, vdu string) {
	var of []VNFC
	var places []int
	for at, c := range all {
		if c.VDU.Name == vdu && !c.Numbered {
			of, places = append(of, c), append(places, at)
		}
	}
	slices.SortStableFunc(of, func(a, b VNFC) int { return cloud.RemovedFirst(a.Parent, b.Parent) })
	for n, at := range places {
		all[at] = of[n]
	}
}

// knownIndexes are the indexes that the instance has recorded for its servers.
func knownIndexes(i *lcm.Instance) map[string]int {
	known := map[string]int{}
	for _, r := range i.Inventory {
		if r.Type == cloud.TypeServer {
			known[r.ID] = r.Index
		}
	}
	return known
}

// recordedIDs are the ids of the VNFCs that the instance has recorded, by their servers. An id that another VNFM has
// given stays for as long as the server does.
func recordedIDs(i *lcm.Instance) map[string]string {
	out := map[string]string{}
	if i.Instantiated != nil {
		for _, c := range i.Instantiated.VnfcInfo {
			out[c.VnfcResourceInfoID] = c.ID
		}
	}
	return out
}

func (t Tree) vnfcOf(v *vnfd.VDU, r cloud.Resource) (VNFC, bool) {
	p, nested := t.parent(r)
	if node, i, ok := userdata.SplitIndex(p.Name); nested && r.Name == v.Name && ok && node == v.Name {
		return VNFC{VDU: v, Index: i, Numbered: true, Server: r, Parent: p}, true
	}
	if node, i, ok := userdata.SplitIndex(r.Name); ok && node == v.Name { // the VDU's resource is the server itself
		return VNFC{VDU: v, Index: i, Numbered: true, Server: r, Parent: p}, true
	}
	return VNFC{VDU: v, Server: r, Parent: p}, r.Name == v.Name
}

// assignIndexes numbers the VNFCs of a VDU whose resources carry no index. VNFCs that the instance has recorded keep
// their order, and new ones follow, the oldest first. The recorded order is decisive, because Heat tells ages in whole
// seconds, and a fast cloud creates many servers in one second.
func assignIndexes(of []VNFC, known map[string]int) {
	index := func(r cloud.Resource) int {
		if n, ok := known[r.PhysicalID]; ok {
			return n
		}
		return math.MaxInt
	}
	slices.SortFunc(of, func(a, b VNFC) int {
		return cmp.Or(
			cmp.Compare(index(a.Server), index(b.Server)), a.Server.Created().Compare(b.Server.Created()),
			strings.Compare(b.Server.PhysicalID, a.Server.PhysicalID),
		)
	})
	n := 0
	for i := range of {
		if !of[i].Numbered {
			of[i].Index = n
			n++
		}
	}
}

// VNFCIDs reads the ids that the user chose for VNFCs: VDU_VNFc_mapping in the instance's metadata.
func VNFCIDs(i *lcm.Instance) map[string][]string {
	var m map[string]any
	_ = json.Unmarshal(i.Metadata.Member("VDU_VNFc_mapping"), &m) // it may be absent; its form was checked
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

// DecodeNFV reads the parameter as Heat gives it: JSON text. nil when Heat hides it.
func DecodeNFV(v any) map[string]any {
	if s, ok := v.(string); ok {
		var out map[string]any
		if json.Unmarshal([]byte(s), &out) != nil {
			return nil
		}
		return out
	}
	m, _ := v.(map[string]any)
	return Plain(m)
}

// Plain gives m the types that encoding/json produces, as they are after the instance has been stored and read.
func Plain(m map[string]any) map[string]any {
	raw, err := json.Marshal(m)
	if err != nil {
		return m
	}
	var out map[string]any
	_ = json.Unmarshal(raw, &out)
	return out
}
