package granting

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// present is what a VNF has, arranged for a grant request.
type present struct {
	info  sol.InstantiatedVnfInfo
	vnfcs []sol.VnfcInfo
	// resources and index hold the resources and the index of a VNFC by vnfcInfo id.
	resources map[string]sol.VnfcResourceInfo
	index     map[string]int
	// links are the internal links that the VNF made, managed those that others manage.
	links, managed map[string]bool
	// cps are the ports of external connection points by the id of vnfExtCpInfo.
	cps map[string]port
}

// port is the port of an external connection point.
type port struct {
	cpd    string
	handle sol.ResourceHandle
}

func presentOf(i *lcm.Instance) present {
	p := present{
		resources: map[string]sol.VnfcResourceInfo{}, index: map[string]int{}, links: map[string]bool{},
		managed: map[string]bool{}, cps: map[string]port{},
	}
	if i.Instantiated == nil {
		return p
	}
	p.info, p.vnfcs = *i.Instantiated, i.Instantiated.VnfcInfo
	byID := map[string]sol.VnfcResourceInfo{}
	for _, r := range p.info.VnfcResourceInfo {
		byID[r.ID] = r
	}
	for _, c := range p.vnfcs {
		if r, ok := byID[c.VnfcResourceInfoID]; ok {
			p.resources[c.ID] = r
		}
	}
	for _, r := range i.Inventory {
		if r.VNFC != "" {
			p.index[r.VNFC] = r.Index
		}
	}
	for _, l := range p.info.VnfVirtualLinkResourceInfo {
		p.links[l.VnfVirtualLinkDescID] = true
	}
	for _, l := range p.info.ExtManagedVirtualLinkInfo {
		p.managed[l.VnfVirtualLinkDescID] = true
	}
	p.findPorts()
	return p
}

func (p *present) findPorts() {
	cpds := map[string]string{}
	for _, cp := range p.info.ExtCpInfo {
		cpds[cp.ID] = cp.CpdID
	}
	for _, l := range p.info.ExtVirtualLinkInfo {
		for _, lp := range l.ExtLinkPorts {
			if cpd, ok := cpds[lp.CpInstanceID]; ok {
				p.cps[lp.CpInstanceID] = port{cpd, lp.ResourceHandle}
			}
		}
	}
}

// ports lists the ports of a VNFC's external connection points.
func (p *present) ports(r sol.VnfcResourceInfo) []port {
	var out []port
	for _, cp := range r.VnfcCpInfo {
		if found, ok := p.cps[cp.VnfExtCpID]; ok && cp.VnfExtCpID != "" {
			out = append(out, found)
		}
	}
	return out
}
