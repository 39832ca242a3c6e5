package inventory

import (
	"cmp"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// virtualLink is an internal virtual link; the stack or the consumer made its network.
type virtualLink struct {
	sol.AffectedVirtualLink
	managed bool // by the consumer: it is neither added nor removed, only our ports on it are
	ports   []string
}

func virtualLinks(i *sol.InstantiatedVnfInfo) []virtualLink {
	var out []virtualLink
	add := func(id, desc string, network sol.ResourceHandle, ports []sol.VnfLinkPortInfo, managed bool) {
		l := virtualLink{managed: managed, AffectedVirtualLink: sol.AffectedVirtualLink{
			ID: id, VnfVirtualLinkDescID: desc, NetworkResource: network,
		}}
		for _, p := range ports {
			if p.CpInstanceID != "" {
				l.ports = append(l.ports, p.ID)
			}
		}
		out = append(out, l)
	}
	for _, l := range i.VnfVirtualLinkResourceInfo {
		add(l.ID, l.VnfVirtualLinkDescID, l.NetworkResource, l.VnfLinkPorts, false)
	}
	for _, l := range i.ExtManagedVirtualLinkInfo {
		add(l.ID, l.VnfVirtualLinkDescID, l.NetworkResource, l.VnfLinkPorts, true)
	}
	return out
}

// affectedLinks lists internal links that were made or deleted, with their ports, and those that got or lost ports.
func affectedLinks(was, is *sol.InstantiatedVnfInfo) []sol.AffectedVirtualLink {
	var out []sol.AffectedVirtualLink
	add := func(l *virtualLink, t sol.ChangeType, ports []string) {
		a := l.AffectedVirtualLink
		a.ChangeType, a.VnfLinkPortIds = t, ports
		out = append(out, a)
	}
	for _, p := range Match(virtualLinks(was), virtualLinks(is), func(l virtualLink) string { return l.ID }) {
		old, now := cmp.Or(p.Old, &virtualLink{}), cmp.Or(p.New, &virtualLink{})
		switch {
		case p.Old == nil && !now.managed:
			add(now, sol.ChangeTypeAdded, now.ports)
		case p.New == nil && !old.managed:
			add(old, sol.ChangeTypeRemoved, old.ports)
		default:
			if ports := missingIn(now.ports, old.ports); len(ports) > 0 {
				add(cmp.Or(p.New, p.Old), sol.ChangeTypeLinkPortAdded, ports)
			}
			if ports := missingIn(old.ports, now.ports); len(ports) > 0 {
				add(cmp.Or(p.New, p.Old), sol.ChangeTypeLinkPortRemoved, ports)
			}
		}
	}
	return out
}

// affectedPorts lists ports of external links that came or went.
func affectedPorts(was, is *sol.InstantiatedVnfInfo) []sol.AffectedExtLinkPort {
	ports := func(i *sol.InstantiatedVnfInfo) []sol.ExtLinkPortInfo {
		var out []sol.ExtLinkPortInfo
		for _, l := range i.ExtVirtualLinkInfo {
			out = append(out, l.ExtLinkPorts...)
		}
		return out
	}
	var out []sol.AffectedExtLinkPort
	for _, p := range Match(ports(was), ports(is), func(p sol.ExtLinkPortInfo) string { return p.ID }) {
		t := sol.ChangeTypeAdded
		if p.New == nil {
			t = sol.ChangeTypeRemoved
		} else if p.Old != nil {
			continue
		}
		port := cmp.Or(p.New, p.Old)
		out = append(out, sol.AffectedExtLinkPort{
			ID: port.ID, ChangeType: t, ExtCpInstanceID: port.CpInstanceID, ResourceHandle: port.ResourceHandle,
		})
	}
	return out
}

// ChangedLinks lists the external links that were added or changed, as they are now (SOL003 clause 5.5.2.13,
// changedExtConnectivity).
func ChangedLinks(was, is *sol.InstantiatedVnfInfo) []sol.ExtVirtualLinkInfo {
	var out []sol.ExtVirtualLinkInfo
	was, is = cmp.Or(was, &sol.InstantiatedVnfInfo{}), cmp.Or(is, &sol.InstantiatedVnfInfo{})
	for _, p := range Match(
		was.ExtVirtualLinkInfo, is.ExtVirtualLinkInfo, func(l sol.ExtVirtualLinkInfo) string { return l.ID },
	) {
		if p.New != nil && (p.Old == nil || !SameJSON(connected(*p.Old, *p.New), *p.New)) {
			out = append(out, *p.New)
		}
	}
	return out
}

// connected is a link with the connection of its successor: a release before did not record it.
func connected(old, next sol.ExtVirtualLinkInfo) sol.ExtVirtualLinkInfo {
	h := &old.ResourceHandle
	h.VimConnectionID = cmp.Or(h.VimConnectionID, next.ResourceHandle.VimConnectionID)
	return old
}
