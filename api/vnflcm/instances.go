package vnflcm

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

// instanceID reads the instance id of the path.
func instanceID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfInstanceId", "VNF instance")
	r.Note(slog.String("vnf_instance_id", id))
	return id, err
}

func (a *API) create(w http.ResponseWriter, r *frame.Request) error {
	req, err := frame.Decode[sol.CreateVnfRequest](r)
	if err != nil {
		return err
	}
	i, err := a.Services.In(r.Principal).CreateInstance(r.Context(), req)
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_instance_id", i.ID))
	w.Header().Set("Location", r.Public(instancePath(i.ID)))
	frame.SetValidators(w, i.Version, i.Updated)
	return frame.WriteJSON(w, http.StatusCreated, a.instance(r.Context(), i, r.Public))
}

func (a *API) get(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	i, err := a.Services.In(r.Principal).Instance(r.Context(), id)
	if err != nil {
		return err
	}
	frame.SetValidators(w, i.Version, i.Updated)
	if frame.NotModified(w, r, i.Version, i.Updated) {
		return nil
	}
	return frame.WriteJSON(w, http.StatusOK, a.instance(r.Context(), i, r.Public))
}

func (a *API) listInstances(w http.ResponseWriter, r *frame.Request) error {
	return frame.List[sol.VnfInstance]{
		Path: Prefix + "/vnf_instances", Selectors: selector.VnfInstances,
		ID: func(i *sol.VnfInstance) string { return i.ID },
		Fetch: func(ctx context.Context, q frame.Fetch) ([]sol.VnfInstance, error) {
			is, err := a.Services.In(r.Principal).Instances(ctx, lcm.Query{After: q.After, Limit: q.Limit, Brief: brief(q, selector.VnfInstances.ExcludedByDefault())})
			if err != nil {
				return nil, err
			}
			out := make([]sol.VnfInstance, len(is))
			for n, i := range is {
				out[n] = a.instance(ctx, i, r.Public)
			}
			return out, nil
		},
	}.Serve(w, r)
}

// brief says that nothing is wanted of what lists leave out by default, so that the store need not load it.
func brief(q frame.Fetch, attributes []string) bool { return !slices.ContainsFunc(attributes, q.Wants) }

func (a *API) delete(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	ifVersion, err := a.condition(r, id)
	if err != nil {
		return err
	}
	if err := a.Services.In(r.Principal).DeleteInstance(r.Context(), id, ifVersion); err != nil {
		return err
	}
	return frame.NoContent(w)
}

// condition is the version that the instance has to have still, nil when the request does not depend on it.
func (a *API) condition(r *frame.Request, id string) (*int64, error) {
	if !r.Conditional() {
		return nil, nil
	}
	i, err := a.Services.In(r.Principal).Instance(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if err := r.Precondition(i.Version, i.Updated); err != nil {
		return nil, err
	}
	return &i.Version, nil
}

// tasks are the routes that start operations, one for each kind.
func (a *API) tasks() []frame.Route {
	var out []frame.Route
	for _, k := range lcm.OperationKinds() {
		route := frame.Route{Method: k.Method(), Path: "/vnf_instances/{vnfInstanceId}", Handle: a.submit(k), Consumes: frame.Patches}
		if k.Path != "" {
			route.Path, route.Consumes = route.Path+"/"+k.Path, frame.JSON
		}
		out = append(out, route)
	}
	return out
}

// submit starts an operation of a kind.
func (a *API) submit(k *lcm.OperationKind) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		id, err := instanceID(r)
		if err != nil {
			return err
		}
		if err := r.Decode(k.Request()); err != nil {
			return err
		}
		task, err := lcm.ParseTask(k.Type, r.Raw)
		if err != nil {
			return err
		}
		if k.Path == "" { // only the instance itself has a version
			if task.IfVersion, err = a.condition(r, id); err != nil {
				return err
			}
		}
		op, err := a.Services.In(r.Principal).Submit(r.Context(), id, task)
		return admitted(w, r, op, err)
	}
}

// admitted answers a task: 202 and where the operation is.
func admitted(w http.ResponseWriter, r *frame.Request, op *lcm.Operation, err error) error {
	if err != nil {
		return err
	}
	r.Note(slog.String("op_id", op.ID))
	return frame.Accepted(w, r.Public(operationPath(op.ID)))
}
