package inventory

import (
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func (b *builder) extCP(c cpInstance) sol.VnfExtCpInfo {
	return sol.VnfExtCpInfo{
		ID: c.extID(), CpdID: c.cp.Name, CpConfigID: c.key, CpProtocolInfo: b.protocols(c),
		ExtLinkPortID: c.port.PhysicalID, AssociatedVnfcCpID: c.id(),
	}
}

func (b *builder) extLink(i int, l sol.ExtVirtualLinkData) sol.ExtVirtualLinkInfo {
	out := sol.ExtVirtualLinkInfo{
		ID: l.ID, CurrentVnfExtCpData: l.ExtCps,
		ResourceHandle: b.within(sol.ResourceHandle{
			VimConnectionID: l.VimConnectionID, ResourceProviderID: l.ResourceProviderID, ResourceID: l.ResourceID,
		}),
	}
	for _, c := range b.cps {
		if c.link == i {
			out.ExtLinkPorts = append(out.ExtLinkPorts, sol.ExtLinkPortInfo{
				ID: c.port.PhysicalID, ResourceHandle: b.handle(c.port), CpInstanceID: c.extID(),
			})
		}
	}
	return out
}

// givenPrefix marks the link ports that the consumer has made.
const givenPrefix = "req-"

// managedLink describes an internal link that the consumer made; its ports are those it gave and those of our CPs.
func (b *builder) managedLink(l sol.ExtManagedVirtualLinkData) sol.ExtManagedVirtualLinkInfo {
	out := sol.ExtManagedVirtualLinkInfo{
		ID: l.ID, VnfVirtualLinkDescID: l.VnfVirtualLinkDescID,
		NetworkResource: b.within(sol.ResourceHandle{
			VimConnectionID: l.VimConnectionID, ResourceProviderID: l.ResourceProviderID, ResourceID: l.ResourceID,
		}),
		ExtManagedMultisiteVirtualLinkID: l.ExtManagedMultisiteVirtualLinkID,
	}
	for _, p := range l.VnfLinkPort {
		out.VnfLinkPorts = append(out.VnfLinkPorts, sol.VnfLinkPortInfo{
			ID: givenPrefix + p.VnfLinkPortID, ResourceHandle: p.ResourceHandle,
		})
	}
	if len(l.VnfLinkPort) == 0 && b.was.Info != nil {
		for _, old := range b.was.Info.ExtManagedVirtualLinkInfo {
			if old.ID == l.ID {
				out.VnfLinkPorts = slices.DeleteFunc(slices.Clone(old.VnfLinkPorts), func(p sol.VnfLinkPortInfo) bool {
					return !strings.HasPrefix(p.ID, givenPrefix)
				})
			}
		}
	}
	for n := range out.VnfLinkPorts {
		out.VnfLinkPorts[n].ResourceHandle = b.within(out.VnfLinkPorts[n].ResourceHandle)
	}
	out.VnfLinkPorts = append(out.VnfLinkPorts, b.portsOn(l.VnfVirtualLinkDescID)...)
	return out
}

// internalLinks describes the networks that the stack made for the VNFD's links.
func (b *builder) internalLinks() []sol.VnfVirtualLinkResourceInfo {
	var out []sol.VnfVirtualLinkResourceInfo
	for _, vl := range b.flavour().VLs {
		for _, r := range b.Snapshot.Tree.all {
			if r.Name == vl.Name && r.Type == cloud.TypeNetwork {
				out = append(out, sol.VnfVirtualLinkResourceInfo{
					ID: r.PhysicalID, VnfVirtualLinkDescID: vl.Name, NetworkResource: b.handle(r),
					VnfLinkPorts: b.portsOn(vl.Name),
				})
			}
		}
	}
	return out
}

// onInternalLink says whether a CP's link is one of those that internalLinks or managedLink describe.
func (b *builder) onInternalLink(c cpInstance) bool {
	if c.cp.VL == "" {
		return false
	}
	managed := slices.ContainsFunc(
		b.Desired.Managed, func(l sol.ExtManagedVirtualLinkData) bool { return l.VnfVirtualLinkDescID == c.cp.VL },
	)
	return managed || slices.ContainsFunc(b.flavour().VLs, func(v vnfd.VL) bool { return v.Name == c.cp.VL })
}

func (b *builder) portsOn(vl string) []sol.VnfLinkPortInfo {
	var out []sol.VnfLinkPortInfo
	for _, c := range b.cps {
		if c.cp.VL == vl && c.link < 0 && c.vnfc != nil {
			out = append(out, sol.VnfLinkPortInfo{
				ID: c.port.PhysicalID, ResourceHandle: b.handle(c.port), CpInstanceID: c.id(),
				CpInstanceType: sol.CpInstanceTypeVnfcCp,
			})
		}
	}
	return out
}
