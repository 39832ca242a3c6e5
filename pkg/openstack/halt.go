package openstack

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Halt implements lcm.Infra.
func (d *Driver) Halt(ctx context.Context, w *lcm.Execution, mode sol.CancelModeType) error {
	begun, err := w.Begun(ctx)
	switch {
	case err != nil:
		return err
	case !begun: // a step is recorded before it changes anything, so the VIM need not be asked
		return lcm.ErrUnchanged
	}
	return d.each(ctx, w, func(ctx context.Context, t *tick) error {
		halt := func(ctx context.Context) error { return t.halt(ctx, mode) }
		if mode == sol.CancelModeForceful {
			return t.cloud.WhileAnswering(ctx, d.cfg.CancelPatience, halt)
		}
		return halt(ctx)
	})
}

func (t *tick) halt(ctx context.Context, mode sol.CancelModeType) error {
	// The operation may be cancelled again after a retry, and forcefully after gracefully: each time is a step of its
	// own.
	target := fmt.Sprintf("%s, %s, try %d", t.stack.Name(), strings.ToLower(string(mode)), t.w.Op.Try)
	return t.w.Step(ctx, "halt", target, func(ctx context.Context, s *lcm.Step) error {
		if err := t.images().Halt(ctx, mode); err != nil {
			return err
		}
		if err := t.coordinator().Halt(mode); err != nil {
			return err
		}
		groups, err := t.signalledGroups()
		if err != nil {
			return err
		}
		if err := t.stack.Halt(ctx, s, mode, groups); err != nil {
			return err
		}
		return t.serversHalted(ctx, mode)
	})
}

// serversHalted waits for what Nova still does to the servers of an OPERATE, and gracefully for the images that it
// makes for a CREATE_SNAPSHOT.
func (t *tick) serversHalted(ctx context.Context, mode sol.CancelModeType) error {
	typ := t.w.Op.Type
	images := typ == sol.LcmOperationCreateSnapshot && mode == sol.CancelModeGraceful
	if typ != sol.LcmOperationOperate && !images || t.w.Op.Scope == nil {
		return nil
	}
	return lcm.Each(ctx, 8, t.w.Op.Scope.VNFCs, func(ctx context.Context, id string) error {
		_, res, ok := t.stack.Before().VNFC(id)
		if !ok {
			return nil
		}
		sv, err := t.cloud.ReadServer(ctx, res.ComputeResource.ResourceID)
		if cloud.NotFound(err) || err == nil && sv.Task == "" {
			return nil
		}
		if err != nil {
			return err
		}
		return lcm.Wait(time.Second, fmt.Sprintf("VNFC %s: server %s", id, sv))
	})
}
