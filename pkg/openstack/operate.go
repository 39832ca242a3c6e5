package openstack

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// operate starts or stops the servers of the operation's VNFCs.
func (t *tick) operate(ctx context.Context) error {
	var req sol.OperateVnfRequest
	if err := json.Unmarshal(t.w.Op.Params, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	want := cloud.ServerActive
	if req.ChangeStateTo == sol.VnfOperationalStateStopped {
		want = cloud.ServerStopped
		if err := t.w.WaitGracefully(ctx, t.cfg.GracefulTimeout); err != nil {
			return err
		}
	}
	return t.setStates(ctx, func(sol.VnfcInfo) string { return want })
}

// restoreOperate gives every server of the operation the state back that it had.
func (t *tick) restoreOperate(ctx context.Context) error {
	return t.setStates(ctx, func(c sol.VnfcInfo) string {
		if c.VnfcState == sol.VnfOperationalStateStopped {
			return cloud.ServerStopped
		}
		return cloud.ServerActive
	})
}

// setStates brings the servers of the operation's VNFCs to the states that want says.
func (t *tick) setStates(ctx context.Context, want func(sol.VnfcInfo) string) error {
	scope := t.w.Op.Scope
	if scope == nil {
		return lcm.Errorf(lcm.CodeInternal, "the operation %s does not say which VNFCs it is about", t.w.Op.ID)
	}
	return lcm.Each(ctx, 8, scope.VNFCs, func(ctx context.Context, id string) error {
		c, res, ok := t.stack.Before().VNFC(id)
		if !ok {
			return lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VNFC %s", id)
		}
		to := want(c)
		name := "start server"
		if to == cloud.ServerStopped {
			name = "stop server"
		}
		return t.w.Step(ctx, name, id, func(ctx context.Context, s *lcm.Step) error {
			return t.servers.Reach(ctx, s, id, res.ComputeResource.ResourceID, to)
		})
	})
}
