package inventory

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Record is what is known of an instance's resources at one time; its zero value has none.
type Record struct {
	Info      *sol.InstantiatedVnfInfo
	Resources []lcm.Resource
}

// RecordOf returns the record that an instance has; its zero value for nil.
func RecordOf(i *lcm.Instance) Record {
	if i == nil {
		return Record{}
	}
	return Record{Info: i.Instantiated, Resources: i.Inventory}
}

// Lost is the record of an instance whose stack is gone: it keeps the VNFCs and links, which a heal of the whole VNF
// needs, and marks every resource as not found.
func (r Record) Lost() Record {
	info := *r.Info
	info.VnfcInfo = slices.Clone(info.VnfcInfo)
	for i := range info.VnfcInfo {
		info.VnfcInfo[i].VnfcState = sol.VnfOperationalStateStopped
	}
	resources := slices.Clone(r.Resources)
	for i := range resources {
		resources[i].Status = lcm.StatusNotFound
	}
	return Record{&info, resources}
}

// Present is the record without the resources of a stack that was gone already, so that their loss is reported once.
func (r Record) Present() Record {
	if len(r.Resources) > 0 && !slices.ContainsFunc(
		r.Resources, func(o lcm.Resource) bool { return o.Status != lcm.StatusNotFound },
	) {
		return Record{}
	}
	return r
}

// resource finds a resource by its id in the VIM.
func (r Record) resource(id string) lcm.Resource {
	at := slices.IndexFunc(r.Resources, func(o lcm.Resource) bool { return o.ID == id })
	if at < 0 {
		return lcm.Resource{}
	}
	return r.Resources[at]
}

// metadata is that of a VNFC's resource.
func (r Record) metadata(server string) sol.KeyValuePairs {
	if r.Info == nil {
		return nil
	}
	for _, c := range r.Info.VnfcResourceInfo {
		if c.ID == server {
			return c.Metadata
		}
	}
	return nil
}

// vnfcInfo finds a VNFC by its id, or else the one that was in its place before it was recreated.
func (r Record) vnfcInfo(c *VNFC) (sol.VnfcInfo, bool) {
	if r.Info == nil {
		return sol.VnfcInfo{}, false
	}
	var found sol.VnfcInfo
	for _, old := range r.Info.VnfcInfo {
		if old.ID == c.ID {
			return old, true
		}
		m := r.metadata(old.VnfcResourceInfoID)
		index, numbered := m["vdu_idx"].(float64)
		switch {
		case old.VduID != c.VDU.Name:
		case c.Numbered && numbered && int(index) == c.Index:
			found = old
		case !c.Numbered && m["parent_resource_name"] != nil && m["parent_resource_name"] == c.Parent.Name:
			found = old
		}
	}
	return found, found.ID != ""
}

// Changes lists what became of an instance's resources (SOL003 clause 5.5.2.13, resourceChanges); nil when nothing did.
func Changes(was, is Record) *sol.ResourceChanges {
	a, b := cmp.Or(was.Info, &sol.InstantiatedVnfInfo{}), cmp.Or(is.Info, &sol.InstantiatedVnfInfo{})
	out := sol.ResourceChanges{
		AffectedVnfcs:           affectedVnfcs(Record{a, was.Resources}, Record{b, is.Resources}),
		AffectedVirtualLinks:    affectedLinks(a, b),
		AffectedExtLinkPorts:    affectedPorts(a, b),
		AffectedVirtualStorages: affectedStorages(Record{a, was.Resources}, Record{b, is.Resources}),
	}
	if reflect.ValueOf(out).IsZero() {
		return nil
	}
	return &out
}

// Pair is one thing before and after; old or new is nil when it was not or is not there.
type Pair[T any] struct{ Old, New *T }

// Match pairs two lists by id: what is there in its order, then what is gone.
func Match[T any](was, is []T, id func(T) string) []Pair[T] {
	var out []Pair[T]
	old := make(map[string]*T, len(was))
	for i := range was {
		if key := id(was[i]); old[key] == nil {
			old[key] = &was[i]
		}
	}
	there := make(map[string]bool, len(is))
	for i := range is {
		key := id(is[i])
		there[key] = true
		out = append(out, Pair[T]{old[key], &is[i]})
	}
	for i := range was {
		if !there[id(was[i])] {
			out = append(out, Pair[T]{&was[i], nil})
		}
	}
	return out
}

