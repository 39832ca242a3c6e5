package vnflcm

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

// operationID reads the operation id of the path.
func operationID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfLcmOpOccId", "VNF LCM operation occurrence")
	r.Note(slog.String("op_id", id))
	return id, err
}

func (a *API) operation(w http.ResponseWriter, r *frame.Request) error {
	id, err := operationID(r)
	if err != nil {
		return err
	}
	op, err := a.Services.In(r.Principal).Operation(r.Context(), id)
	if err != nil {
		return err
	}
	frame.SetValidators(w, op.Version, op.Updated)
	if frame.NotModified(w, r, op.Version, op.Updated) {
		return nil
	}
	return frame.WriteJSON(w, http.StatusOK, presentOperation(op, r.Public))
}

func (a *API) listOperations(w http.ResponseWriter, r *frame.Request) error {
	return frame.List[sol.VnfLcmOpOcc]{
		Path: Prefix + "/vnf_lcm_op_occs", Selectors: selector.VnfLcmOpOccs,
		ID: func(o *sol.VnfLcmOpOcc) string { return o.ID },
		Fetch: func(ctx context.Context, q frame.Fetch) ([]sol.VnfLcmOpOcc, error) {
			ops, err := a.Services.In(r.Principal).Operations(ctx, operationQuery(q))
			if err != nil {
				return nil, err
			}
			out := make([]sol.VnfLcmOpOcc, len(ops))
			for n, op := range ops {
				out[n] = presentOperation(op, r.Public)
			}
			return out, nil
		},
	}.Serve(w, r)
}

// operationQuery lets the store answer what it has an index for; the filter is applied again to the rest.
func operationQuery(q frame.Fetch) lcm.Query {
	out := lcm.Query{After: q.After, Limit: q.Limit, Brief: brief(q, selector.VnfLcmOpOccs.ExcludedByDefault())}
	for _, e := range q.Filter.Exprs {
		name, _ := e.Attribute()
		switch {
		case name == "vnfInstanceId" && e.Op == filter.Eq && out.InstanceID == "" && uuid.Validate(e.Values[0]) == nil:
			out.InstanceID = e.Values[0]
		case name == "operationState" && (e.Op == filter.Eq || e.Op == filter.In) && out.States == nil:
			for _, v := range e.Values {
				out.States = append(out.States, sol.LcmOperationStateType(v))
			}
		}
	}
	return out
}

// steer serves retry and rollback: 202 without a body.
func (a *API) steer(ev lcm.Event) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		id, err := operationID(r)
		if err != nil {
			return err
		}
		if _, err := a.Services.In(r.Principal).Steer(r.Context(), id, ev); err != nil {
			return err
		}
		return frame.Accepted(w, "")
	}
}

// fail serves the fail task: 200 with the operation.
func (a *API) fail(w http.ResponseWriter, r *frame.Request) error {
	id, err := operationID(r)
	if err != nil {
		return err
	}
	op, err := a.Services.In(r.Principal).Steer(r.Context(), id, lcm.EventFail)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, presentOperation(op, r.Public))
}

// cancel serves the cancel task: 202 without a body. The operation says when it is cancelled.
func (a *API) cancel(w http.ResponseWriter, r *frame.Request) error {
	id, err := operationID(r)
	if err != nil {
		return err
	}
	req, err := frame.Decode[sol.CancelMode](r)
	if err != nil {
		return err
	}
	if _, err := a.Services.In(r.Principal).Cancel(r.Context(), id, req.CancelMode); err != nil {
		return err
	}
	return frame.Accepted(w, "")
}
