package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Change implements lcm.Infra.
func (d *Driver) Change(ctx context.Context, w *lcm.Work) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	return j.settle(j.change(ctx))
}

func (j *job) change(ctx context.Context) error {
	switch j.w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel:
		return j.scale(ctx)
	case sol.LcmOperationChangeFlavour:
		return j.changeFlavour(ctx)
	case sol.LcmOperationHeal:
		return j.heal(ctx)
	case sol.LcmOperationOperate:
		return j.operate(ctx)
	case sol.LcmOperationChangeExtConn:
		return j.changeConnectivity(ctx)
	case sol.LcmOperationChangeVnfpkg:
		return j.changePackage(ctx)
	default:
		return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", j.w.Op.Type)
	}
}

// Restore implements lcm.Infra.
func (d *Driver) Restore(ctx context.Context, w *lcm.Work) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	return j.settle(j.restore(ctx))
}

func (j *job) restore(ctx context.Context) error {
	switch j.w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel, sol.LcmOperationChangeFlavour, sol.LcmOperationChangeExtConn:
		return j.restoreStack(ctx)
	case sol.LcmOperationOperate:
		return j.restoreOperate(ctx)
	case sol.LcmOperationChangeVnfpkg:
		return j.restorePackage(ctx)
	default:
		return lcm.Errorf(lcm.CodeUnprocessable, "a %s operation cannot be rolled back", j.w.Op.Type)
	}
}
