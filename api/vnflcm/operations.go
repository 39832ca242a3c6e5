package vnflcm

import (
	"context"
	"iter"
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

// operationID reads the operation id of the path.
func operationID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfLcmOpOccId", "VNF LCM operation occurrence")
	r.Note(slog.String("op_id", id))
	return id, err
}

func (a *edition) operation(w http.ResponseWriter, r *frame.Request) error {
	id, err := operationID(r)
	if err != nil {
		return err
	}
	s := a.Services.In(r.Principal)
	return serveOne(w, r, id, s.OperationValidator, s.OperationDocument, a.presentOperation)
}

// listOperations serves the list of operations, whose type is T in the edition.
func listOperations[T any](a *edition, selectors selector.Spec[T]) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		return frame.Resources[T]{
			Path: a.prefix + operationsPart, Selectors: selectors, Query: queryOn(lcm.OperationColumns),
			Fetch: func(ctx context.Context, q lcm.Query) iter.Seq2[frame.Resource, error] {
				var buf buffer
				present := func(d *lcm.OperationDocument) frame.Resource { return a.operationIn(d, &buf) }
				return presentAll(a.Services.In(r.Principal).OperationDocuments(ctx, q), present)
			},
		}.Serve(w, r)
	}
}

// unchanged returns the service for an operation, which has to have the version that If-Match or If-Unmodified-Since
// means until it is changed.
func (a *edition) unchanged(r *frame.Request, id string) (*admission.Service, error) {
	s := a.Services.In(r.Principal)
	v, err := condition(r, id, s.OperationValidator)
	return s.If(v), err
}

// steer serves retry and rollback: 202 without a body.
func (a *edition) steer(ev lcm.Event) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		id, err := operationID(r)
		if err != nil {
			return err
		}
		s, err := a.unchanged(r, id)
		if err != nil {
			return err
		}
		if _, err := s.Steer(r.Context(), id, ev); err != nil {
			return err
		}
		return frame.Accepted(w, "")
	}
}

// fail serves the fail task: 200 with the operation.
func (a *edition) fail(w http.ResponseWriter, r *frame.Request) error {
	id, err := operationID(r)
	if err != nil {
		return err
	}
	s, err := a.unchanged(r, id)
	if err != nil {
		return err
	}
	op, err := s.Steer(r.Context(), id, lcm.EventFail)
	if err != nil {
		return err
	}
	d, err := render.Operation(op)
	if err != nil {
		return err
	}
	frame.SetValidators(w, op.Version, op.Updated)
	return frame.WriteResource(w, r, http.StatusOK, a.presentOperation(d))
}

// cancel serves the cancel task: 202 without a body. The operation says when it is cancelled.
func (a *edition) cancel(w http.ResponseWriter, r *frame.Request) error {
	id, err := operationID(r)
	if err != nil {
		return err
	}
	req, err := frame.Decode[sol.CancelMode](r)
	if err != nil {
		return err
	}
	s, err := a.unchanged(r, id)
	if err != nil {
		return err
	}
	if _, err := s.Cancel(r.Context(), id, req.CancelMode); err != nil {
		return err
	}
	return frame.Accepted(w, "")
}