func affectedVnfcs(was, is Record) []sol.AffectedVnfc {
	var out []sol.AffectedVnfc
	for _, p := range Match(
		was.Info.VnfcResourceInfo, is.Info.VnfcResourceInfo, func(r sol.VnfcResourceInfo) string { return r.ID },
	) {
		switch {
		case p.Old == nil:
			a := affected(*p.New, sol.ChangeTypeAdded)
			a.AddedStorageResourceIds = p.New.StorageResourceIds
			out = append(out, a)
		case p.New == nil:
			a := affected(*p.Old, sol.ChangeTypeRemoved)
			a.RemovedStorageResourceIds = p.Old.StorageResourceIds
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
	a := sol.AffectedVnfc{
		ID: r.ID, VduID: r.VduID, ChangeType: t, ComputeResource: r.ComputeResource, ZoneID: r.ZoneID,
		Metadata: r.Metadata,
	}
	for _, cp := range r.VnfcCpInfo {
		a.AffectedVnfcCpIds = append(a.AffectedVnfcCpIds, cp.ID)
	}
	return a
}

// modified describes a VNFC whose server stayed and became another: in its flavour, image, zone or metadata, its
// storages, its ports, or by being started or stopped. The connection points are only those that changed.
func modified(was, is Record, p Pair[sol.VnfcResourceInfo]) (sol.AffectedVnfc, bool) {
	a := affected(*p.New, sol.ChangeTypeModified)
	a.AddedStorageResourceIds = missingIn(p.New.StorageResourceIds, p.Old.StorageResourceIds)
	a.RemovedStorageResourceIds = missingIn(p.Old.StorageResourceIds, p.New.StorageResourceIds)
	a.AffectedVnfcCpIds = nil
	for _, cp := range Match(p.Old.VnfcCpInfo, p.New.VnfcCpInfo, func(c sol.VnfcCpInfo) string { return c.ID }) {
		if cp.Old == nil || cp.New == nil || !reflect.DeepEqual(was.cp(*cp.Old), is.cp(*cp.New)) {
			a.AffectedVnfcCpIds = append(a.AffectedVnfcCpIds, cmp.Or(cp.New, cp.Old).ID)
		}
	}
	x, y := was.resource(p.Old.ID), is.resource(p.New.ID)
	changed := len(a.AddedStorageResourceIds)+len(a.RemovedStorageResourceIds)+len(a.AffectedVnfcCpIds) > 0 ||
		p.Old.ZoneID != p.New.ZoneID || !sameMetadata(p.Old.Metadata, p.New.Metadata) ||
		was.state(p.Old.ID) != is.state(p.New.ID) ||
		x.ID != "" && (x.Flavour != y.Flavour || x.Image != y.Image)
	return a, changed
}

// place is where a VNFC's connection point is: its port and the addresses of that.
type place struct {
	port      string
	addresses []lcm.Address
}

func (r Record) cp(c sol.VnfcCpInfo) place {
	port := c.VnfLinkPortID
	for _, ext := range r.Info.ExtCpInfo {
		if c.VnfExtCpID != "" && ext.ID == c.VnfExtCpID {
			port = ext.ExtLinkPortID
		}
	}
	return place{port, r.resource(port).Addresses}
}

func (r Record) state(server string) sol.VnfOperationalState {
	for _, c := range r.Info.VnfcInfo {
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
	return SameJSON(made(a), made(b))
}

// SameJSON says whether two values are the same JSON.
func SameJSON(a, b any) bool {
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

func affectedStorages(was, is Record) []sol.AffectedVirtualStorage {
	var out []sol.AffectedVirtualStorage
	for _, p := range Match(was.Info.VirtualStorageResourceInfo, is.Info.VirtualStorageResourceInfo,
		func(s sol.VirtualStorageResourceInfo) string { return s.ID }) {
		s := cmp.Or(p.New, p.Old)
		a := sol.AffectedVirtualStorage{
			ID: s.ID, VirtualStorageDescID: s.VirtualStorageDescID, StorageResource: s.StorageResource,
			Metadata: s.Metadata,
		}
		x, y := was.resource(s.ID), is.resource(s.ID)
		switch {
		case p.Old == nil:
			a.ChangeType = sol.ChangeTypeAdded
		case p.New == nil:
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
