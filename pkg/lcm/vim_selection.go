package lcm

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ExtraVDUs is the key in VimConnectionInfo.extra that lists the VDUs whose VNFCs are created through the connection.
const ExtraVDUs = "gybe.vdus"

// VimOf returns the connection through which the VNFCs of a VDU are created, with its key: the one that lists the VDU
// in ExtraVDUs, or else PrimaryVim.
func VimOf(conns map[string]sol.VimConnectionInfo, vdu string) (string, sol.VimConnectionInfo, bool) {
	for _, key := range sortedKeys(conns) {
		if vdus, _ := vdusOf(conns[key]); slices.Contains(vdus, vdu) {
			return key, conns[key], true
		}
	}
	return PrimaryVim(conns)
}

// VimsOf returns the keys of the connections through which an instance has resources: the primary one, then those that
// list VDUs.
func VimsOf(conns map[string]sol.VimConnectionInfo) []string {
	primary, _, ok := PrimaryVim(conns)
	if !ok {
		return nil
	}
	out := []string{primary}
	for _, key := range sortedKeys(conns) {
		if vdus, _ := vdusOf(conns[key]); len(vdus) > 0 && key != primary {
			out = append(out, key)
		}
	}
	return out
}

// vdusOf lists the VDUs that a connection is selected for; false when the list is not one.
func vdusOf(c sol.VimConnectionInfo) ([]string, bool) {
	v, ok := c.Extra[ExtraVDUs]
	if !ok {
		return nil, true
	}
	list, ok := v.([]any)
	var out []string
	for _, e := range list {
		vdu, isText := e.(string)
		ok = ok && isText
		out = append(out, vdu)
	}
	return out, ok
}

// CheckVims returns the errors of the selection of connections by VDUs: the VDUs exist, each selects one connection,
// all connections have the same type, and VNFCs that exist keep the connection that they were created through.
func (a *Admission) CheckVims() []InvalidParam {
	var bad []InvalidParam
	f, conns := a.Target().Flavour, a.Instance.VimConnections
	if f == nil {
		return nil
	}
	_, primary, _ := PrimaryVim(conns)
	selected := map[string]string{}
	for _, key := range sortedKeys(conns) {
		reject := func(format string, args ...any) {
			at := "/vimConnectionInfo/" + Escape(key) + "/extra/" + ExtraVDUs
			bad = append(bad, InvalidParam{at, fmt.Sprintf(format, args...)})
		}
		vdus, ok := vdusOf(conns[key])
		if !ok {
			reject("is not a list of VDUs")
			continue
		}
		if len(vdus) > 0 && conns[key].VimType != primary.VimType {
			reject("selects a VIM of the type %s; other VDUs use the type %s", conns[key].VimType, primary.VimType)
		}
		for _, vdu := range vdus {
			other, taken := selected[vdu]
			switch {
			case f.VDU(vdu) == nil:
				reject("flavour %s has no VDU %q", f.ID, vdu)
			case taken:
				reject("the VDU %s is listed by the connection %s, too", vdu, other)
			}
			selected[vdu] = key
		}
	}
	return append(bad, a.movedVDUs()...)
}

// movedVDUs rejects another connection for a VDU that has VNFCs and that the operation does not remove. A new primary
// connection that takes the place of a removed one is accepted: it is the same VIM under another key.
func (a *Admission) movedVDUs() []InvalidParam {
	var bad []InvalidParam
	if a.Instance.Instantiated == nil {
		return nil
	}
	was, used := map[string]string{}, map[string]bool{}
	for _, r := range a.Instance.Instantiated.VnfcResourceInfo {
		was[r.VduID] = r.ComputeResource.VimConnectionID
		used[r.ComputeResource.VimConnectionID] = true
	}
	primary, _, _ := PrimaryVim(a.Instance.VimConnections)
	for _, vdu := range slices.Sorted(maps.Keys(was)) {
		if a.Target().Flavour.VDU(vdu) == nil {
			continue
		}
		key, _, _ := VimOf(a.Instance.VimConnections, vdu)
		_, kept := a.Instance.VimConnections[was[vdu]]
		renamed := !kept && key == primary && !used[key] && !slices.ContainsFunc(a.Instance.Inventory,
			func(r Resource) bool {
				return r.VDU == vdu && r.Vim != ""
			})
		if key != was[vdu] && !renamed {
			bad = append(bad, InvalidParam{"/vimConnectionInfo/" + Escape(key), fmt.Sprintf(
				"the VNFCs of %s were created through the connection %s and cannot move", vdu, was[vdu])})
		}
	}
	return bad
}
