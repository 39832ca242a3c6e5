package gybe

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/adoption"
)

func (a *API) adopt(w http.ResponseWriter, r *frame.Request) error {
	req, err := frame.Decode[gybeapi.AdoptionRequest](r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), vimPatience)
	defer cancel()
	p, err := a.Services.In(r.Principal).Adopt(ctx, adoption.Request{
		System: req.Source.System, Address: req.Source.Address, Version: req.Source.APIVersion,
		Instance: req.VnfInstance, Operations: req.Operations, Vims: req.Vims, PackageID: req.VnfPkgID,
		Connections: req.VimConnections, AdditionalParams: req.AdditionalParams, Name: req.VnfInstanceName,
		DryRun: req.DryRun,
	})
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_instance_id", p.Instance.ID))
	if err := p.Err(); err != nil && !req.DryRun {
		return err
	}
	status := http.StatusOK
	if p.Adopted && !p.Already {
		status = http.StatusCreated
		w.Header().Set("Location", r.Public("/vnflcm/v2/vnf_instances/"+p.Instance.ID))
	}
	return frame.WriteJSON(w, status, adoptionPlanOf(p))
}

func adoptionPlanOf(p *adoption.Plan) gybeapi.AdoptionPlan {
	i := p.Instance
	out := gybeapi.AdoptionPlan{
		Package:  gybeapi.AdoptedPackage{ID: i.VnfPkgID, VnfdID: i.VnfdID, ProductName: i.ProductName},
		Instance: gybeapi.AdoptedInstance{ID: i.ID, Name: i.Name, VnfdID: i.VnfdID},
		Stack:    gybeapi.AdoptedStack{Name: p.Primary.Name, ID: p.Primary.ID, Status: p.Primary.Status},
		Vnfcs: each(p.VNFCs, func(v adoption.VNFC) gybeapi.AdoptedVNFC {
			return gybeapi.AdoptedVNFC{
				ID: v.ID, VduID: v.VDU, ServerID: v.Server, Name: v.Name, State: v.State, Status: v.Status,
			}
		}),
		Update: gybeapi.AdoptionUpdate{
			Add: each(p.Update.Add, resourceOf), Remove: each(p.Update.Remove, resourceOf),
			Replace: each(p.Update.Replace, resourceOf), Change: each(p.Update.Change, resourceOf),
		},
		Warnings: list(p.Warnings),
		Refusals: each(p.Refusals, func(r adoption.Refusal) gybeapi.AdoptionRefusal {
			return gybeapi.AdoptionRefusal{Pointer: r.Pointer, Detail: r.Detail, Hint: r.Hint}
		}),
		Adopted: p.Adopted, AlreadyAdopted: p.Already,
	}
	if info := i.Instantiated; info != nil {
		out.Instance.FlavourID = info.FlavourID
		out.Links = len(info.ExtVirtualLinkInfo) + len(info.ExtManagedVirtualLinkInfo) +
			len(info.VnfVirtualLinkResourceInfo)
		out.Storages = len(info.VirtualStorageResourceInfo)
		out.Instance.Levels = map[string]int{}
		for _, s := range info.ScaleStatus {
			out.Instance.Levels[s.AspectID] = s.ScaleLevel
		}
	}
	out.Cluster = adoptedClusterOf(p.Cluster)
	return out
}

func adoptedClusterOf(c *lcm.AdoptedCluster) *gybeapi.AdoptedCluster {
	if c == nil {
		return nil
	}
	out := &gybeapi.AdoptedCluster{
		Name: c.Name, Endpoint: c.Endpoint, Nodes: c.Nodes, Access: gybeapi.ClusterUnverified,
	}
	if c.Vim != nil {
		out.Access = gybeapi.ClusterVerified
	}
	return out
}
