package openstack

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Resource types of Heat that the inventory knows.
const (
	typeServer = "OS::Nova::Server"
	typePort   = "OS::Neutron::Port"
	typeFloat  = "OS::Neutron::FloatingIP"
	typeNet    = "OS::Neutron::Net"
	typeVolume = "OS::Cinder::Volume"
)

// builder makes the records of an instance from what was seen.
type builder struct {
	w    *lcm.Work
	vim  string
	seen *sight
	// goal is where the operation leads, other where it comes from (nil for an instantiation); in a rollback it is the other way round.
	goal  goal
	other *goal
	was   record

	ext   []sol.ExtVirtualLinkData
	vnfcs []vnfc
	cps   []cpInstance
}

func newBuilder(w *lcm.Work, vim string, seen *sight, g goal, other *goal) *builder {
	b := &builder{w: w, vim: vim, seen: seen, goal: g, other: other, was: recordOf(w.Op.Before)}
	if seen.stack == nil {
		return b
	}
	for _, v := range b.vnfcsOf(g.flavour) {
		if b.there(v.server) {
			b.vnfcs = append(b.vnfcs, v)
		}
	}
	b.cps = b.findCPs()
	return b
}

// vnfcsOf finds the VNFCs of a flavour, and of the flavour that the operation leaves.
func (b *builder) vnfcsOf(f *vnfd.Flavour) []vnfc {
	both := &vnfd.Flavour{VDUs: slices.Clone(f.VDUs)}
	if b.other != nil {
		for _, v := range b.other.flavour.VDUs {
			if f.VDU(v.Name) == nil {
				both.VDUs = append(both.VDUs, v)
			}
		}
	}
	return b.seen.tree.vnfcs(both, b.w.Instance)
}

// there says whether a server counts: one that Nova does not have does only if Heat believes in it, because it can then be healed.
func (b *builder) there(r resource) bool {
	_, known := b.seen.servers[r.PhysicalID]
	return known || strings.HasSuffix(r.Status, "_COMPLETE") || strings.HasPrefix(r.Status, "CHECK_")
}

// arrived says whether the stack is what the operation wants, or on the way to it.
func (b *builder) arrived() bool {
	return b.other == nil || expected(b.w) || b.seen.stack != nil && slices.Contains(b.seen.stack.Tags, b.w.Op.ID)
}

// cpInstance is the port of one connection point of one VNFC; vnfc is nil for a CP of the whole VNF.
type cpInstance struct {
	cp   *vnfd.CP
	vnfc *vnfc
	port resource
	// link is an index into the builder's external links, -1 when the CP is not external; config and key are its cpConfig.
	link   int
	key    string
	config sol.VnfExtCpConfig
}

// id is the VnfcCpInfo id.
func (c cpInstance) id() string {
	if c.vnfc == nil {
		return ""
	}
	return c.cp.Name + "-" + c.vnfc.server.PhysicalID
}

// extID is the VnfExtCpInfo id.
func (c cpInstance) extID() string { return "cp-" + c.port.PhysicalID }

func (b *builder) handle(r resource) sol.ResourceHandle {
	return sol.ResourceHandle{VimConnectionID: b.vim, ResourceID: r.PhysicalID, VimLevelResourceType: r.Type}
}

