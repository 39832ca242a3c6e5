package gybe

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// lifecycle holds the schemas of the requests that can be planned.
var lifecycle = frame.Served(openapi.VnfLcmV2)

// instancePath is the path of a VNF instance in lifecycle.
const instancePath = "/vnf_instances/{vnfInstanceId}"

// vimPatience bounds how long a VIM may be asked for one answer: the server cuts a request that lasts longer than a
// minute.
const vimPatience = 45 * time.Second

func (a *API) plan(w http.ResponseWriter, r *frame.Request) error {
	req, err := frame.Decode[gybeapi.PlanRequest](r)
	if err != nil {
		return err
	}
	if uuid.Validate(req.VnfInstanceID) != nil {
		return lcm.Errorf(lcm.CodeNotFound, "there is no VNF instance %.80q", req.VnfInstanceID)
	}
	r.Note(slog.String("vnf_instance_id", req.VnfInstanceID), slog.String("operation", string(req.Operation)))
	if len(req.Params) == 0 {
		req.Params = []byte("{}")
	}
	kind, err := lcm.OperationKindOf(req.Operation)
	if err != nil {
		return lcm.PointAt(err, "/operation")
	}
	path := instancePath
	if kind.Path != "" {
		path += "/" + kind.Path
	}
	if err := r.CheckBody(lifecycle, kind.Method(), "", path, req.Params); err != nil {
		return belowParams(err)
	}
	task, err := lcm.ParseTask(kind.Type, req.Params)
	if err != nil {
		return belowParams(err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), vimPatience)
	defer cancel()
	p, err := a.Services.In(r.Principal).Preview(ctx, req.VnfInstanceID, task)
	if err != nil {
		return belowParams(err)
	}
	return frame.WriteJSON(w, http.StatusOK, previewOf(p))
}

// belowParams makes the pointers of an error, which lead into the task's body, lead into the body that it came in.
func belowParams(err error) error {
	e := lcm.AsError(err)
	if len(e.Params) == 0 {
		return err
	}
	bad := make([]lcm.InvalidParam, len(e.Params))
	for n, p := range e.Params {
		bad[n] = lcm.InvalidParam{Pointer: "/params" + p.Pointer, Detail: p.Detail}
	}
	out := *lcm.AsError(lcm.Unprocessable(bad...)) // its detail names the pointers, too
	out.Code, out.Title, out.Hint = e.Code, e.Title, e.Hint
	return &out
}

func (a *API) leftovers(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), vimPatience)
	defer cancel()
	l, err := a.Services.In(r.Principal).Leftovers(ctx, id)
	if err != nil {
		return err
	}
	return frame.WriteJSON(
		w, http.StatusOK, gybeapi.Leftovers{Extra: each(l.Extra, leftoverOf), Missing: each(l.Missing, leftoverOf)},
	)
}

func (a *API) removeLeftovers(w http.ResponseWriter, r *frame.Request) error {
	id, err := instanceID(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), vimPatience)
	defer cancel()
	removed, left, err := a.Services.In(r.Principal).RemoveLeftovers(ctx, id)
	if err != nil {
		return err
	}
	return frame.WriteJSON(
		w, http.StatusOK, gybeapi.RemovedLeftovers{Removed: each(removed, leftoverOf), Left: each(left, leftoverOf)},
	)
}

// instanceID reads the instance id of the path.
func instanceID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfInstanceId", "VNF instance")
	r.Note(slog.String("vnf_instance_id", id))
	return id, err
}

// list makes an empty array of what would be null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
