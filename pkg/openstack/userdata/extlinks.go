package userdata

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// CurrentLinks are the external virtual links that an instance has, as a request would give them.
func CurrentLinks(i *sol.InstantiatedVnfInfo) []sol.ExtVirtualLinkData {
	var out []sol.ExtVirtualLinkData
	for _, l := range i.ExtVirtualLinkInfo {
		d := sol.ExtVirtualLinkData{
			ID: l.ID, VimConnectionID: l.ResourceHandle.VimConnectionID,
			ResourceProviderID: l.ResourceHandle.ResourceProviderID, ResourceID: l.ResourceHandle.ResourceID,
			ExtCps: l.CurrentVnfExtCpData,
		}
		for _, p := range l.ExtLinkPorts {
			d.ExtLinkPorts = append(d.ExtLinkPorts, sol.ExtLinkPortData{ID: p.ID, ResourceHandle: p.ResourceHandle})
		}
		out = append(out, d)
	}
	return out
}

// CurrentManaged are the externally managed virtual links that an instance has.
func CurrentManaged(i *sol.InstantiatedVnfInfo) []sol.ExtManagedVirtualLinkData {
	var out []sol.ExtManagedVirtualLinkData
	for _, l := range i.ExtManagedVirtualLinkInfo {
		out = append(out, sol.ExtManagedVirtualLinkData{
			ID: l.ID, VnfVirtualLinkDescID: l.VnfVirtualLinkDescID, VimConnectionID: l.NetworkResource.VimConnectionID,
			ResourceProviderID: l.NetworkResource.ResourceProviderID, ResourceID: l.NetworkResource.ResourceID,
			ExtManagedMultisiteVirtualLinkID: l.ExtManagedMultisiteVirtualLinkID,
		})
	}
	return out
}

// MergeManaged puts given links in the place of those for the same internal link.
func MergeManaged(current, given []sol.ExtManagedVirtualLinkData) []sol.ExtManagedVirtualLinkData {
	out := slices.Clone(current)
	for _, g := range given {
		at := slices.IndexFunc(
			out, func(l sol.ExtManagedVirtualLinkData) bool { return l.VnfVirtualLinkDescID == g.VnfVirtualLinkDescID },
		)
		if at < 0 {
			out = append(out, g)
		} else {
			out[at] = g
		}
	}
	return out
}

// LinksOf leaves out what a flavour has no connection point or virtual link for.
func LinksOf(
	f *vnfd.Flavour, ext []sol.ExtVirtualLinkData, managed []sol.ExtManagedVirtualLinkData,
) ([]sol.ExtVirtualLinkData, []sol.ExtManagedVirtualLinkData) {
	var links []sol.ExtVirtualLinkData
	for _, l := range ext {
		l.ExtCps = slices.DeleteFunc(
			slices.Clone(l.ExtCps), func(c sol.VnfExtCpData) bool { return f.CP(c.CpdID) == nil },
		)
		if len(l.ExtCps) > 0 {
			links = append(links, l)
		}
	}
	return links, slices.DeleteFunc(slices.Clone(managed), func(l sol.ExtManagedVirtualLinkData) bool {
		return !slices.ContainsFunc(f.VLs, func(v vnfd.VL) bool { return v.Name == l.VnfVirtualLinkDescID })
	})
}

// GivenPorts lists the ports that the consumer made for external connection points of the VNF.
func GivenPorts(links []sol.ExtVirtualLinkData) []string {
	var out []string
	for _, l := range links {
		for _, cp := range l.ExtCps {
			for _, c := range cp.CpConfig {
				if id := GivenPort(l, c); id != "" {
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// GivenPort is the port behind a linkPortId, "" when the configuration has none.
func GivenPort(l sol.ExtVirtualLinkData, c sol.VnfExtCpConfig) string {
	if c.LinkPortID == "" {
		return ""
	}
	for _, p := range l.ExtLinkPorts {
		if p.ID == c.LinkPortID {
			return p.ResourceHandle.ResourceID
		}
	}
	return ""
}
