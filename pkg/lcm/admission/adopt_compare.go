package admission

import (
	"context"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/adoption"
)

// compare compares the machines of the VIM with those that the other VNFM names.
func (a *adopting) compare() {
	p, i := a.plan, a.plan.Instance
	there := map[string]bool{}
	for _, c := range i.Instantiated.VnfcInfo {
		there[c.VnfcResourceInfoID] = true
		v := adoption.VNFC{ID: c.ID, VDU: c.VduID, Server: c.VnfcResourceInfoID, State: adoption.Extra}
		for _, r := range i.Inventory {
			if r.ID == v.Server {
				v.Name, v.Status = r.Name, r.Status
			}
		}
		if slices.Contains(a.src.Known().Machines, v.Server) {
			v.State = adoption.Found
		}
		if v.Status == lcm.StatusNotFound {
			v.State = adoption.Missing
		}
		p.VNFCs = append(p.VNFCs, v)
	}
	for _, c := range a.src.VNFCs() {
		if !there[c.VnfcResourceInfoID] {
			p.VNFCs = append(p.VNFCs, adoption.VNFC{
				ID: c.ID, VDU: c.VduID, Server: c.VnfcResourceInfoID, State: adoption.Missing,
			})
		}
	}
	if p.Already {
		return
	}
	const at = "/vnfInstance/instantiatedVnfInfo/vnfcResourceInfo"
	for _, v := range p.VNFCs {
		switch v.State {
		case adoption.Missing:
			p.Refuse(at, fmt.Sprintf("server %s of VNFC %s is not in the VIM", v.Server, v.ID),
				"heal the VNFC with the other VNFM")
		case adoption.Extra:
			p.Refuse(
				at, fmt.Sprintf("the stack has a server %s of %s that the other VNFM does not name", v.Server, v.VDU),
				"remove it from the stack, or let the other VNFM read the stack again",
			)
		}
	}
}

// drift refuses an instance whose next update would replace or remove resources that it has.
func (a *adopting) drift(ctx context.Context) error {
	p := a.plan
	found, err := a.infra.Drift(ctx, a.w)
	if err != nil {
		return p.RefuseError(err, "/vnfPkgId", a.src.Pointer)
	}
	p.Update = *found
	for what, list := range map[string][]lcm.PlannedResource{"replace": found.Replace, "remove": found.Remove} {
		for _, r := range list {
			p.Refuse("/vnfPkgId", fmt.Sprintf("the next operation would %s %s %s: %s", what, r.Type, r.Name, r.Detail),
				"the package here is not the one that the stack was made from, or the stack was changed without it")
		}
	}
	for _, r := range found.Change {
		if r.LosesData {
			p.Refuse("/vnfPkgId", fmt.Sprintf("the next operation would change %s %s: %s", r.Type, r.Name, r.Detail),
				"the package here is not the one that the stack was made from, or the stack was changed without it")
		}
	}
	return nil
}

// cluster looks at the cluster that the instance is.
func (a *adopting) cluster(ctx context.Context) error {
	p, f := a.plan, a.w.Flavour
	impl, ok := lcm.FindHook(a.Mgmt, f, lcm.HookInstantiateEnd)
	if !ok {
		return nil
	}
	driver, err := a.Mgmt.Driver(impl)
	if err != nil {
		return p.RefuseError(err, "/vnfPkgId", a.src.Pointer)
	}
	adopter, ok := driver.(lcm.ClusterAdopter)
	if !ok {
		return nil
	}
	p.Cluster, err = adopter.AdoptCluster(ctx, p.Instance, f, a.src.Clusters())
	if err != nil {
		return p.RefuseError(err, "/additionalParams", a.src.Pointer)
	}
	p.Warnings = append(p.Warnings, p.Cluster.Warnings...)
	return nil
}
