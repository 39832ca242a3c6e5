package userdata

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// values gives every leaf of nfv its value; see the package comment for what beats what.
func values(in Input, nfv map[string]any) (map[string]any, []lcm.InvalidParam) {
	kept := lasting(in, in.Held)
	f := filler{in: in, held: kept, used: map[string]string{}}
	f.vdus(nfv)
	f.cps(nfv)
	nfv, _ = lcm.MergePatch(nfv, kept).(map[string]any)
	bad := f.bad
	for _, params := range in.Patches {
		patch, ok := params["nfv"]
		if !ok {
			continue
		}
		m, ok := patch.(map[string]any)
		if !ok {
			bad = append(bad, lcm.InvalidParam{Pointer: "/additionalParams/nfv", Detail: "is not an object"})
			continue
		}
		nfv, _ = lcm.MergePatch(nfv, m).(map[string]any)
	}
	return nfv, append(bad, unconnected(nfv)...)
}

// lasting copies nfv without what does not outlast the operation: the entries of VNFCs that go, and leaves that are
// decided again.
func lasting(in Input, nfv map[string]any) map[string]any {
	out := maps.Clone(nfv)
	for kind, value := range nfv {
		names, ok := value.(map[string]any)
		if !ok {
			continue
		}
		entries := make(map[string]any, len(names))
		for name, value := range names {
			if gone(in, name) {
				continue
			}
			leaves, ok := value.(map[string]any)
			if !ok {
				entries[name] = value
				continue
			}
			leaves = maps.Clone(leaves)
			maps.DeleteFunc(leaves, func(leaf string, _ any) bool {
				return leaf == capacity || in.Fresh != nil && in.Fresh(kind, name, leaf)
			})
			if len(leaves) > 0 {
				entries[name] = leaves
			}
		}
		out[kind] = entries
	}
	return out
}

// gone says whether the entry belongs to a VNFC that is not there (any more).
func gone(in Input, name string) bool {
	vdu, index := vnfc(in.Flavour, name)
	if vdu == "" && in.Previous != nil {
		former, _ := vnfc(in.Previous, name)
		return former != ""
	}
	return in.Class == Standard && index >= 0 && index >= in.Counts[vdu]
}

// stays says whether the entry belongs to a VNFC that was there before, or to a whole VDU that has had some.
func stays(in Input, name string) bool {
	vdu, index := vnfc(in.Flavour, name)
	return max(index, 0) < in.Had[vdu]
}

// Left adds to the values that a stack has now those that held before for VNFCs that are still there, which the stack
// was to lose and has failed to. there counts the VNFCs of the flavour's VDUs.
func Left(f *vnfd.Flavour, now, before map[string]any, there map[string]int) map[string]any {
	out := maps.Clone(now)
	for _, kind := range []string{"VDU", "CP"} {
		names, ok := now[kind].(map[string]any)
		if !ok {
			continue
		}
		names = maps.Clone(names)
		for _, e := range entries(before, kind) {
			vdu, index := vnfc(f, e.name)
			if _, ok := names[e.name]; !ok && index >= 0 && index < there[vdu] {
				names[e.name] = e.leaves
			}
		}
		out[kind] = names
	}
	return out
}

// vnfc is the VNFC that an entry belongs to: its VDU and its index, -1 when the entry is for all of the VDU.
func vnfc(f *vnfd.Flavour, name string) (vdu string, index int) {
	if vdu := owner(f, name); vdu != "" {
		return vdu, -1
	}
	node, index := split(name)
	if vdu := owner(f, node); vdu != "" {
		return vdu, index
	}
	return "", -1
}

// Without copies additionalParams without the values of nfv for what belongs to a flavour.
func Without(params map[string]any, f *vnfd.Flavour) map[string]any {
	nfv, ok := params["nfv"].(map[string]any)
	if !ok {
		return params
	}
	nfv = maps.Clone(nfv)
	for _, kind := range []string{"VDU", "CP"} {
		names, ok := nfv[kind].(map[string]any)
		if !ok {
			continue
		}
		names = maps.Clone(names)
		maps.DeleteFunc(names, func(name string, _ any) bool {
			vdu, _ := vnfc(f, name)
			return vdu != ""
		})
		nfv[kind] = names
	}
	out := maps.Clone(params)
	out["nfv"] = nfv
	return out
}

// owner is the VDU that a node belongs to: a VDU itself, its storages and connection points. "" when it is missing.
func owner(f *vnfd.Flavour, node string) string {
	for _, v := range f.VDUs {
		if v.Name == node || slices.Contains(v.Storages, node) {
			return v.Name
		}
	}
	if cp := f.CP(node); cp != nil {
		return cp.VDU
	}
	return ""
}
