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

// instanceID reads the instance id of the path.
func instanceID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfInstanceId", "VNF instance")
	r.Note(slog.String("vnf_instance_id", id))
	return id, err
}

func (a *edition) create(w http.ResponseWriter, r *frame.Request) error {
	req, err := frame.Decode[sol.CreateVnfRequest](r)
	if err != nil {
		return err
	}
	i, err := a.Services.In(r.Principal).CreateInstance(r.Context(), req)
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_instance_id", i.ID))
	d, err := render.Instance(i)
	if err != nil {
		return err
	}
	w.Header().Set("Location", r.Public(a.instancePath(i.ID)))
	frame.SetValidators(w, i.Version, i.Updated)
	return frame.WriteResource(w, r, http.StatusCreated, a.instance(r.Context(), d, nil))
}

func (a *edition) get(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	s := a.Services.In(r.Principal)
	present := func(d *lcm.InstanceDocument) frame.Resource { return a.instance(r.Context(), d, nil) }
	return serveOne(w, r, id, s.InstanceValidator, s.InstanceDocument, present)
}

// serveOne serves a GET of one resource: 304 if the client has its version, which reads only the version.
func serveOne[D any](
	w http.ResponseWriter, r *frame.Request, id string, check func(context.Context, string) (lcm.Validator, error),
	read func(context.Context, string) (*D, error), present func(*D) frame.Resource,
) error {
	if r.ConditionalGet() {
		v, err := check(r.Context(), id)
		if err != nil {
			return err
		}
		frame.SetValidators(w, v.Version, v.Updated)
		if frame.NotModified(w, r, v.Version, v.Updated) {
			return nil
		}
	}
	d, err := read(r.Context(), id)
	if err != nil {
		return err
	}
	resource := present(d)
	frame.SetValidators(w, resource.Version, resource.Updated)
	return frame.WriteResource(w, r, http.StatusOK, resource)
}

// listInstances serves the list of instances, whose type is T in the edition.
func listInstances[T any](a *edition, selectors selector.Spec[T]) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		return frame.Resources[T]{
			Path: a.prefix + instancesPart, Selectors: selectors, Query: queryOn(lcm.InstanceColumns),
			Fetch: func(ctx context.Context, q lcm.Query) iter.Seq2[frame.Resource, error] {
				var buf buffer
				present := func(d *lcm.InstanceDocument) frame.Resource { return a.instance(ctx, d, &buf) }
				return presentAll(a.Services.In(r.Principal).InstanceDocuments(ctx, q), present)
			},
		}.Serve(w, r)
	}
}

func (a *edition) delete(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	ifVersion, err := condition(r, id, a.Services.In(r.Principal).InstanceValidator)
	if err != nil {
		return err
	}
	if err := a.Services.In(r.Principal).DeleteInstance(r.Context(), id, ifVersion); err != nil {
		return err
	}
	return frame.NoContent(w)
}

// condition is the version that the resource has to have still, nil when the request does not depend on it.
func condition(
	r *frame.Request, id string, read func(context.Context, string) (lcm.Validator, error),
) (*int64, error) {
	if !r.Conditional() {
		return nil, nil
	}
	v, err := read(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if err := r.Precondition(v.Version, v.Updated); err != nil {
		return nil, err
	}
	return &v.Version, nil
}

// tasks are the routes that start operations, one for each kind.
func (a *edition) tasks() []frame.Route {
	var out []frame.Route
	for _, k := range lcm.OperationKinds() {
		if !a.has(k) {
			continue
		}
		route := frame.Route{
			Method: k.Method(), Path: "/vnf_instances/{vnfInstanceId}", Handle: a.submit(k), Consumes: frame.Patches,
		}
		if k.Path != "" {
			route.Path, route.Consumes = route.Path+"/"+k.Path, frame.JSON
			route.Replay = a.replaySubmit
		}
		out = append(out, route)
	}
	return out
}

// submit starts an operation of a kind.
func (a *edition) submit(k *lcm.OperationKind) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		id, err := instanceID(r)
		if err != nil {
			return err
		}
		s := a.Services.In(r.Principal)
		pointer, err := a.form.request(r, s, k, id)
		if err != nil {
			return err
		}
		op, err := admit(r, s, k, id)
		if err != nil {
			return pointedAt(err, pointer)
		}
		r.Note(slog.String("op_id", op.ID))
		return frame.Accepted(w, r.Public(a.operationPath(op.ID)))
	}
}

// admit submits the task of a request that has the form of version 2.
func admit(r *frame.Request, s *admission.Service, k *lcm.OperationKind, id string) (*lcm.Operation, error) {
	if err := r.Decode(k.Request()); err != nil {
		return nil, err
	}
	task, err := lcm.ParseTask(k.Type, r.Raw)
	if err != nil {
		return nil, err
	}
	if task.IfVersion, err = condition(r, id, s.InstanceValidator); err != nil {
		return nil, err
	}
	return s.Submit(r.Context(), id, task)
}
