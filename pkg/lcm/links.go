package lcm

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// MergeLinks is what holds when given is applied to current (SOL003 ChangeExtVnfConnectivityRequest): links are
// distinguished by id, connection points by cpdId and the key of their cpConfig. A connection point that is given with
// a link leaves the one it was in; a configuration that is null goes; a link without connection points goes. The only
// configuration of a connection point is that of all its VNFCs, and another one that is given alone takes its place:
// otherwise it would be that of some VNFCs, and the others would stay where they are.
func MergeLinks(current, given []sol.ExtVirtualLinkData) []sol.ExtVirtualLinkData {
	out := make([]sol.ExtVirtualLinkData, 0, len(current)+len(given))
	for _, l := range current {
		l.ExtCps = slices.Clone(l.ExtCps)
		for i := range l.ExtCps {
			l.ExtCps[i].CpConfig = maps.Clone(l.ExtCps[i].CpConfig)
		}
		out = append(out, l)
	}
	for _, g := range given {
		for _, cp := range g.ExtCps {
			if was, is := KeysOf(current, cp.CpdID), KeysOf(given, cp.CpdID); len(was) == 1 && len(is) == 1 &&
				!IsNull(cp.CpConfig[is[0]]) {
				detach(out, sol.VnfExtCpData{CpdID: cp.CpdID, CpConfig: map[string]sol.VnfExtCpConfig{was[0]: {}}})
			}
			detach(out, cp)
		}
	}
	for _, g := range given {
		at := slices.IndexFunc(out, func(l sol.ExtVirtualLinkData) bool { return l.ID == g.ID })
		if at < 0 {
			out = append(out, sol.ExtVirtualLinkData{ID: g.ID})
			at = len(out) - 1
		}
		attach(&out[at], g)
	}
	return slices.DeleteFunc(out, func(l sol.ExtVirtualLinkData) bool { return len(l.ExtCps) == 0 })
}

// KeysOf lists the keys of the configurations that links have for a connection point.
func KeysOf(links []sol.ExtVirtualLinkData, cpd string) []string {
	var out []string
	for _, l := range links {
		for _, cp := range l.ExtCps {
			if cp.CpdID == cpd {
				out = slices.AppendSeq(out, maps.Keys(cp.CpConfig))
			}
		}
	}
	return out
}

// IsNull says whether a request removes a configuration.
func IsNull(c sol.VnfExtCpConfig) bool {
	return c.ParentCpConfigID == "" && c.LinkPortID == "" && len(c.CpProtocolData) == 0
}

// detach takes a connection point out of the links: the configurations that are given, or all when none is.
func detach(links []sol.ExtVirtualLinkData, cp sol.VnfExtCpData) {
	for i := range links {
		links[i].ExtCps = slices.DeleteFunc(links[i].ExtCps, func(c sol.VnfExtCpData) bool {
			if c.CpdID != cp.CpdID {
				return false
			}
			for k := range cp.CpConfig {
				delete(c.CpConfig, k)
			}
			return len(c.CpConfig) == 0 || len(cp.CpConfig) == 0
		})
	}
}

// attach puts the given connection points into a link.
func attach(l *sol.ExtVirtualLinkData, given sol.ExtVirtualLinkData) {
	l.VimConnectionID, l.ResourceProviderID = given.VimConnectionID, given.ResourceProviderID
	l.ResourceID = given.ResourceID
	for _, p := range given.ExtLinkPorts {
		l.ExtLinkPorts = slices.DeleteFunc(
			slices.Clone(l.ExtLinkPorts), func(o sol.ExtLinkPortData) bool { return o.ID == p.ID },
		)
		l.ExtLinkPorts = append(l.ExtLinkPorts, p)
	}
	for _, cp := range given.ExtCps {
		at := slices.IndexFunc(l.ExtCps, func(c sol.VnfExtCpData) bool { return c.CpdID == cp.CpdID })
		if at < 0 {
			l.ExtCps = append(l.ExtCps, sol.VnfExtCpData{CpdID: cp.CpdID, CpConfig: map[string]sol.VnfExtCpConfig{}})
			at = len(l.ExtCps) - 1
		}
		for k, c := range cp.CpConfig {
			if IsNull(c) {
				continue
			}
			l.ExtCps[at].CpConfig[k] = c
		}
		if len(cp.CpConfig) > 0 && len(l.ExtCps[at].CpConfig) == 0 {
			l.ExtCps = slices.Delete(l.ExtCps, at, at+1)
		}
	}
}
