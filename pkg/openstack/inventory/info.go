package inventory

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Target is what a stack is made from, before or after an operation.
type Target struct {
	Flavour *vnfd.Flavour
	Class   userdata.Class
	Ext     []sol.ExtVirtualLinkData
	Managed []sol.ExtManagedVirtualLinkData
}

// Input is what the record of an instance is made from.
type Input struct {
	Snapshot *Snapshot
	Vim      string        // the key of the connection in vimConnectionInfo
	Instance *lcm.Instance // as it is recorded
	Before   *lcm.Instance // as the operation found it; nil before the first inventory
	// Desired is where the operation leads, Previous where it comes from (nil for an instantiation); in a rollback it
	// is the other way round.
	Desired  Target
	Previous *Target
	// Operation is the id of the operation, Params its request.
	Operation string
	Params    json.RawMessage
	// Exchanged says that the operation makes all VNFCs those of the instance's VNFD. Updated are those that it
	// recreates from that VNFD, by their keys below nfv.VDU.
	Exchanged bool
	Updated   map[string]bool
	// Settled says that the resources should be as the operation wants them.
	Settled bool
}

// Build makes the record of an instance.
func Build(in Input) Record {
	b := newBuilder(in)
	return Record{Info: b.info(), Resources: b.resources()}
}

// builder makes the record of an instance.
type builder struct {
	Input
	was Record

	ext   []sol.ExtVirtualLinkData
	vnfcs []VNFC
	cps   []cpInstance
}

func newBuilder(in Input) *builder {
	b := &builder{Input: in, was: RecordOf(in.Before)}
	if in.Snapshot.Stack == nil {
		return b
	}
	for _, v := range b.vnfcsOf(b.Desired.Flavour) {
		if b.exists(v.Server) {
			b.vnfcs = append(b.vnfcs, v)
		}
	}
	b.cps = b.findCPs()
	return b
}

// vnfcsOf finds the VNFCs of a flavour, and of the flavour that the operation leaves.
func (b *builder) vnfcsOf(f *vnfd.Flavour) []VNFC {
	both := &vnfd.Flavour{VDUs: slices.Clone(f.VDUs)}
	if b.Previous != nil {
		for _, v := range b.Previous.Flavour.VDUs {
			if f.VDU(v.Name) == nil {
				both.VDUs = append(both.VDUs, v)
			}
		}
	}
	return b.Snapshot.Tree.VNFCs(both, b.Instance)
}

// exists says whether a server counts: one that Nova does not have does only if Heat believes in it, because it can
// then be healed.
func (b *builder) exists(r cloud.Resource) bool {
	_, known := b.Snapshot.Servers[r.PhysicalID]
	return known || strings.HasSuffix(r.Status, "_COMPLETE") || strings.HasPrefix(r.Status, "CHECK_")
}

// arrived says whether the stack is what the operation wants, or on the way to it.
func (b *builder) arrived() bool {
	return b.Previous == nil || b.Settled || b.Snapshot.Stack != nil && slices.Contains(
		b.Snapshot.Stack.Tags, b.Operation,
	)
}

// cpInstance is the port of one connection point of one VNFC; vnfc is nil for a CP of the whole VNF.
type cpInstance struct {
	cp   *vnfd.CP
	vnfc *VNFC
	port cloud.Resource
	// link is an index into the builder's external links, -1 when the CP is not external; config and key are its
	// cpConfig.
	link   int
	key    string
	config sol.VnfExtCpConfig
}

// id is the VnfcCpInfo id.
func (c cpInstance) id() string {
	if c.vnfc == nil {
		return ""
	}
	return c.cp.Name + "-" + c.vnfc.Server.PhysicalID
}

// extID is the VnfExtCpInfo id.
func (c cpInstance) extID() string { return "cp-" + c.port.PhysicalID }

func (b *builder) handle(r cloud.Resource) sol.ResourceHandle {
	return sol.ResourceHandle{VimConnectionID: b.Vim, ResourceID: r.PhysicalID, VimLevelResourceType: r.Type}
}

