package openstack

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// record is what is known of an instance's resources at one time; its zero value has none.
type record struct {
	info      *sol.InstantiatedVnfInfo
	resources []lcm.Resource
}

func recordOf(i *lcm.Instance) record {
	if i == nil {
		return record{}
	}
	return record{info: i.Instantiated, resources: i.Inventory}
}

// resource finds a resource by its id in the VIM.
func (r record) resource(id string) lcm.Resource {
	at := slices.IndexFunc(r.resources, func(o lcm.Resource) bool { return o.ID == id })
	if at < 0 {
		return lcm.Resource{}
	}
	return r.resources[at]
}

// metadata is that of a VNFC's resource.
func (r record) metadata(server string) sol.KeyValuePairs {
	if r.info == nil {
		return nil
	}
	for _, c := range r.info.VnfcResourceInfo {
		if c.ID == server {
			return c.Metadata
		}
	}
	return nil
}

// vnfc finds a VNFC by its id, or else the one that was in its place before it was made anew.
func (r record) vnfc(c *vnfc) (sol.VnfcInfo, bool) {
	if r.info == nil {
		return sol.VnfcInfo{}, false
	}
	var found sol.VnfcInfo
	for _, old := range r.info.VnfcInfo {
		if old.ID == c.id {
			return old, true
		}
		m := r.metadata(old.VnfcResourceInfoID)
		index, numbered := m["vdu_idx"].(float64)
		switch {
		case old.VduID != c.vdu.Name:
		case c.numbered && numbered && int(index) == c.index:
			found = old
		case !c.numbered && m["parent_resource_name"] != nil && m["parent_resource_name"] == c.parent.Name:
			found = old
		}
	}
	return found, found.ID != ""
}

// differences lists what became of an instance's resources (SOL003 clause 5.5.2.13, resourceChanges); nil when nothing did.
func differences(was, is record) *sol.ResourceChanges {
	a, b := cmp.Or(was.info, &sol.InstantiatedVnfInfo{}), cmp.Or(is.info, &sol.InstantiatedVnfInfo{})
	out := sol.ResourceChanges{
		AffectedVnfcs:           affectedVnfcs(record{a, was.resources}, record{b, is.resources}),
		AffectedVirtualLinks:    affectedLinks(a, b),
		AffectedExtLinkPorts:    affectedPorts(a, b),
		AffectedVirtualStorages: affectedStorages(record{a, was.resources}, record{b, is.resources}),
	}
	if reflect.ValueOf(out).IsZero() {
		return nil
	}
	return &out
}

// pair is one thing before and after; old or new is nil when it was not or is not there.
type pair[T any] struct{ old, new *T }

// matched pairs two lists by id: what is there in its order, then what is gone.
func matched[T any](was, is []T, id func(T) string) []pair[T] {
	var out []pair[T]
	find := func(list []T, key string) *T {
		at := slices.IndexFunc(list, func(v T) bool { return id(v) == key })
		if at < 0 {
			return nil
		}
		return &list[at]
	}
	for i := range is {
		out = append(out, pair[T]{find(was, id(is[i])), &is[i]})
	}
	for i := range was {
		if find(is, id(was[i])) == nil {
			out = append(out, pair[T]{&was[i], nil})
		}
	}
	return out
}

func affectedVnfcs(was, is record) []sol.AffectedVnfc {
	var out []sol.AffectedVnfc
	for _, p := range matched(was.info.VnfcResourceInfo, is.info.VnfcResourceInfo, func(r sol.VnfcResourceInfo) string { return r.ID }) {
		switch {
		case p.old == nil:
			a := affected(*p.new, sol.ChangeTypeAdded)
			a.AddedStorageResourceIds = p.new.StorageResourceIds
			out = append(out, a)
		case p.new == nil:
			a := affected(*p.old, sol.ChangeTypeRemoved)
			a.RemovedStorageResourceIds = p.old.StorageResourceIds
			out = append(out, a)
		default:
			if a, ok := modified(was, is, p); ok {
				out = append(out, a)
			}
		}
	}
	return out
}

