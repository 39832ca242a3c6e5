package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Change implements lcm.Infra.
func (d *Driver) Change(ctx context.Context, w *lcm.Execution) error {
	t, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	return t.settle(t.change(ctx))
}

func (t *tick) change(ctx context.Context) error {
	switch t.w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel:
		return t.scale(ctx)
	case sol.LcmOperationChangeFlavour:
		return t.changeFlavour(ctx)
	case sol.LcmOperationHeal:
		return t.heal(ctx)
	case sol.LcmOperationOperate:
		return t.operate(ctx)
	case sol.LcmOperationChangeExtConn:
		return t.changeConnectivity(ctx)
	case sol.LcmOperationChangeVnfpkg:
		return t.changePackage(ctx)
	default:
		return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", t.w.Op.Type)
	}
}

// Restore implements lcm.Infra.
func (d *Driver) Restore(ctx context.Context, w *lcm.Execution) error {
	t, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	return t.settle(t.restore(ctx))
}

func (t *tick) restore(ctx context.Context) error {
	switch t.w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel, sol.LcmOperationChangeFlavour, sol.LcmOperationChangeExtConn:
		return t.restoreStack(ctx)
	case sol.LcmOperationOperate:
		return t.restoreOperate(ctx)
	case sol.LcmOperationChangeVnfpkg:
		return t.restorePackage(ctx)
	default:
		return lcm.Errorf(lcm.CodeUnprocessable, "a %s operation cannot be rolled back", t.w.Op.Type)
	}
}
