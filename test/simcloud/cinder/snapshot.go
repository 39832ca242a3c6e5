package cinder

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

const snapshotType = "OS::Cinder::Snapshot"

// Snapshot is a snapshot of a volume.
type Snapshot struct {
	ID, Name, Project, VolumeID, Status string
	Size                                int
	Metadata                            map[string]string
	Created                             time.Time
	content                             fleet.Content
}

// copyFrom gives a volume what it takes from a volume or a snapshot.
func (s *Service) copyFrom(c rest.Caller, v *Volume, spec Spec) error {
	source := spec.SourceID
	if spec.SnapshotID != "" {
		n, err := s.Snapshot(c, spec.SnapshotID)
		if err != nil {
			return err
		}
		if n.Status != "available" {
			return badRequest("Invalid snapshot: Originating snapshot status must be one of 'available' values")
		}
		if v.Size == 0 {
			v.Size = n.Size
		}
		if v.Size < n.Size {
			const format = "Invalid input received: Volume size '%d'GB cannot be smaller than the snapshot size " +
				"%dGB. They must be >= original snapshot size."
			return badRequest(format, v.Size, n.Size)
		}
		v.SnapshotID, source, v.content = n.ID, n.VolumeID, n.content
	}
	if source == "" {
		return nil
	}
	src, err := s.Volume(c, source)
	if err != nil {
		return err
	}
	v.Bootable, v.ImageID, v.ImageName = src.Bootable, src.ImageID, src.ImageName
	v.Zone, v.Type = cmp.Or(v.Zone, src.Zone), cmp.Or(v.Type, src.Type)
	if spec.SourceID == "" {
		return nil
	}
	if src.Status != "available" && src.Status != "in-use" {
		return badRequest("Invalid volume: Originating source volume status must be one of 'available, in-use' values")
	}
	if v.SourceID = src.ID; v.Size == 0 {
		v.Size = src.Size
	}
	if v.Size < src.Size {
		const format = "Invalid input received: Volume size '%d'GB cannot be smaller than original volume size  " +
			"%dGB. They must be >= original volume size."
		return badRequest(format, v.Size, src.Size)
	}
	return nil
}

// Snapshot finds a snapshot of the caller's project.
func (s *Service) Snapshot(c rest.Caller, id string) (*Snapshot, error) {
	n := s.Snapshots.Get(id)
	if n == nil || !c.Admin && n.Project != c.ProjectID {
		return nil, notFound("Snapshot %s could not be found.", id)
	}
	return n, nil
}

func (s *Service) hasSnapshots(v *Volume) bool {
	return slices.ContainsFunc(s.Snapshots.All(), func(n *Snapshot) bool { return n.VolumeID == v.ID })
}

// fails says whether a fault makes an object end in an error.
func (s *Service) fails(typ, name string) bool {
	return slices.ContainsFunc(s.world.Faults.Work(fault.Work{Type: typ, Name: name, Action: "create"}),
		func(r fault.Rule) bool { return r.Kind == fault.FailResource })
}

type snapshotBody struct {
	Snapshot struct {
		VolumeID string            `json:"volume_id"`
		Name     string            `json:"name"`
		Force    any               `json:"force"`
		Metadata map[string]string `json:"metadata"`
	} `json:"snapshot"`
}

func (s *Service) createSnapshot(c *rest.Call, b snapshotBody) (int, any, error) {
	v, err := s.Volume(c.Caller, b.Snapshot.VolumeID)
	if err != nil {
		return 0, nil, err
	}
	force := b.Snapshot.Force == true || b.Snapshot.Force == "true" || b.Snapshot.Force == "True"
	if v.Status != "available" && (!force || v.Status != "in-use") {
		const format = "Invalid volume: Volume %s status must be available, but current status is: %s."
		return 0, nil, badRequest(format, v.ID, v.Status)
	}
	if q, use := s.Quotas.Of(c.ProjectID)["snapshots"], s.Usage(c.ProjectID)["snapshots"]; q >= 0 && use+1 > q {
		const format = "SnapshotLimitExceeded: Maximum number of snapshots allowed (%d) exceeded"
		return 0, nil, rest.Errorf(http.StatusRequestEntityTooLarge, "overLimit", format, q)
	}
	n := &Snapshot{
		ID: sim.NewID(), Name: b.Snapshot.Name, Project: c.ProjectID, VolumeID: v.ID, Status: "creating", Size: v.Size,
		Metadata: maps.Clone(b.Snapshot.Metadata), Created: s.world.Now(), content: s.content(v),
	}
	s.Snapshots.Add(n.ID, n)
	status := "available"
	if s.fails(snapshotType, n.Name) {
		status = "error"
	}
	s.world.Go(func(ctx context.Context) {
		if s.world.Take(ctx, "create", snapshotType) != nil {
			return
		}
		s.world.Lock()
		defer s.world.Unlock()
		n.Status = status
	})
	return http.StatusAccepted, rest.Obj{"snapshot": snapshotView(n)}, nil
}

func (s *Service) deleteSnapshot(c *rest.Call, n *Snapshot) (int, any, error) {
	if n.Status != "available" && n.Status != "error" {
		return 0, nil, badRequest("Invalid snapshot: Snapshot status must be available or error and must not belong " +
			"to a group.")
	}
	n.Status = "deleting"
	s.world.Go(func(ctx context.Context) {
		if s.world.Take(ctx, "delete", snapshotType) != nil {
			return
		}
		s.world.Lock()
		defer s.world.Unlock()
		s.Snapshots.Delete(n.ID)
	})
	return http.StatusAccepted, nil, nil
}

func (s *Service) listSnapshots(c *rest.Call) (int, any, error) {
	found := s.Snapshots.Filter(func(n *Snapshot) bool {
		return n.Project == c.ProjectID && rest.OneOf(c.Query, "name", n.Name) &&
			rest.OneOf(c.Query, "status", n.Status) && rest.OneOf(c.Query, "volume_id", n.VolumeID)
	})
	slices.Reverse(found)
	return rest.List(c, "snapshots", found, func(n *Snapshot) string { return n.ID }, snapshotView)
}

func snapshotView(n *Snapshot) rest.Obj {
	return rest.Obj{
		"id": n.ID, "name": n.Name, "status": n.Status, "size": n.Size, "volume_id": n.VolumeID,
		"metadata": rest.Map(n.Metadata), "created_at": n.Created.Format("2006-01-02T15:04:05.000000"),
		"description": nil, "os-extended-snapshot-attributes:project_id": n.Project,
	}
}
