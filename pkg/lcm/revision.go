package lcm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// load sets the revisions before and after the operation.
func (w *Execution) load(ctx context.Context, packages Packages) error {
	now, previous, err := revisions(w.Op, w.Instance)
	if err != nil {
		return err
	}
	o, err := loadRevision(ctx, packages, now, w.Op.Kind())
	if err != nil {
		return err
	}
	w.VNFD, w.Flavour, w.Package = o.VNFD, o.Flavour, o.Package
	if previous != nil {
		w.Previous, err = loadRevision(ctx, packages, *previous, w.Op.Kind())
	}
	return err
}

// revisionID names a revision.
type revisionID struct{ vnfPkgID, flavourID string }

// revisions returns the revision that an operation works with now, and the other one where that differs.
func revisions(op *Operation, i *Instance) (now revisionID, previous *revisionID, err error) {
	if op.Kind().Instantiates() {
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(op.Params, &req); err != nil {
			return revisionID{}, nil, fmt.Errorf("decode the operation's request: %w", err)
		}
		return revisionID{i.VnfPkgID, req.FlavourID}, nil, nil
	}
	if op.Before != nil {
		i = op.Before
	}
	before := revisionID{vnfPkgID: i.VnfPkgID}
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

// loadRevision loads one revision. Only an operation that does not require an instantiated VNF works without a flavour.
func loadRevision(ctx context.Context, packages Packages, s revisionID, k *OperationKind) (*Revision, error) {
	model, err := packages.ModelOf(ctx, s.vnfPkgID)
	if err != nil {
		return nil, err
	}
	o := &Revision{VNFD: model}
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
