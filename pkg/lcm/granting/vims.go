package granting

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// connections returns the VIM connections of the instance with the grant: those that it has, those that the grant
// brings, and the selection that the grant makes.
func (a *application) connections() (map[string]sol.VimConnectionInfo, error) {
	vims := maps.Clone(a.w.Instance.VimConnections)
	if vims == nil {
		vims = map[string]sol.VimConnectionInfo{}
	}
	for key, c := range a.brought {
		vims[key] = selectFor(c, nil) // used only if it is selected
	}
	chosen, err := a.chosen(vims)
	if err != nil {
		return nil, err
	}
	if a.before == nil {
		a.choose(vims, chosen)
	} else if err := a.keep(vims, chosen); err != nil {
		return nil, err
	}
	if _, _, ok := lcm.PrimaryVim(vims); !ok {
		return nil, invalid("/vimConnectionInfo", "is missing, and the request names no VIM connection either")
	}
	return vims, a.setGroups(vims)
}

// chosen returns the connection that the grant selects for each VDU, "" for the links of the VNF; VDUs for which it
// selects none are left out.
func (a *application) chosen(vims map[string]sol.VimConnectionInfo) (map[string]string, error) {
	out := map[string]string{}
	for _, r := range a.add {
		info := a.added[r.ID]
		key, at := info.VimConnectionID, info.at+"/vimConnectionId"
		if key == "" {
			continue
		}
		if _, ok := vims[key]; !ok {
			return nil, invalid(at, "gives %s the VIM connection %q, which neither the grant nor the VNF has", r.ID,
				key)
		}
		if other, ok := out[r.vdu]; ok && other != key {
			if r.vdu == "" {
				return nil, invalid(at, "divides the internal links of the VNF between the VIM connections %s and %s",
					other, key)
			}
			return nil, invalid(at, "divides the resources of the VDU %s between the VIM connections %s and %s; all "+
				"VNFCs of a VDU need the same", r.vdu, other, key)
		}
		out[r.vdu] = key
	}
	return out, nil
}

// choose selects the connections of a new VNF. The primary one is that of its links, or of its first VDU.
func (a *application) choose(vims map[string]sol.VimConnectionInfo, chosen map[string]string) {
	primary, named := chosen[""]
	for _, v := range a.after.VDUs {
		if key, ok := chosen[v.Name]; ok && !named {
			primary, named = key, true
		}
	}
	if !named {
		if _, given := a.w.Instance.VimConnections[primaryOf(a.w.Instance)]; !given && len(vims) > 0 {
			first := slices.Min(slices.Collect(maps.Keys(vims))) // the grant brings connections and assigns nothing
			vims[first] = unselected(vims[first])
		}
		return
	}
	for key, c := range vims {
		var vdus []string
		for _, v := range a.after.VDUs {
			if chosen[v.Name] == key {
				vdus = append(vdus, v.Name)
			}
		}
		vims[key] = selectFor(c, vdus)
	}
	vims[primary] = unselected(vims[primary])
}

func primaryOf(i *lcm.Instance) string {
	key, _, _ := lcm.PrimaryVim(i.VimConnections)
	return key
}

// keep checks the selection for a VNF that exists: its VDUs stay in their VIMs.
func (a *application) keep(vims map[string]sol.VimConnectionInfo, chosen map[string]string) error {
	for _, vdu := range slices.Sorted(maps.Keys(chosen)) {
		has, _, _ := lcm.VimOf(vims, vdu)
		if chosen[vdu] != has {
			what := "the VDU " + vdu
			if vdu == "" {
				what = "the links of the VNF"
			}
			return invalid("/addResources", "gives %s the VIM connection %s; the VNF has them in %s, and they cannot "+
				"move", what, chosen[vdu], has)
		}
	}
	return nil
}

// selectFor selects a connection for these VDUs alone; for none, nothing uses it.
func selectFor(c sol.VimConnectionInfo, vdus []string) sol.VimConnectionInfo {
	list := make([]any, 0, len(vdus))
	for _, v := range vdus {
		list = append(list, v)
	}
	c.Extra = maps.Clone(c.Extra)
	if c.Extra == nil {
		c.Extra = sol.KeyValuePairs{}
	}
	c.Extra[lcm.ExtraVDUs] = list
	return c
}

// unselected removes the selection for VDUs: the connection is the primary one.
func unselected(c sol.VimConnectionInfo) sol.VimConnectionInfo {
	c.Extra = maps.Clone(c.Extra)
	delete(c.Extra, lcm.ExtraVDUs)
	return c
}

// setGroups puts the granted resource groups, which are projects of a VIM, into the connections of a new VNF. A VNF
// that exists stays in its project.
func (a *application) setGroups(vims map[string]sol.VimConnectionInfo) error {
	groups := map[string]granted{}
	for _, r := range a.add {
		info := a.added[r.ID]
		if info.ResourceGroupID == "" {
			continue
		}
		info.at += "/resourceGroupId"
		key, _, _ := lcm.VimOf(vims, r.vdu)
		if other, ok := groups[key]; ok && other.ResourceGroupID != info.ResourceGroupID {
			return invalid(info.at, "divides the VIM connection %s between the resource groups %s and %s", key,
				other.ResourceGroupID, info.ResourceGroupID)
		}
		groups[key] = info
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		c, err := withGroup(key, vims[key], groups[key], a.before == nil)
		if err != nil {
			return err
		}
		vims[key] = c
	}
	return nil
}

// withGroup makes a connection log in to the project of a resource.
func withGroup(key string, c sol.VimConnectionInfo, of granted, isNew bool) (sol.VimConnectionInfo, error) {
	names := []string{"projectId", "project", "projectName"}
	for _, name := range names {
		if c.AccessInfo[name] == of.ResourceGroupID {
			return c, nil
		}
	}
	_, byID := c.AccessInfo["applicationCredentialId"]
	_, byName := c.AccessInfo["applicationCredentialName"]
	switch {
	case !isNew:
		return c, invalid(of.at, "is %s, and the VNF has another project in the VIM connection %s", of.ResourceGroupID,
			key)
	case byID || byName:
		return c, invalid(of.at, "is %s; the VIM connection %s has an application credential, which is for one project",
			of.ResourceGroupID, key)
	}
	access := maps.Clone(c.AccessInfo)
	for _, name := range append(names, "projectDomain", "projectDomainName", "projectDomainId") {
		delete(access, name)
	}
	access["projectId"] = of.ResourceGroupID
	c.AccessInfo = access
	return c, nil
}
