package lcm

import (
	"context"
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Instantiate admits an INSTANTIATE operation (SOL003 clause 5.4.4). raw is the request body as sent.
// Everything that can be known to be wrong is refused here, before anything is created.
func (s *Service) Instantiate(ctx context.Context, id string, req sol.InstantiateVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, instantiateTask(req, raw))
}

func instantiateTask(req sol.InstantiateVnfRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationInstantiate, raw: raw, conns: req.VimConnectionInfo, decide: func(d *draft) error {
		if d.instance.State == sol.InstantiationStateInstantiated {
			return Errorf(CodeConflict, "VNF instance %s is already INSTANTIATED", d.instance.ID).
				WithHint("terminate it first, or create another instance")
		}
		d.instance.VimConnections = d.completed
		own, err := decodeParams(d.raw)
		if err != nil {
			return err
		}
		d.instance.Params = remembered(own)
		f := d.present.VNFD.Flavour(req.FlavourID)
		d.present.Flavour = f
		if f == nil {
			d.refuse("/flavourId", "the VNFD has no flavour %q; it has %s", req.FlavourID, flavourIDs(d.present.VNFD))
			return nil
		}
		if _, ok := f.Counts(req.InstantiationLevelID); !ok {
			d.refuse("/instantiationLevelId", "flavour %s has no instantiation level %q", f.ID, req.InstantiationLevelID)
		}
		d.bad = append(d.bad, badLinks(f, req.ExtVirtualLinks, req.ExtManagedVirtualLinks)...)
		return nil
	}}
}

func flavourIDs(m *vnfd.VNFD) string {
	return listed(m.Flavours, func(f vnfd.Flavour) string { return f.ID })
}

// ofOneOperation lists additionalParams that hold for one operation only. nfv is among them because the VIM remembers it.
var ofOneOperation = []string{
	"nfv", "all", "upgrade_type", "vdu_params", "lcm-operation-coordinate-new-vnf", "lcm-operation-coordinate-old-vnf",
}

// remembered is what an instance remembers of a request's additionalParams.
func remembered(own sol.KeyValuePairs) sol.KeyValuePairs {
	out := mergePairs(nil, own)
	for _, k := range ofOneOperation {
		delete(out, k)
	}
	return out
}

// Terminate admits a TERMINATE operation (SOL003 clause 5.4.8).
func (s *Service) Terminate(ctx context.Context, id string, _ sol.TerminateVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, terminateTask(raw))
}

func terminateTask(raw json.RawMessage) task {
	return task{kind: sol.LcmOperationTerminate, raw: raw, decide: func(*draft) error { return nil }}
}
