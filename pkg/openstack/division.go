package openstack

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// badParts finds what keeps the VDUs of a VNF from using the parts that the connections select.
func (d *Driver) badParts(r lcm.Request, parts []part) ([]lcm.InvalidParam, error) {
	bad := keptParts(r.Instance, parts, exchanged(r.Type))
	if len(parts) < 2 || r.Flavour == nil || len(bad) > 0 {
		return bad, nil
	}
	for n := range parts {
		if len(parts[n].w.Flavour.VDUs) == 0 && !parts[n].ends() {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/vimConnectionInfo/" + lcm.Escape(parts[n].key),
				Detail: fmt.Sprintf(
					"no VDU of flavour %s uses this connection, and others do: it would have an empty stack",
					r.Flavour.ID,
				),
			})
		}
	}
	bad = append(bad, sharedStorages(parts)...)
	if len(bad) > 0 {
		return bad, nil
	}
	return d.sharedLinks(r, parts)
}

// keptParts rejects other connections for the stacks of an instance than those that they were created through: the name
// of a stack follows from the key of its connection. Only an operation that exchanges the VDUs creates and deletes
// stacks.
func keptParts(i *lcm.Instance, parts []part, exchanges bool) []lcm.InvalidParam {
	if i.Instantiated == nil || len(parts) == 0 {
		return nil
	}
	had := inventory.Vims(i.Instantiated)
	var has []string
	for _, s := range parts[1:] {
		has = append(has, s.key)
	}
	const at = "/vimConnectionInfo/"
	var bad []lcm.InvalidParam
	for _, key := range had {
		if !exchanges && !slices.Contains(has, key) {
			bad = append(bad, lcm.InvalidParam{Pointer: at + lcm.Escape(key), Detail: fmt.Sprintf(
				"the instance has a stack that was created through the connection %s, which has to keep its key and "+
					"VDUs",
				key)})
		}
	}
	for _, key := range has {
		if !exchanges && !slices.Contains(had, key) {
			bad = append(
				bad, lcm.InvalidParam{Pointer: at + lcm.Escape(key) + "/extra/" + lcm.ExtraVDUs, Detail: fmt.Sprintf(
					"the instance has no stack that was created through the connection %s; CHANGE_FLAVOUR or "+
						"CHANGE_VNFPKG can add one",
					key)})
		}
	}
	for _, r := range i.Instantiated.VnfcResourceInfo {
		was := r.ComputeResource.VimConnectionID
		if !slices.Contains(had, was) {
			was = ""
		}
		at := slices.IndexFunc(parts, func(s part) bool { return s.hosts(r.VduID) })
		if len(bad) == 0 && at >= 0 && parts[at].vim != was {
			bad = append(
				bad, lcm.InvalidParam{Pointer: "/vimConnectionInfo/" + lcm.Escape(parts[at].key), Detail: fmt.Sprintf(
					"the VNFCs of %s are in the stack of another connection and cannot move", r.VduID)})
		}
	}
	return bad
}

// sharedStorages rejects storages that VDUs of several parts have: the image of a storage is in one of the VIMs.
func sharedStorages(parts []part) []lcm.InvalidParam {
	seen := map[string]bool{}
	var bad []lcm.InvalidParam
	for n := range parts {
		for _, storage := range parts[n].w.Flavour.Storages {
			if seen[storage.Name] {
				bad = append(bad, lcm.InvalidParam{
					Pointer: "/vimConnectionInfo/" + lcm.Escape(parts[n].key) + "/extra/" + lcm.ExtraVDUs,
					Detail:  "VDUs of several connections have the storage " + storage.Name,
				})
			}
			seen[storage.Name] = true
		}
	}
	return bad
}

// sharedLinks rejects external links whose network would be in several VIMs.
func (d *Driver) sharedLinks(r lcm.Request, parts []part) ([]lcm.InvalidParam, error) {
	var req connections
	if err := json.Unmarshal(r.Params, &req); err != nil {
		return nil, fmt.Errorf("decode the request: %w", err)
	}
	var bad []lcm.InvalidParam
	for n, l := range req.ExtVirtualLinks {
		for m, cp := range l.ExtCps {
			at := slices.IndexFunc(parts, func(s part) bool { return s.owns(cp.CpdID) })
			if at < 0 || l.VimConnectionID == "" || parts[at].leadsHere(l.VimConnectionID) {
				continue
			}
			bad = append(bad, lcm.InvalidParam{
				Pointer: fmt.Sprintf("/extVirtualLinks/%d/extCps/%d/cpdId", n, m), Detail: fmt.Sprintf(
					"%s is in the VIM of the connection %s, and the link in that of %s", cp.CpdID, parts[at].key,
					l.VimConnectionID),
			})
		}
	}
	if len(bad) > 0 || r.Type == sol.LcmOperationModifyInfo {
		return bad, nil
	}
	connects := map[string]string{}
	for n := range parts {
		g, err := d.desiredAt(&parts[n])
		if err != nil {
			return nil, nil //nolint:nilerr // the assembly of the stack reports it
		}
		for _, l := range g.ext {
			if other, taken := connects[l.ID]; taken {
				at := slices.IndexFunc(req.ExtVirtualLinks, func(o sol.ExtVirtualLinkData) bool { return o.ID == l.ID })
				pointer := "/extVirtualLinks"
				if at >= 0 {
					pointer = fmt.Sprintf("/extVirtualLinks/%d", at)
				}
				bad = append(bad, lcm.InvalidParam{Pointer: pointer, Detail: fmt.Sprintf(
					"the link %s has connection points of VDUs that use the connections %s and %s; give each its own "+
						"link",
					l.ID, other, parts[n].key)})
			}
			connects[l.ID] = parts[n].key
		}
	}
	return bad, nil
}
