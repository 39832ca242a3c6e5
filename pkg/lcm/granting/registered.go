package granting

import (
	"maps"
	"reflect"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// VimIDs lists the VIMs that a grant refers to by vimId alone (SOL003 clause 4.4.1.6) and that the VNF has no
// connection to: Apply needs their connections from the registry. Sorted, each once.
func VimIDs(w *lcm.Execution, g *sol.Grant) []string {
	var out []string
	for key, c := range g.VimConnectionInfo {
		_, known := w.Instance.VimConnections[key]
		if !known && refers(c) && len(connectionsTo(w.Instance.VimConnections, c.VimID)) == 0 {
			out = append(out, c.VimID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// refers says whether a connection only refers to a VIM: it has no interfaceInfo or no accessInfo.
func refers(c sol.VimConnectionInfo) bool {
	return c.VimID != "" && (len(c.InterfaceInfo) == 0 || len(c.AccessInfo) == 0)
}

// connectionsTo lists the keys of the connections to a VIM, which may be named by the instance that has made it; those
// to a cluster that the VNF itself made are left out.
func connectionsTo(conns map[string]sol.VimConnectionInfo, vimID string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(conns)) {
		c := conns[key]
		if (c.VimID == vimID || c.Extra[lcm.ExtraCluster] == vimID) && c.Extra[lcm.ExtraOwner] == nil {
			out = append(out, key)
		}
	}
	return out
}

// resolve completes the connections that the grant brings. The grant is replaced by one whose references to a
// connection that the VNF has under another key name that key.
func (a *application) resolve(registered map[string]sol.VimConnectionInfo) error {
	has := a.w.Instance.VimConnections
	a.brought = map[string]sol.VimConnectionInfo{}
	keys := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(a.grant.VimConnectionInfo)) {
		c := a.grant.VimConnectionInfo[key]
		at := "/vimConnectionInfo/" + lcm.Escape(key)
		if _, known := has[key]; known {
			continue // entries that the instance has are not changed (SOL003 clause 9.5.2.3)
		}
		if c.Extra[lcm.ExtraOwner] != nil {
			return invalid(at+"/extra/"+lcm.ExtraOwner, "is present: only the VNFM marks connections with it")
		}
		if !refers(c) {
			if c.VimType == "" || len(c.InterfaceInfo) == 0 || len(c.AccessInfo) == 0 {
				return invalid(at, "needs vimType, interfaceInfo and accessInfo, or the vimId of a registered VIM")
			}
			a.brought[key] = c
			continue
		}
		to, used, err := a.refer(at, c, registered)
		if err != nil {
			return err
		}
		if to == "" {
			used = lcm.Typed(used, c.VimType)
		}
		if err := agrees(at, c, used); err != nil {
			return err
		}
		if to != "" {
			keys[key] = to
			continue
		}
		used.Extra = maps.Clone(used.Extra)
		if used.Extra == nil && len(c.Extra) > 0 {
			used.Extra = sol.KeyValuePairs{}
		}
		maps.Copy(used.Extra, c.Extra)
		a.brought[key] = used
	}
	a.grant = renamed(a.grant, keys)
	return nil
}

// refer finds the connection that a grant refers to by vimId: one of the VNF, with its key, or else that of the
// registry.
func (a *application) refer(
	at string, c sol.VimConnectionInfo, registered map[string]sol.VimConnectionInfo,
) (string, sol.VimConnectionInfo, error) {
	keys := connectionsTo(a.w.Instance.VimConnections, c.VimID)
	if len(keys) == 1 {
		return keys[0], a.w.Instance.VimConnections[keys[0]], nil
	}
	at += "/vimId"
	if len(keys) > 1 {
		err := invalid(at, "is %.80q, and the VNF has several connections to this VIM: %q", c.VimID, keys)
		return "", c, err.WithHint("let the NFVO name one of them as vimConnectionId, and send the request again")
	}
	used, ok := registered[c.VimID]
	if !ok {
		err := invalid(at, "is %.80q: neither the VNF nor the registry of its project has this VIM, and interfaceInfo "+
			"or accessInfo is missing", c.VimID)
		return "", c, err.WithHint("register the VIM in the project of the VNF (gybe vim register) and give the NFVO " +
			"its id, or let the NFVO send interfaceInfo and accessInfo; then send the request again")
	}
	if used.Extra[lcm.ExtraOwner] != nil {
		return "", c, invalid(at, "is %.80q, the cluster that this VNF instance has made: it cannot be in it", c.VimID)
	}
	return "", used, nil
}

// agrees checks that a reference to a VIM says nothing else than the connection that is used for it. The error has no
// values of members: they may be secret.
func agrees(at string, given, used sol.VimConnectionInfo) error {
	if given.VimType != "" && given.VimType != used.VimType {
		return invalid(at+"/vimType", "is %.80q, and the VIM %s has the type %s", given.VimType, used.VimID,
			used.VimType)
	}
	for _, part := range []struct {
		at          string
		given, used sol.KeyValuePairs
	}{
		{at + "/interfaceInfo/", given.InterfaceInfo, used.InterfaceInfo},
		{at + "/accessInfo/", given.AccessInfo, used.AccessInfo},
	} {
		for _, name := range slices.Sorted(maps.Keys(part.given)) {
			if !reflect.DeepEqual(part.given[name], part.used[name]) {
				err := invalid(part.at+lcm.Escape(name), "is not that of the connection to the VIM %s that the vimId "+
					"refers to", used.VimID)
				return err.WithHint("let the NFVO leave it out, or send interfaceInfo and accessInfo completely; " +
					"then send the request again")
			}
		}
	}
	return nil
}

// renamed returns a grant whose references to VIM connections have other keys.
func renamed(g *sol.Grant, keys map[string]string) *sol.Grant {
	if len(keys) == 0 {
		return g
	}
	out := *g
	out.Zones = rekeyed(g.Zones, keys, func(z *sol.ZoneInfo) *string { return &z.VimConnectionID })
	for _, list := range []*[]sol.GrantInfo{
		&out.AddResources, &out.TempResources, &out.RemoveResources, &out.UpdateResources,
	} {
		*list = rekeyed(*list, keys, func(i *sol.GrantInfo) *string { return &i.VimConnectionID })
	}
	if g.VimAssets != nil {
		assets := *g.VimAssets
		assets.ComputeResourceFlavours = rekeyed(assets.ComputeResourceFlavours, keys,
			func(f *sol.VimComputeResourceFlavour) *string { return &f.VimConnectionID })
		assets.SoftwareImages = rekeyed(assets.SoftwareImages, keys,
			func(i *sol.VimSoftwareImage) *string { return &i.VimConnectionID })
		out.VimAssets = &assets
	}
	out.ExtVirtualLinks = rekeyed(g.ExtVirtualLinks, keys,
		func(l *sol.ExtVirtualLinkData) *string { return &l.VimConnectionID })
	for n, l := range out.ExtVirtualLinks {
		out.ExtVirtualLinks[n].ExtLinkPorts = rekeyed(l.ExtLinkPorts, keys,
			func(p *sol.ExtLinkPortData) *string { return &p.ResourceHandle.VimConnectionID })
	}
	out.ExtManagedVirtualLinks = rekeyed(g.ExtManagedVirtualLinks, keys,
		func(l *sol.ExtManagedVirtualLinkData) *string { return &l.VimConnectionID })
	for n, l := range out.ExtManagedVirtualLinks {
		out.ExtManagedVirtualLinks[n].VnfLinkPort = rekeyed(l.VnfLinkPort, keys,
			func(p *sol.VnfLinkPortData) *string { return &p.ResourceHandle.VimConnectionID })
	}
	return &out
}

// rekeyed returns a copy of a list in which the keys of VIM connections, of which each entry has one, are replaced.
func rekeyed[T any](list []T, keys map[string]string, key func(*T) *string) []T {
	out := slices.Clone(list)
	for n := range out {
		if to, ok := keys[*key(&out[n])]; ok {
			*key(&out[n]) = to
		}
	}
	return out
}
