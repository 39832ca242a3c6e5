package lcm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// load sets what the instance is made from on both sides of the operation.
func (w *Work) load(ctx context.Context, packages Packages) error {
	now, former, err := sides(w.Op, w.Instance)
	if err != nil {
		return err
	}
	o, err := loadOrigin(ctx, packages, now, w.Op.Kind())
	if err != nil {
		return err
	}
	w.VNFD, w.Flavour, w.Package = o.VNFD, o.Flavour, o.Package
	if former != nil {
		w.Former, err = loadOrigin(ctx, packages, *former, w.Op.Kind())
	}
	return err
}

// side names what an instance is made from before or after an operation.
type side struct{ vnfPkgID, flavourID string }

// sides says what an operation works with now, and what is on its other side where that differs.
func sides(op *Operation, i *Instance) (now side, former *side, err error) {
	if op.Kind().Instantiates() {
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(op.Params, &req); err != nil {
			return side{}, nil, fmt.Errorf("decode the operation's request: %w", err)
		}
		return side{i.VnfPkgID, req.FlavourID}, nil, nil
	}
	if op.Before != nil {
		i = op.Before
	}
	before := side{vnfPkgID: i.VnfPkgID}
	if i.Instantiated != nil {
		before.flavourID = i.Instantiated.FlavourID
	}
	after := before
	if op.Scope != nil {
		after.flavourID = op.Scope.Flavour
	}
	after.vnfPkgID = cmp.Or(op.VnfPkgID, after.vnfPkgID)
	switch {
	case after == before:
		return before, nil, nil
	case op.State == sol.LcmOperationStateRollingBack:
		return before, &after, nil
	}
	return after, &before, nil
}

// loadOrigin loads one side. Only an operation that does not require an instantiated VNF works without a flavour.
func loadOrigin(ctx context.Context, packages Packages, s side, k *OperationKind) (*Origin, error) {
	model, err := packages.ModelOf(ctx, s.vnfPkgID)
	if err != nil {
		return nil, err
	}
	o := &Origin{VNFD: model}
	if o.Package, err = packages.Files(ctx, s.vnfPkgID); err != nil {
		return nil, err
	}
	o.Flavour = model.Flavour(s.flavourID)
	switch {
	case o.Flavour != nil || s.flavourID == "" && k.Requires == "":
		return o, nil
	case s.flavourID == "":
		return nil, Errorf(CodeConflict, "the instance has no record of an instantiation")
	}
	return nil, Errorf(CodeUnprocessable, "the VNFD %s has no flavour %q", model.ID, s.flavourID)
}
