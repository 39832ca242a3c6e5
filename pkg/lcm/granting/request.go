package granting

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Request makes the grant request of an operation. publicURL is how the NFVO reaches this VNFM's API. The request holds
// no secrets: members of additionalParams that are secret are left out.
func Request(w *lcm.Execution, publicURL string) (*sol.GrantRequest, error) {
	p, err := planOf(w)
	if err != nil {
		return nil, err
	}
	op := w.Op
	r := &sol.GrantRequest{
		VnfInstanceID: op.InstanceID, VnfLcmOpOccID: op.ID, VnfdID: w.VNFD.ID, Operation: op.Type,
		IsAutomaticInvocation: op.Automatic,
		AddResources:          definitions(p.add), RemoveResources: definitions(p.remove),
		UpdateResources:      definitions(p.update),
		PlacementConstraints: p.placement(), VimConstraints: p.vimConstraints(),
		AdditionalParams: redact.New(op.SecretNames...).Pairs(p.body.AdditionalParams),
		Links: sol.GrantRequestLinks{
			VnfLcmOpOcc: sol.Link{Href: publicURL + "/vnflcm/v2/vnf_lcm_op_occs/" + op.ID},
			VnfInstance: sol.Link{Href: publicURL + "/vnflcm/v2/vnf_instances/" + op.InstanceID},
		},
	}
	if w.Previous != nil && w.Previous.VNFD.ID != w.VNFD.ID {
		r.VnfdID, r.DstVnfdID = w.Previous.VNFD.ID, w.VNFD.ID
	}
	switch op.Type { //nolint:exhaustive // the others keep the flavour
	case sol.LcmOperationInstantiate:
		r.FlavourID, r.InstantiationLevelID = p.after.ID, p.body.InstantiationLevelID
	case sol.LcmOperationChangeFlavour:
		r.FlavourID = p.after.ID
	}
	return r, nil
}

// body are the members of requests that decide on resources; all operations spell them alike.
type body struct {
	InstantiationLevelID   string                          `json:"instantiationLevelId"`
	ExtVirtualLinks        []sol.ExtVirtualLinkData        `json:"extVirtualLinks"`
	ExtManagedVirtualLinks []sol.ExtManagedVirtualLinkData `json:"extManagedVirtualLinks"`
	AdditionalParams       sol.KeyValuePairs               `json:"additionalParams"`
}

// plan is what an operation does to the resources of a VNF.
type plan struct {
	w    *lcm.Execution
	body body
	// before and after are the flavours; before is nil for an instantiation.
	before, after *vnfd.Flavour
	has           present
	add           []resource
	remove        []resource
	update        []resource
}

// resource is a resource definition with its place in the VNF.
type resource struct {
	sol.ResourceDefinition
	vdu   string // of a VNFC and its resources
	index int    // of the VNFC
}

func definitions(list []resource) []sol.ResourceDefinition {
	var out []sol.ResourceDefinition
	for _, r := range list {
		out = append(out, r.ResourceDefinition)
	}
	return out
}

// planOf computes what the operation does.
func planOf(w *lcm.Execution) (*plan, error) {
	if w.Flavour == nil || w.VNFD == nil {
		return nil, lcm.Errorf(lcm.CodeInternal, "the operation %s has no flavour", w.Op.ID)
	}
	p := &plan{w: w, after: w.Flavour}
	if len(w.Op.Params) > 0 {
		if err := json.Unmarshal(w.Op.Params, &p.body); err != nil {
			return nil, fmt.Errorf("decode the operation's request: %w", err)
		}
	}
	if !w.Op.Kind().Instantiates() {
		p.before = p.after
	}
	if w.Previous != nil && w.Previous.Flavour != nil {
		p.before = w.Previous.Flavour
	}
	i := w.Instance
	if w.Op.Before != nil {
		i = w.Op.Before
	}
	p.has = presentOf(i)
	added, err := w.Additions()
	if err != nil {
		return nil, err
	}
	for _, v := range p.after.VDUs {
		for n := range added[v.Name].Count {
			p.addVNFC(v.Name, added[v.Name].First+n, everything)
		}
	}
	if w.Op.Kind().Instantiates() {
		p.addLinks(func(string) bool { return true })
		return p, nil
	}
	p.change()
	p.nameVNFDs()
	return p, nil
}

// change plans what an operation does to resources that exist.
func (p *plan) change() {
	scope := p.w.Op.Scope
	if p.w.Op.Type == sol.LcmOperationTerminate {
		p.removeAll()
		return
	}
	if scope == nil {
		return
	}
	for _, id := range scope.Remove {
		p.removeVNFC(id)
	}
	for _, id := range scope.Replace {
		p.replaceVNFC(id, false)
	}
	untouched := func(id string) bool {
		return !slices.Contains(scope.Remove, id) && !slices.Contains(scope.Replace,
			id)
	}
	switch p.w.Op.Type { //nolint:exhaustive // SCALE and SCALE_TO_LEVEL add and remove
	case sol.LcmOperationHeal:
		p.heal(scope)
	case sol.LcmOperationOperate, sol.LcmOperationCreateSnapshot, sol.LcmOperationRevertToSnapshot:
		for _, id := range scope.VNFCs {
			p.updateVNFC(id)
		}
	case sol.LcmOperationChangeExtConn:
		p.updatePorts()
	case sol.LcmOperationChangeVnfpkg, sol.LcmOperationChangeFlavour:
		for _, c := range p.has.vnfcs {
			if untouched(c.ID) && (len(scope.VNFCs) == 0 || slices.Contains(scope.VNFCs, c.ID)) {
				p.updateVNFC(c.ID)
			}
		}
		p.changeLinks()
	}
}

// heal plans the replacement of VNFCs, or of everything.
func (p *plan) heal(scope *lcm.Scope) {
	if !scope.Whole {
		for _, id := range scope.VNFCs {
			p.replaceVNFC(id, scope.Storages)
		}
		return
	}
	p.removeAll()
	for _, v := range p.after.VDUs {
		for n := range scope.Counts[v.Name] {
			p.addVNFC(v.Name, n, everything)
		}
	}
	p.addLinks(func(string) bool { return true })
}

// nameVNFDs says to which VNFD the definitions refer, if the operation changes it.
func (p *plan) nameVNFDs() {
	if p.w.Previous == nil || p.w.Previous.VNFD.ID == p.w.VNFD.ID {
		return
	}
	for _, list := range []struct {
		of []resource
		id string
	}{{p.add, p.w.VNFD.ID}, {p.update, p.w.VNFD.ID}, {p.remove, p.w.Previous.VNFD.ID}} {
		for n := range list.of {
			list.of[n].VnfdID = list.id
		}
	}
}