// within is the handle of a resource that the consumer gave. Without a connection, it is in the VIM of the stack.
func (b *builder) within(h sol.ResourceHandle) sol.ResourceHandle {
	h.VimConnectionID = cmp.Or(h.VimConnectionID, b.Vim)
	return h
}

// info makes InstantiatedVnfInfo (SOL003 clause 5.5.2.2), but for the scale levels, which are not in the VIM, and the
// state of the VNF.
func (b *builder) info() *sol.InstantiatedVnfInfo {
	out := &sol.InstantiatedVnfInfo{FlavourID: b.flavour().ID}
	if old := b.was.Info; old != nil {
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
				Metadata: sol.KeyValuePairs{"stack_id": s.Owner().Ref()},
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
	for _, l := range b.Desired.Managed {
		out.ExtManagedVirtualLinkInfo = append(out.ExtManagedVirtualLinkInfo, b.managedLink(l))
	}
	out.VnfVirtualLinkResourceInfo = b.internalLinks()
	return out
}

// request is that of an instantiation; the desired state has been made from it, so it can be read.
func (b *builder) request() sol.InstantiateVnfRequest {
	var req sol.InstantiateVnfRequest
	_ = json.Unmarshal(b.Params, &req)
	return req
}

// flavour is the deployment flavour that the resources follow.
func (b *builder) flavour() *vnfd.Flavour {
	if b.arrived() {
		return b.Desired.Flavour
	}
	return b.Previous.Flavour
}

func (b *builder) metadata() sol.KeyValuePairs {
	if b.Snapshot.Stack == nil {
		m := sol.KeyValuePairs{"tenant": b.Snapshot.Project}
		if b.was.Info != nil {
			maps.Copy(m, b.was.Info.Metadata)
		}
		return m
	}
	return sol.KeyValuePairs{"stack_id": b.Snapshot.Stack.ID, "nfv": b.values(), "tenant": b.Snapshot.Project}
}

// values are the stack's nfv, with what held for VNFCs that a failed operation has left where they were: without it the
// next operation would recreate them.
func (b *builder) values() map[string]any {
	if b.was.Info == nil || b.Desired.Class != userdata.Standard {
		return b.Snapshot.NFV
	}
	before, _ := b.was.Info.Metadata["nfv"].(map[string]any)
	there := map[string]int{}
	for _, c := range b.vnfcs {
		there[c.VDU.Name]++
	}
	return userdata.Left(b.flavour(), b.Snapshot.NFV, before, there)
}

// storages are the volumes of a VNFC by the names that the VNFD has for them: those of the stack, then those that Nova
// has made for the server, in the order of their devices.
func (b *builder) storages(c *VNFC) []cloud.Resource {
	out := make([]cloud.Resource, 0, len(c.VDU.Storages))
	own := b.ownVolumes(c)
	for _, name := range c.VDU.Storages {
		v, ok := b.Snapshot.Tree.Beside(c.Server, name, cloud.TypeVolume)
		if seen, known := b.Snapshot.Volumes[v.PhysicalID]; ok && known && len(seen.Attachments) > 0 {
			_, ok = seen.On(c.Server.PhysicalID)
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
func (b *builder) ownVolumes(c *VNFC) []cloud.Resource {
	var out []cloud.Resource
	device := map[string]string{}
	for _, v := range b.Snapshot.Servers[c.Server.PhysicalID].Volumes {
		if _, ok := b.Snapshot.Tree.byID[v.ID]; ok {
			continue
		}
		seen := b.Snapshot.Volumes[v.ID]
		a, _ := seen.On(c.Server.PhysicalID)
		device[v.ID] = a.Device
		out = append(out, cloud.Resource{
			Name: c.Server.Name, Type: cloud.TypeVolume, PhysicalID: v.ID, Status: "CREATE_COMPLETE",
			CreationTime: seen.Created, Links: c.Server.Links,
		})
	}
	slices.SortFunc(out, func(x, y cloud.Resource) int {
		return cmp.Or(
			strings.Compare(device[x.PhysicalID], device[y.PhysicalID]), strings.Compare(x.PhysicalID, y.PhysicalID),
		)
	})
	return out
}
