package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Change implements lcm.Infra.
func (d *Driver) Change(ctx context.Context, w *lcm.Execution) error {
	switch w.Op.Type {
	case sol.LcmOperationChangeVnfpkg:
		return d.exchange(ctx, w, (*tick).changePackage)
	case sol.LcmOperationChangeFlavour:
		return d.exchange(ctx, w, (*tick).changeFlavour)
	default:
	}
	return d.each(ctx, w, func(ctx context.Context, t *tick) error { return t.change(ctx) })
}

func (t *tick) change(ctx context.Context) error {
	switch t.w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel:
		return t.scale(ctx)
	case sol.LcmOperationHeal:
		return t.heal(ctx)
	case sol.LcmOperationOperate:
		return t.operate(ctx)
	case sol.LcmOperationChangeExtConn:
		return t.changeConnectivity(ctx)
	case sol.LcmOperationCreateSnapshot:
		return t.createSnapshot(ctx)
	case sol.LcmOperationRevertToSnapshot:
		return t.revert(ctx)
	default:
		return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", t.w.Op.Type)
	}
}

// Restore implements lcm.Infra.
func (d *Driver) Restore(ctx context.Context, w *lcm.Execution) error {
	switch w.Op.Type {
	case sol.LcmOperationChangeVnfpkg:
		return d.exchange(ctx, w, (*tick).restorePackage)
	case sol.LcmOperationChangeFlavour:
		return d.exchange(ctx, w, (*tick).restoreFlavour)
	default:
	}
	return d.each(ctx, w, func(ctx context.Context, t *tick) error { return t.restore(ctx) })
}

func (t *tick) restore(ctx context.Context) error {
	switch t.w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel, sol.LcmOperationChangeExtConn:
		return t.restoreStack(ctx)
	case sol.LcmOperationOperate:
		return t.restoreOperate(ctx)
	case sol.LcmOperationCreateSnapshot:
		return t.snapshots().Remove(ctx)
	default:
		return lcm.Errorf(lcm.CodeUnprocessable, "a %s operation cannot be rolled back", t.w.Op.Type)
	}
}
