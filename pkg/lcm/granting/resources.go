package granting

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// extent says which resources of a VNFC are new.
type extent struct{ storages, ports bool }

var everything = extent{storages: true, ports: true}

// addVNFC plans the machine of a VNFC, and its other resources that are new.
func (p *plan) addVNFC(vdu string, index int, more extent) {
	v := p.after.VDU(vdu)
	if v == nil {
		return
	}
	name := lcm.DefinitionID(vdu, index)
	add := func(id string, t sol.ResourceType, template, vduID string) {
		p.add = append(p.add, resource{vdu: vdu, index: index, ResourceDefinition: sol.ResourceDefinition{
			ID: id, Type: t, VduID: vduID, ResourceTemplateID: template,
		}})
	}
	add(name, sol.ResourceTypeCompute, vdu, vdu)
	if more.storages {
		for _, storage := range v.Storages {
			add(lcm.DefinitionOf(name, storage), sol.ResourceTypeStorage, storage, "")
		}
	}
	for _, cp := range p.after.CPs {
		if more.ports && cp.VDU == vdu && cp.External {
			add(lcm.DefinitionOf(name, cp.Name), sol.ResourceTypeLinkport, cp.Name, "")
		}
	}
}

// addLinks plans the internal virtual links of the flavour that others do not manage.
func (p *plan) addLinks(isNew func(name string) bool) {
	for _, vl := range p.after.VLs {
		if isNew(vl.Name) && !p.managed(vl.Name) {
			p.add = append(p.add, resource{ResourceDefinition: sol.ResourceDefinition{
				ID: vl.Name, Type: sol.ResourceTypeVl, ResourceTemplateID: vl.Name,
			}})
		}
	}
}

// managed says whether an internal virtual link is managed by others.
func (p *plan) managed(vl string) bool {
	return slices.ContainsFunc(p.body.ExtManagedVirtualLinks, func(l sol.ExtManagedVirtualLinkData) bool {
		return l.VnfVirtualLinkDescID == vl
	}) || p.has.managed[vl]
}

// changeLinks plans the links that only one of two flavours has.
func (p *plan) changeLinks() {
	p.addLinks(func(name string) bool { return !p.has.links[name] })
	for _, l := range p.has.info.VnfVirtualLinkResourceInfo {
		if !p.hasLink(l.VnfVirtualLinkDescID) {
			p.removeHandle(sol.ResourceTypeVl, l.VnfVirtualLinkDescID, l.NetworkResource)
		}
	}
}

func (p *plan) hasLink(name string) bool {
	for _, vl := range p.after.VLs {
		if vl.Name == name {
			return true
		}
	}
	return false
}

// removeAll plans the end of everything that the VNF has.
func (p *plan) removeAll() {
	for _, c := range p.has.vnfcs {
		p.removeVNFC(c.ID)
	}
	for _, l := range p.has.info.VnfVirtualLinkResourceInfo {
		p.removeHandle(sol.ResourceTypeVl, l.VnfVirtualLinkDescID, l.NetworkResource)
	}
}

// removeVNFC plans the end of a VNFC with its storages and ports.
func (p *plan) removeVNFC(id string) {
	res, ok := p.has.resources[id]
	if !ok {
		return
	}
	p.removeCompute(res)
	p.removeStorages(res)
	for _, port := range p.has.ports(res) {
		p.removeHandle(sol.ResourceTypeLinkport, port.cpd, port.handle)
	}
}

func (p *plan) removeStorages(res sol.VnfcResourceInfo) {
	for _, s := range p.has.info.VirtualStorageResourceInfo {
		if slices.Contains(res.StorageResourceIds, s.ID) {
			p.removeHandle(sol.ResourceTypeStorage, s.VirtualStorageDescID, s.StorageResource)
		}
	}
}

// replaceVNFC plans another machine for a VNFC, and other storages if these are replaced, too.
func (p *plan) replaceVNFC(id string, storages bool) {
	res, ok := p.has.resources[id]
	if !ok {
		return
	}
	p.removeCompute(res)
	if storages {
		p.removeStorages(res)
	}
	p.addVNFC(res.VduID, p.has.index[id], extent{storages: storages})
}

func (p *plan) removeCompute(res sol.VnfcResourceInfo) {
	if d, ok := existing(sol.ResourceTypeCompute, res.VduID, res.ComputeResource); ok {
		d.VduID, d.vdu = res.VduID, res.VduID
		p.remove = append(p.remove, d)
	}
}

func (p *plan) removeHandle(t sol.ResourceType, template string, h sol.ResourceHandle) {
	if d, ok := existing(t, template, h); ok {
		p.remove = append(p.remove, d)
	}
}

// updateVNFC plans a change of a VNFC's machine.
func (p *plan) updateVNFC(id string) {
	res := p.has.resources[id]
	if d, ok := existing(sol.ResourceTypeCompute, res.VduID, res.ComputeResource); ok {
		d.VduID, d.vdu = res.VduID, res.VduID
		p.update = append(p.update, d)
	}
}

// updatePorts plans a change of the ports of connection points that the request names.
func (p *plan) updatePorts() {
	named := map[string]bool{}
	for _, l := range p.body.ExtVirtualLinks {
		for _, cp := range l.ExtCps {
			named[cp.CpdID] = true
		}
	}
	for _, c := range p.has.vnfcs {
		for _, port := range p.has.ports(p.has.resources[c.ID]) {
			if d, ok := existing(sol.ResourceTypeLinkport, port.cpd, port.handle); ok && named[port.cpd] {
				p.update = append(p.update, d)
			}
		}
	}
}

// existing is the definition of a resource that exists; false for one that the VIM has no id of.
func existing(t sol.ResourceType, template string, h sol.ResourceHandle) (resource, bool) {
	return resource{ResourceDefinition: sol.ResourceDefinition{
		ID: h.ResourceID, Type: t, ResourceTemplateID: template, Resource: &h,
	}}, h.ResourceID != ""
}
