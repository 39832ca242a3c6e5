package vnflcm

import (
	"context"
	"iter"
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

// snapshotID reads the snapshot id of the path.
func snapshotID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfSnapshotInfoId", "VNF snapshot")
	r.Note(slog.String("vnf_snapshot_id", id))
	return id, err
}

// snapshotRoutes are those of the snapshot resources.
func (a *edition) snapshotRoutes() []frame.Route {
	const one = "/vnf_snapshots/{vnfSnapshotInfoId}"
	return []frame.Route{
		{
			Method: http.MethodGet, Path: "/vnf_snapshots", Handle: a.listSnapshots, Produces: frame.JSON,
			Query: frame.ListParams,
		},
		{
			Method: http.MethodPost, Path: "/vnf_snapshots", Handle: a.createSnapshot, Consumes: frame.JSON,
			Produces: frame.JSON, Replay: a.replayCreateSnapshot,
		},
		{Method: http.MethodGet, Path: one, Handle: a.snapshot, Produces: frame.JSON},
		{
			Method: http.MethodPatch, Path: one, Handle: a.modifySnapshot, Consumes: frame.Patches,
			Produces: frame.JSON,
		},
		{Method: http.MethodDelete, Path: one, Handle: a.deleteSnapshot},
	}
}

// presentSnapshot makes the resource that clients see. The VNF instance in it has a link to the instance that the
// snapshot is of, which may not exist any more, and none to tasks.
func (a *edition) presentSnapshot(d *lcm.SnapshotDocument) frame.Resource {
	links := sol.VnfSnapshotInfoLinks{Self: sol.Link{Href: frame.SelfPlace}}
	instance := a.instances.Of(d.InstanceID)
	if d.InstanceID != "" {
		links.TakenFrom = &sol.Link{Href: frame.ParentPlace}
		self := frame.NewLinkTemplate(sol.VnfInstanceLinks{Self: sol.Link{Href: frame.SelfPlace}})
		d.Details = render.SnapshotDetails(d, self.For(instance, frame.URL{}).JSON())
	}
	return frame.Resource{
		Document: &d.Document,
		Links:    frame.NewLinkTemplate(links).For(a.snapshots.Of(d.ID), instance),
	}
}

func (a *edition) createSnapshot(w http.ResponseWriter, r *frame.Request) error {
	req, err := frame.Decode[sol.CreateVnfSnapshotInfoRequest](r)
	if err != nil {
		return err
	}
	d, err := a.Services.In(r.Principal).CreateSnapshot(r.Context(), req)
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_snapshot_id", d.ID))
	w.Header().Set("Location", r.Public(a.prefix+snapshotsPart+"/"+d.ID))
	frame.SetValidators(w, d.Version, d.Updated)
	return frame.WriteResource(w, r, http.StatusCreated, a.presentSnapshot(d))
}

func (a *edition) snapshot(w http.ResponseWriter, r *frame.Request) error {
	id, err := snapshotID(r)
	if err != nil {
		return err
	}
	s := a.Services.In(r.Principal)
	return serveOne(w, r, id, s.SnapshotValidator, s.Snapshot, a.presentSnapshot)
}

func (a *edition) listSnapshots(w http.ResponseWriter, r *frame.Request) error {
	return frame.Resources[sol.VnfSnapshotInfo]{
		Path: a.prefix + snapshotsPart, Selectors: selector.VnfSnapshotInfos,
		Query: func(f filter.Filter) (lcm.Query, filter.Filter) { return lcm.Query{}, f },
		Fetch: func(ctx context.Context, q lcm.Query) iter.Seq2[frame.Resource, error] {
			return presentAll(a.Services.In(r.Principal).Snapshots(ctx, q), a.presentSnapshot)
		},
	}.Serve(w, r)
}

// modifySnapshot answers with the attributes that were changed.
func (a *edition) modifySnapshot(w http.ResponseWriter, r *frame.Request) error {
	id, err := snapshotID(r)
	if err != nil {
		return err
	}
	req, err := frame.Decode[sol.VnfSnapshotInfoModificationRequest](r)
	if err != nil {
		return err
	}
	s := a.Services.In(r.Principal)
	ifVersion, err := condition(r, id, s.SnapshotValidator)
	if err != nil {
		return err
	}
	v, err := s.ModifySnapshot(r.Context(), id, req, ifVersion)
	if err != nil {
		return err
	}
	frame.SetValidators(w, v.Version, v.Updated)
	return frame.WriteJSON(w, http.StatusOK, sol.VnfSnapshotInfoModifications{VnfSnapshotPkgID: req.VnfSnapshotPkgID})
}

func (a *edition) deleteSnapshot(w http.ResponseWriter, r *frame.Request) error {
	id, err := snapshotID(r)
	if err != nil {
		return err
	}
	s := a.Services.In(r.Principal)
	ifVersion, err := condition(r, id, s.SnapshotValidator)
	if err != nil {
		return err
	}
	if err := s.DeleteSnapshot(r.Context(), id, ifVersion); err != nil {
		return err
	}
	return frame.NoContent(w)
}
