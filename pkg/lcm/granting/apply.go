package granting

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Apply checks the grant that answers a request, and writes it into the operation and the instance: the grant as
// drivers use it, its additionalParams, and its VIM connections. The error of an invalid grant is permanent and points
// to what is wrong; nothing is changed then. Whether the templates of the package can take it is for lcm.Infra.Granted.
// registered are the connections of the registry to those of VimIDs that it has, by vimId.
func Apply(
	w *lcm.Execution, r *sol.GrantRequest, g *sol.Grant, href string, registered map[string]sol.VimConnectionInfo,
) error {
	p, err := planOf(w)
	if err != nil {
		return err
	}
	a := &application{plan: p, request: r, grant: g, zones: map[string]sol.ZoneInfo{}}
	if err := a.check(registered); err != nil {
		return err
	}
	vims, err := a.connections()
	if err != nil {
		return err
	}
	out := &lcm.Grant{
		ID: g.ID, ExtVirtualLinks: a.grant.ExtVirtualLinks,
		ExtManagedVirtualLinks: a.grant.ExtManagedVirtualLinks,
	}
	for _, d := range r.AddResources {
		out.New = append(out.New, d.ID)
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
	w.Share()
	return nil
}

// application is a grant that is being applied.
type application struct {
	*plan
	request *sol.GrantRequest
	grant   *sol.Grant
	// zones are those of the grant by their ids, added the granted new resources by the ids of their definitions.
	zones map[string]sol.ZoneInfo
	added map[string]granted
	// brought are the complete VIM connections of the grant that the instance does not have, by their keys.
	brought map[string]sol.VimConnectionInfo
}

// granted is the decision about a resource, and where the grant has it.
type granted struct {
	sol.GrantInfo
	at string
}

// invalid is the error of a grant that cannot be used. at is a JSON pointer into the grant.
func invalid(at, format string, args ...any) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Invalid grant",
		Detail: "the grant of the NFVO is invalid: " + at + " " + fmt.Sprintf(format, args...),
		Hint:   "correct it at the NFVO, and send the request again",
	}
}

// indirect is the error of a resourceProviderId, nil without one: it belongs to resource management by the NFVO, and
// this VNFM manages resources itself (direct mode).
func indirect(at, provider string) error {
	if provider == "" {
		return nil
	}
	return invalid(at+"/resourceProviderId", "is %q: the VNFM manages resources itself, in VIMs", provider)
}

// check compares the grant with the request.
func (a *application) check(registered map[string]sol.VimConnectionInfo) error {
	g, op := a.grant, a.w.Op
	switch {
	case g.ID == "":
		return invalid("/id", "is missing")
	case g.VnfLcmOpOccID != op.ID:
		return invalid("/vnfLcmOpOccId", "is %q, and the request was about %s", g.VnfLcmOpOccID, op.ID)
	case g.VnfInstanceID != op.InstanceID:
		return invalid("/vnfInstanceId", "is %q, and the request was about %s", g.VnfInstanceID, op.InstanceID)
	}
	if err := a.resolve(registered); err != nil {
		return err
	}
	g = a.grant
	for _, list := range []struct {
		at    string
		given []sol.GrantInfo
		asked []sol.ResourceDefinition
	}{
		{"/addResources", g.AddResources, a.request.AddResources},
		{"/tempResources", g.TempResources, a.request.TempResources},
		{"/removeResources", g.RemoveResources, a.request.RemoveResources},
		{"/updateResources", g.UpdateResources, a.request.UpdateResources},
	} {
		found, err := checkDefinitions(list.at, list.given, list.asked)
		if err != nil {
			return err
		}
		if list.at == "/addResources" {
			a.added = found
		}
	}
	return a.readZones()
}

// checkDefinitions finds the infos of a list by their definition. The list has to have all that were asked for.
func checkDefinitions(at string, given []sol.GrantInfo, asked []sol.ResourceDefinition) (map[string]granted, error) {
	known := map[string]sol.ResourceDefinition{}
	for _, d := range asked {
		known[d.ID] = d
	}
	out := map[string]granted{}
	for n, info := range given {
		here := fmt.Sprintf("%s/%d", at, n)
		id := info.ResourceDefinitionID
		d, ok := known[id]
		if !ok {
			return nil, invalid(here, "names the resource definition %q, which the request does not have there", id)
		}
		if _, twice := out[id]; twice {
			return nil, invalid(here, "names the resource definition %s twice", id)
		}
		if info.ReservationID != "" {
			return nil, invalid(here+"/reservationId", "is %s for %s: this VNFM does not support reservations",
				info.ReservationID, id)
		}
		if err := indirect(here, info.ResourceProviderID); err != nil {
			return nil, err
		}
		if d.Resource != nil {
			if err := checkExisting(here, info, *d.Resource); err != nil {
				return nil, err
			}
		}
		out[id] = granted{info, here}
	}
	for _, d := range asked {
		if _, ok := out[d.ID]; !ok {
			return nil, invalid(at, "does not have the resource definition %s (%s) of the request", d.ID, d.Type)
		}
	}
	return out, nil
}

// checkExisting checks that a grant leaves a resource that exists where it is.
func checkExisting(at string, info sol.GrantInfo, has sol.ResourceHandle) error {
	switch {
	case info.VimConnectionID != "" && has.VimConnectionID != "" && info.VimConnectionID != has.VimConnectionID:
		return invalid(at+"/vimConnectionId", "is %q: the resource %s exists in %s, and cannot move",
			info.VimConnectionID, has.ResourceID, has.VimConnectionID)
	case info.ZoneID != "":
		return invalid(at+"/zoneId", "is %q: the resource %s exists, and cannot move", info.ZoneID, has.ResourceID)
	case info.ResourceGroupID != "":
		return invalid(at+"/resourceGroupId", "is %q: the resource %s exists, and cannot move", info.ResourceGroupID,
			has.ResourceID)
	}
	return nil
}

// readZones reads zones, and checks the zone groups: they confirm constraints, and decide nothing.
func (a *application) readZones() error {
	for n, z := range a.grant.Zones {
		at := fmt.Sprintf("/zones/%d", n)
		if _, twice := a.zones[z.ID]; twice {
			return invalid(at, "has the id %q, as another zone has", z.ID)
		}
		if z.ID == "" || z.ZoneID == "" {
			return invalid(at, "needs id and zoneId")
		}
		if err := indirect(at, z.ResourceProviderID); err != nil {
			return err
		}
		a.zones[z.ID] = z
	}
	for n, group := range a.grant.ZoneGroups {
		for m, id := range group.ZoneID {
			if _, ok := a.zones[id]; !ok {
				return invalid(fmt.Sprintf("/zoneGroups/%d/zoneId/%d", n, m), "is %q, which zones does not have", id)
			}
		}
	}
	return nil
}

// placeVNFCs returns the granted zones: by VNFC, and by VDU where they are the same.
func (a *application) placeVNFCs(vims map[string]sol.VimConnectionInfo) (map[string]string, error) {
	zones, ofVDU := map[string]string{}, map[string]map[string]bool{}
	for _, r := range a.add {
		info := a.added[r.ID]
		id, at := info.ZoneID, info.at+"/zoneId"
		zone, ok := a.zones[id]
		if id != "" && !ok {
			return nil, invalid(at, "gives %s the zone %q, which zones does not have", r.ID, id)
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
			return nil, invalid(at, "gives %s the zone %s of the VIM connection %q, and the VDU %s uses %q", r.ID,
				zone.ZoneID, vim, r.vdu, key)
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
