package vnflcm

import (
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The answers to repeated requests are those of the first, except that a resource is shown as it is now.

// replayCreate answers a repeated creation of an instance.
func (a *edition) replayCreate(w http.ResponseWriter, r *frame.Request, id string) error {
	d, err := a.Services.In(r.Principal).InstanceDocument(r.Context(), id)
	if err != nil {
		return gone(err, "created", "VNF instance", id)
	}
	w.Header().Set("Location", r.Public(a.instancePath(id)))
	frame.SetValidators(w, d.Version, d.Updated)
	return frame.WriteResource(w, r, http.StatusCreated, a.instance(r.Context(), d, nil))
}

// replayCreateSnapshot answers a repeated creation of a VNF snapshot.
func (a *edition) replayCreateSnapshot(w http.ResponseWriter, r *frame.Request, id string) error {
	d, err := a.Services.In(r.Principal).Snapshot(r.Context(), id)
	if err != nil {
		return gone(err, "created", "VNF snapshot", id)
	}
	w.Header().Set("Location", r.Public(a.prefix+snapshotsPart+"/"+id))
	frame.SetValidators(w, d.Version, d.Updated)
	return frame.WriteResource(w, r, http.StatusCreated, a.presentSnapshot(d))
}

// replaySubmit answers a repeated task of an instance.
func (a *edition) replaySubmit(w http.ResponseWriter, r *frame.Request, id string) error {
	return frame.Accepted(w, r.Public(a.operationPath(id)))
}

// replaySteer answers a repeated retry, rollback or cancel.
func replaySteer(w http.ResponseWriter, _ *frame.Request, _ string) error {
	return frame.Accepted(w, "")
}

// replayFail answers a repeated fail.
func (a *edition) replayFail(w http.ResponseWriter, r *frame.Request, id string) error {
	d, err := a.Services.In(r.Principal).OperationDocument(r.Context(), id)
	if err != nil {
		return gone(err, "failed", "operation", id)
	}
	frame.SetValidators(w, d.Version, d.Updated)
	return frame.WriteResource(w, r, http.StatusOK, a.presentOperation(d))
}

// gone says that the resource of a repeated request does not exist any more.
func gone(err error, done, kind, id string) error {
	if lcm.AsError(err).Code != lcm.CodeNotFound {
		return err
	}
	return lcm.Errorf(
		lcm.CodeNotFound, "the request with this Idempotency-Key %s the %s %s, which has been deleted since", done,
		kind, id,
	).WithHint("use a new Idempotency-Key to send the request as a new one")
}
