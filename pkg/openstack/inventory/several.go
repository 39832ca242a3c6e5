package inventory

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// metadataVims is the member of the metadata of an InstantiatedVnfInfo that has, by the key of a connection, the
// metadata of the stacks that were not created through the primary one.
const metadataVims = "vims"

// Part is the record of one of the stacks of an instance.
type Part struct {
	Record
	Vim string // the key of the connection; "" is the primary one
}

// Merge makes the record of an instance from those of its stacks, the one of the primary connection first.
func Merge(parts []Part) Record {
	if len(parts) == 1 {
		return parts[0].Record
	}
	info := *parts[0].Info
	vims := map[string]any{}
	resources := slices.Clone(parts[0].Resources)
	for _, p := range parts[1:] {
		vims[p.Vim] = map[string]any(p.Info.Metadata)
		info.VnfcInfo = slices.Concat(info.VnfcInfo, p.Info.VnfcInfo)
		info.VnfcResourceInfo = slices.Concat(info.VnfcResourceInfo, p.Info.VnfcResourceInfo)
		info.VirtualStorageResourceInfo = slices.Concat(
			info.VirtualStorageResourceInfo, p.Info.VirtualStorageResourceInfo,
		)
		info.ExtCpInfo = slices.Concat(info.ExtCpInfo, p.Info.ExtCpInfo)
		info.ExtVirtualLinkInfo = slices.Concat(info.ExtVirtualLinkInfo, p.Info.ExtVirtualLinkInfo)
		info.ExtManagedVirtualLinkInfo = slices.Concat(info.ExtManagedVirtualLinkInfo, p.Info.ExtManagedVirtualLinkInfo)
		info.VnfVirtualLinkResourceInfo = slices.Concat(
			info.VnfVirtualLinkResourceInfo, p.Info.VnfVirtualLinkResourceInfo,
		)
		for _, r := range p.Resources {
			r.Vim = p.Vim
			resources = append(resources, r)
		}
	}
	info.Metadata = maps.Clone(info.Metadata)
	if info.Metadata == nil {
		info.Metadata = sol.KeyValuePairs{}
	}
	info.Metadata[metadataVims] = vims
	return Record{Info: &info, Resources: resources}
}

// Vims lists the connections, beside the primary one, through which the instance has stacks.
func Vims(i *sol.InstantiatedVnfInfo) []string {
	if i == nil {
		return nil
	}
	vims, _ := i.Metadata[metadataVims].(map[string]any)
	return slices.Sorted(maps.Keys(vims))
}

// VimOf is the connection through which the VNFCs of a VDU were created, "" for the primary one; false when there are
// none.
func VimOf(i *sol.InstantiatedVnfInfo, vdu string) (string, bool) {
	if i == nil {
		return "", false
	}
	at := slices.IndexFunc(i.VnfcResourceInfo, func(r sol.VnfcResourceInfo) bool { return r.VduID == vdu })
	if at < 0 {
		return "", false
	}
	if vim := i.VnfcResourceInfo[at].ComputeResource.VimConnectionID; slices.Contains(Vims(i), vim) {
		return vim, true
	}
	return "", true
}

// StackIDs lists the ids of the instance's stacks.
func StackIDs(i *sol.InstantiatedVnfInfo) []string {
	var out []string
	add := func(m map[string]any) {
		if id, ok := m["stack_id"].(string); ok && id != "" {
			out = append(out, id)
		}
	}
	if i != nil {
		add(i.Metadata)
		for _, vim := range Vims(i) {
			add(metadataOf(i, vim))
		}
	}
	return out
}

func metadataOf(i *sol.InstantiatedVnfInfo, vim string) map[string]any {
	vims, _ := i.Metadata[metadataVims].(map[string]any)
	m, _ := vims[vim].(map[string]any)
	return m
}

// Of is the part of a record that one stack has; "" is the primary connection. Links belong to the stack whose
// connection points they connect: owns says which these are.
func (r Record) Of(vim string, owns func(cpd string) bool) Record {
	var out Record
	for _, o := range r.Resources {
		if o.Vim == vim {
			out.Resources = append(out.Resources, o)
		}
	}
	if r.Info == nil {
		return out
	}
	s := splitter{vim: vim, vims: Vims(r.Info)}
	info := *r.Info
	info.Metadata = metadataOf(r.Info, vim)
	if vim == "" {
		info.Metadata = maps.Clone(r.Info.Metadata)
		delete(info.Metadata, metadataVims)
	}
	ids := map[string]bool{}
	info.VnfcResourceInfo = only(info.VnfcResourceInfo, func(c sol.VnfcResourceInfo) bool {
		ids[c.ID] = s.has(c.ComputeResource)
		return ids[c.ID]
	})
	info.VnfcInfo = only(info.VnfcInfo, func(c sol.VnfcInfo) bool { return ids[c.VnfcResourceInfoID] })
	info.VirtualStorageResourceInfo = only(info.VirtualStorageResourceInfo,
		func(v sol.VirtualStorageResourceInfo) bool {
			return s.has(v.StorageResource)
		})
	info.VnfVirtualLinkResourceInfo = only(info.VnfVirtualLinkResourceInfo,
		func(l sol.VnfVirtualLinkResourceInfo) bool {
			return s.has(l.NetworkResource)
		})
	info.ExtManagedVirtualLinkInfo = only(info.ExtManagedVirtualLinkInfo, func(l sol.ExtManagedVirtualLinkInfo) bool {
		return s.has(l.NetworkResource)
	})
	info.ExtCpInfo = only(info.ExtCpInfo, func(c sol.VnfExtCpInfo) bool { return owns(c.CpdID) })
	info.ExtVirtualLinkInfo = only(info.ExtVirtualLinkInfo, func(l sol.ExtVirtualLinkInfo) bool {
		return slices.ContainsFunc(l.CurrentVnfExtCpData, func(c sol.VnfExtCpData) bool { return owns(c.CpdID) })
	})
	out.Info = &info
	return out
}

// splitter tells by the connection of a resource to which stack it belongs.
type splitter struct {
	vim  string
	vims []string
}

func (s splitter) has(h sol.ResourceHandle) bool {
	if slices.Contains(s.vims, h.VimConnectionID) {
		return h.VimConnectionID == s.vim
	}
	return s.vim == ""
}

func only[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !keep(v) })
}

// Differences are the changes of all stacks together; nil when nothing has changed.
func Differences(all []*sol.ResourceChanges) *sol.ResourceChanges {
	var out *sol.ResourceChanges
	for _, c := range all {
		switch {
		case c == nil:
		case out == nil:
			first := *c
			out = &first
		default:
			out.AffectedVnfcs = slices.Concat(out.AffectedVnfcs, c.AffectedVnfcs)
			out.AffectedVirtualLinks = slices.Concat(out.AffectedVirtualLinks, c.AffectedVirtualLinks)
			out.AffectedExtLinkPorts = slices.Concat(out.AffectedExtLinkPorts, c.AffectedExtLinkPorts)
			out.AffectedVirtualStorages = slices.Concat(out.AffectedVirtualStorages, c.AffectedVirtualStorages)
		}
	}
	return out
}
