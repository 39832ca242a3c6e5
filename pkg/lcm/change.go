package lcm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ChangeFlavour admits a CHANGE_FLAVOUR operation (SOL003 clause 5.4.7).
func (s *Service) ChangeFlavour(ctx context.Context, id string, req sol.ChangeVnfFlavourRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, flavourTask(req, raw))
}

func flavourTask(req sol.ChangeVnfFlavourRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationChangeFlavour, raw: raw, conns: req.VimConnectionInfo, decide: func(d *draft) error {
		model := d.present.VNFD
		f := model.Flavour(req.NewFlavourID)
		switch {
		case f == nil:
			d.refuse("/newFlavourId", "the VNFD has no flavour %q; it has %s", req.NewFlavourID, flavourIDs(model))
			return nil
		case f.ID == d.present.Flavour.ID:
			d.refuse("/newFlavourId", "the VNF has the flavour %q already", f.ID)
			return nil
		}
		d.next = &Origin{VNFD: model, Flavour: f, Package: d.present.Package}
		counts, ok := f.Counts(req.InstantiationLevelID)
		if !ok {
			d.refuse("/instantiationLevelId", "flavour %s has no instantiation level %q", f.ID, req.InstantiationLevelID)
		} else {
			d.scope = scopeTo(d.instance.Instantiated, f, counts, levelOf(f, f.Level(req.InstantiationLevelID)))
		}
		d.bad = append(d.bad, badLinks(f, req.ExtVirtualLinks, req.ExtManagedVirtualLinks)...)
		return nil
	}}
}

// ChangePackage admits a CHANGE_VNFPKG operation (SOL003 clause 5.4.11a).
func (s *Service) ChangePackage(ctx context.Context, id string, req sol.ChangeCurrentVnfPkgRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, packageTask(req, raw))
}

// upgradeType is the only way of changing the package that there is: VNFC by VNFC.
const upgradeType = "RollingUpdate"

func packageTask(req sol.ChangeCurrentVnfPkgRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationChangeVnfpkg, raw: raw, conns: req.VimConnectionInfo, vnfdID: req.VnfdID, decide: func(d *draft) error {
		i := d.instance.Instantiated
		if d.nextID == d.instance.VnfPkgID {
			d.refuse("/vnfdId", "is the VNFD that the VNF has already")
			return nil
		}
		f := d.next.VNFD.Flavour(d.present.Flavour.ID)
		d.next.Flavour = f
		if f == nil {
			d.refuse("/vnfdId", "the VNFD has no flavour %q, which the VNF has; it has %s", d.present.Flavour.ID, flavourIDs(d.next.VNFD))
			return nil
		}
		if t, ok := req.AdditionalParams["upgrade_type"]; ok && t != upgradeType {
			d.refuse("/additionalParams/upgrade_type", "is not %q", upgradeType)
		}
		vdus := d.vdusToUpgrade(req.AdditionalParams["vdu_params"])
		// Those that there are stay; VDUs that are new come with the numbers of the default level.
		counts, _ := f.Counts("")
		levels := levelOf(f, f.Level(""))
		for vdu, n := range countVNFCs(i) {
			if _, ok := counts[vdu]; ok {
				counts[vdu] = n
			}
		}
		for aspect, level := range scaleLevels(i) {
			a := f.Aspect(aspect)
			if a != nil && level > a.MaxScaleLevel {
				d.refuse("/vnfdId", "the VNF has the scale level %d of the aspect %s, and the VNFD only %d", level, aspect, a.MaxScaleLevel)
			}
			if a != nil {
				levels[aspect] = level
			}
		}
		d.bad = append(d.bad, badLinks(f, req.ExtVirtualLinks, req.ExtManagedVirtualLinks)...)
		d.scope = scopeTo(i, f, counts, levels)
		d.scope.VNFCs = vnfcIDs(i, vdus)
		return nil
	}}
}

// vdusToUpgrade reads vdu_params: a list of objects with the vdu_id of a VDU that is to be updated. Without it
// all are.
func (d *draft) vdusToUpgrade(params any) []string {
	const at = "/additionalParams/vdu_params"
	var out []string
	if params == nil {
		for _, v := range d.next.Flavour.VDUs {
			out = append(out, v.Name)
		}
		return out
	}
	list, ok := params.([]any)
	if !ok || len(list) == 0 {
		d.refuse(at, "is not a list of VDUs")
		return nil
	}
	for n, e := range list {
		member, _ := e.(map[string]any)
		id, ok := member["vdu_id"].(string)
		switch {
		case !ok:
			d.refuse(fmt.Sprintf("%s/%d/vdu_id", at, n), "is missing")
		case d.next.Flavour.VDU(id) == nil || d.present.Flavour.VDU(id) == nil:
			d.refuse(fmt.Sprintf("%s/%d/vdu_id", at, n), "there is no VDU %q in both VNFDs", id)
		default:
			out = append(out, id)
		}
	}
	return out
}
