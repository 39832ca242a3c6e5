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
func (d *Driver) Halt(ctx context.Context, w *lcm.Work, mode sol.CancelModeType) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	// The operation may be cancelled again after a retry, and forcefully after gracefully: each time is a step of its own.
	target := fmt.Sprintf("%s, %s, try %d", j.stack.Name(), strings.ToLower(string(mode)), w.Op.Tries)
	return j.settle(w.Step(ctx, "halt", target, func(ctx context.Context, s *lcm.Step) error {
		if err := j.images().Halt(ctx, mode); err != nil {
			return err
		}
		if err := j.coordinator().Halt(mode); err != nil {
			return err
		}
		groups, err := j.signalledGroups()
		if err != nil {
			return err
		}
		if err := j.stack.Halt(ctx, s, mode, groups); err != nil {
			return err
		}
		return j.serversHalted(ctx)
	}))
}

// serversHalted waits for what Nova still does to the servers of an OPERATE.
func (j *job) serversHalted(ctx context.Context) error {
	if j.w.Op.Type != sol.LcmOperationOperate || j.w.Op.Scope == nil {
		return nil
	}
	return lcm.Each(ctx, 8, j.w.Op.Scope.VNFCs, func(ctx context.Context, id string) error {
		_, res, ok := j.stack.Before().VNFC(id)
		if !ok {
			return nil
		}
		sv, err := j.cloud.ReadServer(ctx, res.ComputeResource.ResourceID)
		if cloud.NotFound(err) || err == nil && sv.Task == "" {
			return nil
		}
		if err != nil {
			return err
		}
		return lcm.Wait(time.Second, fmt.Sprintf("VNFC %s: server %s", id, sv))
	})
}
