package userdata

import (
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Place is where the external virtual links say how one connection point is connected.
type Place struct {
	// Link and CP are indexes into the links and the extCps of that link.
	Link, CP int
	// Key and Config are the cpConfig entry; Key is "" when it is missing.
	Key    string
	Config sol.VnfExtCpConfig
}

// Find finds how the CP of the VNFC with this index (-1 counts as 0) is connected. With several cpConfig entries for a
// CP of the VNFD each VNFC has its own, in the natural order of their keys, and the last is shared by those that are
// left; they may be in different links.
func Find(links []sol.ExtVirtualLinkData, cpd string, index int) (Place, bool) {
	var all []Place
	for i, l := range links {
		for j, c := range l.ExtCps {
			if c.CpdID != cpd {
				continue
			}
			if len(c.CpConfig) == 0 {
				all = append(all, Place{Link: i, CP: j})
			}
			for _, k := range slices.Sorted(maps.Keys(c.CpConfig)) {
				all = append(all, Place{Link: i, CP: j, Key: k, Config: c.CpConfig[k]})
			}
		}
	}
	if len(all) == 0 {
		return Place{}, false
	}
	slices.SortStableFunc(all, func(a, b Place) int { return natural(a.Key, b.Key) })
	return all[min(max(index, 0), len(all)-1)], true
}

// port is the id in the VIM of the port that the consumer has made for the connection point; "" when it has made none.
func (p Place) port(links []sol.ExtVirtualLinkData) string {
	if p.Config.LinkPortID == "" {
		return ""
	}
	for _, port := range links[p.Link].ExtLinkPorts {
		if port.ID == p.Config.LinkPortID {
			return port.ResourceHandle.ResourceID
		}
	}
	return ""
}

// natural orders names so that a-2 comes before a-10.
func natural(a, b string) int {
	x, i := split(strings.ReplaceAll(a, "_", "-"))
	y, j := split(strings.ReplaceAll(b, "_", "-"))
	if x == y && i != j {
		return i - j
	}
	return strings.Compare(a, b)
}

// Names says whether the links are about an entry of nfv.CP: name is a CP of the VNFD, with the index of a VNFC or
// without.
func Names(links []sol.ExtVirtualLinkData, name string) bool {
	node, _ := split(name)
	return slices.ContainsFunc(links, func(l sol.ExtVirtualLinkData) bool {
		return slices.ContainsFunc(
			l.ExtCps, func(c sol.VnfExtCpData) bool { return c.CpdID == name || c.CpdID == node },
		)
	})
}
