package granting

import (
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The operations whose requests can have external links, and those with externally managed links. Grants of others
// cannot have them either (SOL003 clause 9.5.2.3, note 5): they would reconnect VNFCs that the operation leaves alone.
var (
	withLinks = []sol.LcmOperationType{
		sol.LcmOperationInstantiate, sol.LcmOperationChangeFlavour, sol.LcmOperationChangeVnfpkg,
		sol.LcmOperationChangeExtConn,
	}
	withManagedLinks = withLinks[:3]
)

// checkLinks checks that the links of the grant name things of the VNF.
func (a *application) checkLinks(vims map[string]sol.VimConnectionInfo) error {
	g, op := a.grant, a.w.Op.Type
	if len(g.ExtVirtualLinks) > 0 && !slices.Contains(withLinks, op) {
		return invalid("/extVirtualLinks", "is present, and %s does not connect connection points", op)
	}
	if len(g.ExtManagedVirtualLinks) > 0 && !slices.Contains(withManagedLinks, op) {
		return invalid("/extManagedVirtualLinks", "is present, and %s does not connect internal links", op)
	}
	for n, l := range g.ExtVirtualLinks {
		if err := a.checkLink(fmt.Sprintf("/extVirtualLinks/%d", n), l, vims); err != nil {
			return err
		}
	}
	for n, l := range g.ExtManagedVirtualLinks {
		at := fmt.Sprintf("/extManagedVirtualLinks/%d", n)
		if l.ID == "" || l.ResourceID == "" {
			return invalid(at, "needs id and resourceId")
		}
		if !a.hasLink(l.VnfVirtualLinkDescID) {
			return invalid(at+"/vnfVirtualLinkDescId", "is %q, a virtual link that the flavour %s does not have",
				l.VnfVirtualLinkDescID, a.after.ID)
		}
		if err := inVim(at, l.VimConnectionID, vims); err != nil {
			return err
		}
		if err := indirect(at, l.ResourceProviderID); err != nil {
			return err
		}
	}
	return nil
}

// checkLink checks an external link.
func (a *application) checkLink(at string, l sol.ExtVirtualLinkData, vims map[string]sol.VimConnectionInfo) error {
	if l.ID == "" || l.ResourceID == "" || len(l.ExtCps) == 0 {
		return invalid(at, "needs id, resourceId and extCps")
	}
	if err := inVim(at, l.VimConnectionID, vims); err != nil {
		return err
	}
	if err := indirect(at, l.ResourceProviderID); err != nil {
		return err
	}
	for n, given := range l.ExtCps {
		here := fmt.Sprintf("%s/extCps/%d/cpdId", at, n)
		cp := a.after.CP(given.CpdID)
		if cp == nil {
			return invalid(here, "is %q, a connection point that the flavour %s does not have", given.CpdID, a.after.ID)
		}
		key, _, _ := lcm.VimOf(vims, cp.VDU)
		if cp.VDU != "" && l.VimConnectionID != "" && l.VimConnectionID != key {
			return invalid(here, "is %s of the VDU %s, which uses the VIM connection %q, and the link is in %q",
				given.CpdID, cp.VDU, key, l.VimConnectionID)
		}
	}
	return nil
}

// inVim checks the VIM connection of a link.
func inVim(at, key string, vims map[string]sol.VimConnectionInfo) error {
	if _, ok := vims[key]; !ok && key != "" {
		return invalid(at+"/vimConnectionId", "is %q, which neither the grant nor the VNF has", key)
	}
	return nil
}
