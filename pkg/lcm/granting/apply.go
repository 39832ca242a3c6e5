package granting

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Apply checks the grant that answers a request, and writes it into the operation and the instance: the grant as
// drivers use it, its additionalParams, and its VIM connections. The error of an invalid grant is permanent and names
// what is wrong; nothing is changed then.
func Apply(w *lcm.Execution, r *sol.GrantRequest, g *sol.Grant, href string) error {
	p, err := planOf(w)
	if err != nil {
		return err
	}
	a := &application{plan: p, request: r, grant: g, zones: map[string]sol.ZoneInfo{}}
	if err := a.check(); err != nil {
		return err
	}
	vims, err := a.connections()
	if err != nil {
		return err
	}
	out := &lcm.Grant{
		ID: g.ID, ExtVirtualLinks: g.ExtVirtualLinks, ExtManagedVirtualLinks: g.ExtManagedVirtualLinks,
	}
	if out.Zones, err = a.placeVNFCs(vims); err != nil {
		return err
	}
	if err := a.setAssets(out, vims); err != nil {
		return err
	}
	if err := a.checkLinks(vims); err != nil {
		return err
	}
	w.Op.Grant, w.Op.GrantHref, w.Op.GrantParams = out, href, g.AdditionalParams
	w.Instance.VimConnections = vims
	return nil
}

// application is a grant that is being applied.
type application struct {
	*plan
	request *sol.GrantRequest
	grant   *sol.Grant
	// zones are those of the grant by their ids, added the granted new resources by the ids of their definitions.
	zones map[string]sol.ZoneInfo
	added map[string]sol.GrantInfo
}

// invalid is the error of a grant that cannot be used.
func invalid(format string, args ...any) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Invalid grant", Detail: "the grant of the NFVO is invalid: " +
			fmt.Sprintf(format, args...),
		Hint: "correct it at the NFVO, and send the request again",
	}
}

// check compares the grant with the request.
func (a *application) check() error {
	g, op := a.grant, a.w.Op
	switch {
	case g.ID == "":
		return invalid("it has no id")
	case g.VnfLcmOpOccID != op.ID:
		return invalid("vnfLcmOpOccId is %q, and the request was about %s", g.VnfLcmOpOccID, op.ID)
	case g.VnfInstanceID != op.InstanceID:
		return invalid("vnfInstanceId is %q, and the request was about %s", g.VnfInstanceID, op.InstanceID)
	}
	for _, list := range []struct {
		name  string
		given []sol.GrantInfo
		asked []sol.ResourceDefinition
	}{
		{"addResources", g.AddResources, a.request.AddResources},
		{"tempResources", g.TempResources, a.request.TempResources},
		{"removeResources", g.RemoveResources, a.request.RemoveResources},
		{"updateResources", g.UpdateResources, a.request.UpdateResources},
	} {
		found, err := checkDefinitions(list.name, list.given, list.asked)
		if err != nil {
			return err
		}
		if list.name == "addResources" {
			a.added = found
		}
	}
	for _, d := range a.request.AddResources {
		if _, ok := a.added[d.ID]; !ok {
			return invalid("addResources does not have the resource definition %s (%s), which the operation adds", d.ID,
				d.Type)
		}
	}
	return a.readZones()
}

// checkDefinitions finds the infos of a list by their definition.
func checkDefinitions(
	name string, given []sol.GrantInfo, asked []sol.ResourceDefinition,
) (map[string]sol.GrantInfo, error) {
	known := map[string]bool{}
	for _, d := range asked {
		known[d.ID] = true
	}
	out := map[string]sol.GrantInfo{}
	for _, info := range given {
		id := info.ResourceDefinitionID
		if !known[id] {
			return nil, invalid("%s names the resource definition %q, which the request does not have there", name, id)
		}
		if _, twice := out[id]; twice {
			return nil, invalid("%s names the resource definition %s twice", name, id)
		}
		if info.ReservationID != "" {
			return nil, invalid("%s gives %s the reservationId %s: this VNFM does not support reservations", name, id,
				info.ReservationID)
		}
		out[id] = info
	}
	return out, nil
}

// readZones reads zones, and checks the zone groups: they confirm constraints, and decide nothing.
func (a *application) readZones() error {
	for _, z := range a.grant.Zones {
		if _, twice := a.zones[z.ID]; twice {
			return invalid("zones has the id %q twice", z.ID)
		}
		if z.ID == "" || z.ZoneID == "" {
			return invalid("zones has an entry without id or zoneId")
		}
		a.zones[z.ID] = z
	}
	for _, group := range a.grant.ZoneGroups {
		for _, id := range group.ZoneID {
			if _, ok := a.zones[id]; !ok {
				return invalid("zoneGroups names the zone %q, which zones does not have", id)
			}
		}
	}
	return nil
}

// placeVNFCs returns the granted zones: by VNFC, and by VDU where they are the same.
func (a *application) placeVNFCs(vims map[string]sol.VimConnectionInfo) (map[string]string, error) {
	zones, ofVDU := map[string]string{}, map[string]map[string]bool{}
	for _, r := range a.add {
		id := a.added[r.ID].ZoneID
		zone, ok := a.zones[id]
		if id != "" && !ok {
			return nil, invalid("addResources gives %s the zone %q, which zones does not have", r.ID, id)
		}
		if r.Type != sol.ResourceTypeCompute {
			continue
		}
		if ofVDU[r.vdu] == nil {
			ofVDU[r.vdu] = map[string]bool{}
		}
		ofVDU[r.vdu][zone.ZoneID] = true
		if id == "" {
			continue
		}
		key, _, _ := lcm.VimOf(vims, r.vdu)
		if vim := zone.VimConnectionID; vim != "" && vim != key {
			return nil, invalid("the zone %s of %s belongs to the VIM connection %q, and the VDU %s uses %q",
				zone.ZoneID, r.ID, vim, r.vdu, key)
		}
		zones[r.ID] = zone.ZoneID
	}
	for vdu, of := range ofVDU {
		if zone := slices.Collect(maps.Keys(of)); len(zone) == 1 && zone[0] != "" {
			zones[vdu] = zone[0]
		}
	}
	if len(zones) == 0 {
		return nil, nil
	}
	return zones, nil
}

// checkLinks checks that the links of the grant name things of the VNF.
func (a *application) checkLinks(vims map[string]sol.VimConnectionInfo) error {
	for _, l := range a.grant.ExtVirtualLinks {
		if l.ID == "" || l.ResourceID == "" {
			return invalid("extVirtualLinks has an entry without id or resourceId")
		}
		for _, cp := range l.ExtCps {
			if a.after.CP(cp.CpdID) == nil {
				return invalid("the external link %s names the connection point %q, which the flavour %s does not have",
					l.ID, cp.CpdID, a.after.ID)
			}
		}
		if _, ok := vims[l.VimConnectionID]; !ok && l.VimConnectionID != "" {
			return invalid("the external link %s names the VIM connection %q, which the VNF does not have", l.ID,
				l.VimConnectionID)
		}
	}
	for _, l := range a.grant.ExtManagedVirtualLinks {
		if !a.hasLink(l.VnfVirtualLinkDescID) {
			return invalid("the externally managed link %s is for the virtual link %q, which the flavour %s does "+
				"not have", l.ID, l.VnfVirtualLinkDescID, a.after.ID)
		}
		if _, ok := vims[l.VimConnectionID]; !ok && l.VimConnectionID != "" {
			return invalid("the externally managed link %s names the VIM connection %q, which the VNF does not have",
				l.ID, l.VimConnectionID)
		}
	}
	return nil
}
