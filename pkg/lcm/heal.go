package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Heal admits a HEAL operation (SOL003 clause 5.4.9; vnfcInstanceId of SOL002).
func (s *Service) Heal(ctx context.Context, id string, req sol.HealVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, healTask(req, raw))
}

func healTask(req sol.HealVnfRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationHeal, raw: raw, decide: func(d *draft) error {
		i := d.instance.Instantiated
		all, given := req.AdditionalParams["all"]
		whole, ok := all.(bool)
		if given && !ok && all != nil {
			d.refuse("/additionalParams/all", "is not a boolean")
		}
		scope := stay(i, d.present.Flavour.ID)
		for n, id := range req.VnfcInstanceID {
			switch _, _, found := d.instance.VNFC(id); {
			case !found:
				d.refuse(fmt.Sprintf("/vnfcInstanceId/%d", n), "the VNF has no VNFC %q; it has %s", id, listed(i.VnfcInfo, func(c sol.VnfcInfo) string { return c.ID }))
			case !slices.Contains(scope.VNFCs, id):
				scope.VNFCs = append(scope.VNFCs, id)
			}
		}
		if len(d.bad) > 0 {
			return nil
		}
		if len(req.VnfcInstanceID) == 0 {
			scope.VNFCs, scope.Whole = vnfcIDs(i, nil), whole
		}
		d.scope = scope
		return nil
	}}
}

// Operate admits an OPERATE operation (SOL003 clause 5.4.10) on the whole VNF.
func (s *Service) Operate(ctx context.Context, id string, req sol.OperateVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, operateTask(req, raw))
}

func operateTask(req sol.OperateVnfRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationOperate, raw: raw, decide: func(d *draft) error {
		i := d.instance.Instantiated
		switch req.ChangeStateTo {
		case sol.VnfOperationalStateStarted, sol.VnfOperationalStateStopped:
		default:
			d.refuse("/changeStateTo", "is neither %s nor %s", sol.VnfOperationalStateStarted, sol.VnfOperationalStateStopped)
			return nil
		}
		if start := req.ChangeStateTo == sol.VnfOperationalStateStarted; start || req.StopType != sol.StopTypeGraceful {
			if start && req.StopType != "" {
				d.refuse("/stopType", "has no meaning when the VNF is to be started")
			}
			if req.GracefulStopTimeout != 0 {
				d.refuse("/gracefulStopTimeout", "has no meaning without a GRACEFUL stop")
			}
		}
		other := func(c sol.VnfcInfo) bool { return c.VnfcState != req.ChangeStateTo }
		if i.VnfState == req.ChangeStateTo && !slices.ContainsFunc(i.VnfcInfo, other) {
			return Errorf(CodeConflict, "VNF instance %s is already %s", d.instance.ID, req.ChangeStateTo)
		}
		d.scope = stay(i, d.present.Flavour.ID)
		d.scope.VNFCs = vnfcIDs(i, nil)
		return nil
	}}
}

// ChangeExtConn admits a CHANGE_EXT_CONN operation (SOL003 clause 5.4.11).
func (s *Service) ChangeExtConn(ctx context.Context, id string, req sol.ChangeExtVnfConnectivityRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, connectivityTask(req, raw))
}

func connectivityTask(req sol.ChangeExtVnfConnectivityRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationChangeExtConn, raw: raw, conns: req.VimConnectionInfo, decide: func(d *draft) error {
		if len(req.ExtVirtualLinks) == 0 {
			d.refuse("/extVirtualLinks", "is empty: nothing would change")
		}
		d.bad = append(d.bad, badLinks(d.present.Flavour, req.ExtVirtualLinks, nil)...)
		d.scope = stay(d.instance.Instantiated, d.present.Flavour.ID)
		return nil
	}}
}