// info makes InstantiatedVnfInfo (SOL003 clause 5.5.2.2), but for the scale levels, which are not in the VIM, and the state of the VNF.
func (b *builder) info() *sol.InstantiatedVnfInfo {
	out := &sol.InstantiatedVnfInfo{FlavourID: b.flavour().ID}
	if old := b.was.info; old != nil {
		out.LocalizationLanguage, out.MonitoringParameters = old.LocalizationLanguage, old.MonitoringParameters
	} else {
		out.LocalizationLanguage = b.request().LocalizationLanguage
	}
	out.Metadata = b.metadata()
	for i := range b.vnfcs {
		c := &b.vnfcs[i]
		out.VnfcResourceInfo = append(out.VnfcResourceInfo, b.vnfcResource(c))
		out.VnfcInfo = append(out.VnfcInfo, b.vnfcInfo(c))
		for _, s := range b.storages(c) {
			out.VirtualStorageResourceInfo = append(out.VirtualStorageResourceInfo, sol.VirtualStorageResourceInfo{
				ID: s.PhysicalID, VirtualStorageDescID: s.Name, StorageResource: b.handle(s),
				Metadata: sol.KeyValuePairs{"stack_id": s.owner().ref()},
			})
		}
	}
	for _, c := range b.cps {
		if c.link >= 0 {
			out.ExtCpInfo = append(out.ExtCpInfo, b.extCP(c))
		}
	}
	for i, l := range b.ext {
		out.ExtVirtualLinkInfo = append(out.ExtVirtualLinkInfo, b.extLink(i, l))
	}
	for _, l := range b.goal.managed {
		out.ExtManagedVirtualLinkInfo = append(out.ExtManagedVirtualLinkInfo, b.managedLink(l))
	}
	out.VnfVirtualLinkResourceInfo = b.internalLinks()
	return out
}

// request is that of an instantiation; the goal has been made from it, so it can be read.
func (b *builder) request() sol.InstantiateVnfRequest {
	var req sol.InstantiateVnfRequest
	_ = json.Unmarshal(b.w.Op.Params, &req)
	return req
}

// flavour is the deployment flavour that the resources follow.
func (b *builder) flavour() *vnfd.Flavour {
	if b.arrived() {
		return b.goal.flavour
	}
	return b.other.flavour
}

func (b *builder) metadata() sol.KeyValuePairs {
	if b.seen.stack == nil {
		m := sol.KeyValuePairs{"tenant": b.seen.project}
		if b.was.info != nil {
			maps.Copy(m, b.was.info.Metadata)
		}
		return m
	}
	return sol.KeyValuePairs{"stack_id": b.seen.stack.ID, "nfv": b.values(), "tenant": b.seen.project}
}

// values are the stack's nfv, with what held for VNFCs that a failed operation has left where they were: the next operation would make them anew without.
func (b *builder) values() map[string]any {
	if b.was.info == nil || b.goal.class != userdata.Standard {
		return b.seen.nfv
	}
	before, _ := b.was.info.Metadata["nfv"].(map[string]any)
	there := map[string]int{}
	for _, c := range b.vnfcs {
		there[c.vdu.Name]++
	}
	return userdata.Left(b.flavour(), b.seen.nfv, before, there)
}

// storages are the volumes of a VNFC by the names that the VNFD has for them: those of the stack, then those that Nova has made for the
// server, in the order of their devices.
func (b *builder) storages(c *vnfc) []resource {
	out := make([]resource, 0, len(c.vdu.Storages))
	own := b.ownVolumes(c)
	for _, name := range c.vdu.Storages {
		v, ok := b.seen.tree.beside(c.server, name, typeVolume)
		if seen, known := b.seen.volumes[v.PhysicalID]; ok && known && len(seen.Attachments) > 0 {
			_, ok = seen.on(c.server.PhysicalID)
		}
		if !ok && len(own) > 0 {
			v, ok = own[0], true
			v.Name = name
			own = own[1:]
		}
		if ok {
			out = append(out, v)
		}
	}
	return out
}

// ownVolumes are the volumes of a server that are not in the stack: Nova made them from the server's block devices.
func (b *builder) ownVolumes(c *vnfc) []resource {
	var out []resource
	device := map[string]string{}
	for _, v := range b.seen.servers[c.server.PhysicalID].Volumes {
		if _, ok := b.seen.tree.byID[v.ID]; ok {
			continue
		}
		seen := b.seen.volumes[v.ID]
		a, _ := seen.on(c.server.PhysicalID)
		device[v.ID] = a.Device
		out = append(out, resource{
			Name: c.server.Name, Type: typeVolume, PhysicalID: v.ID, Status: "CREATE_COMPLETE", Created: seen.Created, Links: c.server.Links,
		})
	}
	slices.SortFunc(out, func(x, y resource) int {
		return cmp.Or(strings.Compare(device[x.PhysicalID], device[y.PhysicalID]), strings.Compare(x.PhysicalID, y.PhysicalID))
	})
	return out
}
