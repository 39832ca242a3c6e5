package admission

import (
	"context"
	"errors"
	"iter"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// CreateSnapshot makes an empty VNF snapshot resource, which a CREATE_SNAPSHOT operation fills. Snapshots from snapshot
// packages are not supported: it returns CodeUnprocessable for their members.
func (s *Service) CreateSnapshot(
	ctx context.Context, req sol.CreateVnfSnapshotInfoRequest,
) (*lcm.SnapshotDocument, error) {
	const unsupported = "is for snapshots from a VNF snapshot package, which are not supported"
	var bad []lcm.InvalidParam
	if req.VnfSnapshotPkgID != "" {
		bad = append(bad, lcm.InvalidParam{Pointer: "/vnfSnapshotPkgId", Detail: unsupported})
	}
	if req.VnfSnapshot != nil {
		bad = append(bad, lcm.InvalidParam{Pointer: "/vnfSnapshot", Detail: unsupported})
	}
	if err := lcm.Unprocessable(bad...); err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	n := &lcm.Snapshot{ID: uuid.NewString(), Version: 1, Created: now, Updated: now}
	if err := s.Store.InsertSnapshot(ctx, n); err != nil {
		return nil, err
	}
	return s.Store.SnapshotDocument(ctx, n.ID)
}

// Snapshot reads a VNF snapshot as clients see it; CodeNotFound when the project does not have it.
func (s *Service) Snapshot(ctx context.Context, id string) (*lcm.SnapshotDocument, error) {
	return s.Store.SnapshotDocument(ctx, id)
}

// SnapshotValidator reads the version of a VNF snapshot; CodeNotFound when the project does not have it.
func (s *Service) SnapshotValidator(ctx context.Context, id string) (lcm.Validator, error) {
	return s.Store.SnapshotValidator(ctx, id)
}

// Snapshots lists VNF snapshots as clients see them, in the order of their ids.
func (s *Service) Snapshots(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.SnapshotDocument, error] {
	return s.Store.SnapshotDocuments(ctx, q)
}

// ModifySnapshot changes the vnfSnapshotPkgId of a VNF snapshot, and returns the new version.
func (s *Service) ModifySnapshot(
	ctx context.Context, id string, req sol.VnfSnapshotInfoModificationRequest, ifVersion *int64,
) (lcm.Validator, error) {
	if req.VnfSnapshot != nil {
		return lcm.Validator{}, lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/vnfSnapshot", Detail: "is set by the create_snapshot task only",
		})
	}
	if req.VnfSnapshotPkgID == "" {
		return lcm.Validator{}, lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/vnfSnapshotPkgId", Detail: "is required: nothing else can be modified",
		})
	}
	n, err := s.Store.SetSnapshotPkg(ctx, id, req.VnfSnapshotPkgID, ifVersion)
	if err != nil {
		return lcm.Validator{}, err
	}
	return lcm.Validator{Version: n.Version, Updated: n.Updated}, nil
}

// snapshotDeletionTime bounds the deletion of a snapshot in the VIM: the client waits for the answer.
const snapshotDeletionTime = 20 * time.Second

// DeleteSnapshot deletes a VNF snapshot: first its resources in the VIM, then itself. When the VIM does not answer, or
// is not done in time, the snapshot remains and CodeUnavailable says so; the request can be repeated. It returns
// CodeConflict while an operation uses the snapshot, or the VNF has disks that need it.
func (s *Service) DeleteSnapshot(ctx context.Context, id string, ifVersion *int64) error {
	n, err := s.Store.BeginSnapshotDeletion(ctx, id, 2*snapshotDeletionTime, ifVersion)
	if err != nil {
		return err
	}
	err = s.deleteResources(ctx, n)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotDeletionTime/4)
	defer cancel()
	if ended := s.Store.EndSnapshotDeletion(end, id, err == nil); err == nil {
		err = ended
	}
	return err
}

// deleteResources deletes what a snapshot has in the VIM.
func (s *Service) deleteResources(ctx context.Context, n *lcm.Snapshot) error {
	if n.Operation == "" || n.Instance == nil {
		return nil // nothing was created
	}
	i, err := s.snapshotInstance(ctx, n)
	if err != nil {
		return err
	}
	infra, err := s.infra(i)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotDeletionTime)
	defer cancel()
	for {
		err := infra.DeleteSnapshot(ctx, n, i)
		if err == nil {
			return nil
		}
		after, why, waiting := lcm.Waiting(context.WithoutCancel(ctx), err)
		if !waiting {
			return unavailable(n.ID, err)
		}
		timer := time.NewTimer(max(after, 10*time.Millisecond))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return snapshotRemains(n.ID, why)
		}
	}
}

// unavailable makes CodeUnavailable of an error that may not be there the next time.
func unavailable(id string, err error) error {
	e := lcm.AsError(err)
	if e.Class != lcm.Transient && e.Class != lcm.Auth && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return snapshotRemains(id, e.Error())
}

func snapshotRemains(id, why string) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Title: "VNF snapshot not deleted yet", RetryAfter: snapshotDeletionTime / 4,
		Detail: "the VIM still has resources of the VNF snapshot " + id + ": " + why,
		Hint:   "send the request again; what is gone is not deleted twice",
	}
}

// snapshotInstance is the instance of a snapshot with connections to all VIMs of the snapshot. Those of the instance
// come first, because its credentials may have been changed since; one that was deleted is as the snapshot has it.
func (s *Service) snapshotInstance(ctx context.Context, n *lcm.Snapshot) (*lcm.Instance, error) {
	out := *n.Instance
	out.VimConnections = maps.Clone(out.VimConnections)
	live, err := s.Store.Instance(ctx, n.InstanceID)
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Code == lcm.CodeNotFound {
		return &out, nil
	}
	if err != nil {
		return nil, err
	}
	for key := range out.VimConnections {
		for _, conns := range []map[string]sol.VimConnectionInfo{live.PreviousVims, live.VimConnections} {
			if c, ok := conns[key]; ok {
				out.VimConnections[key] = c
			}
		}
	}
	return &out, nil
}

// SnapshotsOf lists the snapshots of an instance, with their resources.
func (s *Service) SnapshotsOf(ctx context.Context, instanceID string) ([]*lcm.Snapshot, error) {
	return s.Store.Snapshots(ctx, lcm.Query{InstanceID: instanceID})
}