func affected(r sol.VnfcResourceInfo, t sol.ChangeType) sol.AffectedVnfc {
	a := sol.AffectedVnfc{ID: r.ID, VduID: r.VduID, ChangeType: t, ComputeResource: r.ComputeResource, ZoneID: r.ZoneID, Metadata: r.Metadata}
	for _, cp := range r.VnfcCpInfo {
		a.AffectedVnfcCpIds = append(a.AffectedVnfcCpIds, cp.ID)
	}
	return a
}

// modified describes a VNFC whose server stayed and became another: in its flavour, image, zone or metadata, its storages, its ports, or by
// being started or stopped. The connection points are only those that changed.
func modified(was, is record, p pair[sol.VnfcResourceInfo]) (sol.AffectedVnfc, bool) {
	a := affected(*p.new, sol.ChangeTypeModified)
	a.AddedStorageResourceIds = missingIn(p.new.StorageResourceIds, p.old.StorageResourceIds)
	a.RemovedStorageResourceIds = missingIn(p.old.StorageResourceIds, p.new.StorageResourceIds)
	a.AffectedVnfcCpIds = nil
	for _, cp := range matched(p.old.VnfcCpInfo, p.new.VnfcCpInfo, func(c sol.VnfcCpInfo) string { return c.ID }) {
		if cp.old == nil || cp.new == nil || !reflect.DeepEqual(was.cp(*cp.old), is.cp(*cp.new)) {
			a.AffectedVnfcCpIds = append(a.AffectedVnfcCpIds, cmp.Or(cp.new, cp.old).ID)
		}
	}
	x, y := was.resource(p.old.ID), is.resource(p.new.ID)
	changed := len(a.AddedStorageResourceIds)+len(a.RemovedStorageResourceIds)+len(a.AffectedVnfcCpIds) > 0 ||
		p.old.ZoneID != p.new.ZoneID || !sameMetadata(p.old.Metadata, p.new.Metadata) || was.state(p.old.ID) != is.state(p.new.ID) ||
		x.ID != "" && (x.Flavour != y.Flavour || x.Image != y.Image)
	return a, changed
}

// place is where a VNFC's connection point is: its port and the addresses of that.
type place struct {
	port      string
	addresses []lcm.Address
}

func (r record) cp(c sol.VnfcCpInfo) place {
	port := c.VnfLinkPortID
	for _, ext := range r.info.ExtCpInfo {
		if c.VnfExtCpID != "" && ext.ID == c.VnfExtCpID {
			port = ext.ExtLinkPortID
		}
	}
	return place{port, r.resource(port).Addresses}
}

func (r record) state(server string) sol.VnfOperationalState {
	for _, c := range r.info.VnfcInfo {
		if c.VnfcResourceInfoID == server {
			return c.VnfcState
		}
	}
	return ""
}

// sameMetadata compares what a VNFC was made from; where it is in Heat is no part of it.
func sameMetadata(a, b sol.KeyValuePairs) bool {
	made := func(m sol.KeyValuePairs) sol.KeyValuePairs {
		c := maps.Clone(m)
		for _, k := range []string{"creation_time", "stack_id", "parent_stack_id", "parent_resource_name", "vdu_idx"} {
			delete(c, k)
		}
		return c
	}
	return sameJSON(made(a), made(b))
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// missingIn lists the ids that others does not have.
func missingIn(ids, others []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(others, id) {
			out = append(out, id)
		}
	}
	return out
}

func affectedStorages(was, is record) []sol.AffectedVirtualStorage {
	var out []sol.AffectedVirtualStorage
	for _, p := range matched(was.info.VirtualStorageResourceInfo, is.info.VirtualStorageResourceInfo, func(s sol.VirtualStorageResourceInfo) string { return s.ID }) {
		s := cmp.Or(p.new, p.old)
		a := sol.AffectedVirtualStorage{
			ID: s.ID, VirtualStorageDescID: s.VirtualStorageDescID, StorageResource: s.StorageResource, Metadata: s.Metadata,
		}
		x, y := was.resource(s.ID), is.resource(s.ID)
		switch {
		case p.old == nil:
			a.ChangeType = sol.ChangeTypeAdded
		case p.new == nil:
			a.ChangeType = sol.ChangeTypeRemoved
		case x.Size != 0 && y.Size != 0 && x.Size != y.Size:
			a.ChangeType = sol.ChangeTypeModified
		default:
			continue
		}
		out = append(out, a)
	}
	return out
}
