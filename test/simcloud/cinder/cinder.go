// Package cinder is the simulated block storage service (v3): volumes with their states, types, quotas.
//
// Exported methods other than New and Register need the world's lock.
package cinder

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/glance"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

const volumeType = "OS::Cinder::Volume"

// Volume is a volume.
type Volume struct {
	ID, Name, Description, Project, UserID string
	Status, Type, Zone                     string
	Size                                   int
	Bootable                               bool
	Metadata                               map[string]string
	ImageID, ImageName                     string
	SourceID, SnapshotID                   string
	Attachments                            []Attachment
	Created, Updated                       time.Time
	// Settled is closed when creation has ended, Gone when the volume has been deleted.
	Settled, Gone chan struct{}
	content       fleet.Content // that it begins with
}

// Attachment is where a volume is attached.
type Attachment struct {
	ID, ServerID, Device, Host string
	At                         time.Time
}

// Spec is the body of a volume create.
type Spec struct {
	Size        int               `json:"size"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	ImageRef    string            `json:"imageRef"`
	Type        string            `json:"volume_type"`
	Zone        string            `json:"availability_zone"`
	Metadata    map[string]string `json:"metadata"`
	SourceID    string            `json:"source_volid"`
	SnapshotID  string            `json:"snapshot_id"`
}

// Service is the block storage service of one cloud.
type Service struct {
	world   *sim.World
	images  *glance.Service
	Volumes sim.Table[Volume]
	// Snapshots are those of the volumes.
	Snapshots sim.Table[Snapshot]
	Quotas    *rest.Quotas
	// Types are the volume types; the first is the default.
	Types []string
}

// New returns an empty service.
func New(w *sim.World, images *glance.Service) *Service {
	names := []string{
		"volumes", "gigabytes", "snapshots", "backups", "backup_gigabytes", "per_volume_gigabytes", "groups",
	}
	types := []string{"standard", "lvmdriver-1"}
	for _, t := range types {
		names = append(names, "volumes_"+t, "gigabytes_"+t, "snapshots_"+t)
	}
	unknown := func(name string) error { return badRequest("Bad key(s) in quota set: %s", name) }
	return &Service{world: w, images: images, Types: types, Quotas: rest.NewQuotas(unknown, names...)}
}

// Reset forgets all volumes and quotas.
func (s *Service) Reset() {
	for _, v := range s.Volumes.All() {
		s.drop(v)
	}
	s.Volumes.Clear()
	s.Snapshots.Clear()
	s.Quotas.Reset()
}

func badRequest(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusBadRequest, "badRequest", format, args...)
}

func notFound(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusNotFound, "itemNotFound", format, args...)
}

// Volume finds a volume of the caller's project.
func (s *Service) Volume(c rest.Caller, id string) (*Volume, error) {
	v := s.Volumes.Get(id)
	if v == nil || !c.Admin && v.Project != c.ProjectID {
		return nil, notFound("Volume %s could not be found.", id)
	}
	return v, nil
}

// Find resolves a name or id of a volume.
func (s *Service) Find(c rest.Caller, nameOrID string) (*Volume, error) {
	if v, err := s.Volume(c, nameOrID); err == nil {
		return v, nil
	}
	found := s.Volumes.Filter(func(v *Volume) bool { return v.Project == c.ProjectID && v.Name == nameOrID })
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, rest.Errorf(http.StatusNotFound, "EntityNotFound", "The Volume (%s) could not be found.", nameOrID)
}

// Create makes a volume, which becomes available in the background.
func (s *Service) Create(c rest.Caller, spec Spec) (*Volume, error) {
	v := &Volume{
		ID: sim.NewID(), Name: spec.Name, Description: spec.Description, Project: c.ProjectID, UserID: c.UserID,
		Status: "creating", Size: spec.Size, Zone: spec.Zone, Type: spec.Type, Metadata: maps.Clone(spec.Metadata),
		Settled: make(chan struct{}), Gone: make(chan struct{}),
	}
	if err := s.copyFrom(c, v, spec); err != nil {
		return nil, err
	}
	v.Zone, v.Type = cmp.Or(v.Zone, "nova"), cmp.Or(v.Type, s.Types[0])
	if spec.ImageRef != "" {
		img, err := s.images.Find(c, spec.ImageRef)
		if err != nil {
			return nil, badRequest("Invalid image identifier or unable to access requested image.")
		}
		if v.Size < img.MinDisk {
			const format = "Invalid input received: Volume size %dGB cannot be smaller than the image minDisk size " +
				"%dGB."
			return nil, badRequest(format, v.Size, img.MinDisk)
		}
		v.ImageID, v.ImageName, v.Bootable, v.content = img.ID, img.Name, true, img.Content
	}
	if v.Size <= 0 {
		const format = "Invalid input received: Invalid volume size provided for create request: %d " +
			"(size argument must be an integer (or string representation of an integer) and greater than zero)."
		return nil, badRequest(format, spec.Size)
	}
	if !slices.Contains(s.Types, v.Type) {
		return nil, notFound("Volume type with name %s could not be found.", v.Type)
	}
	if err := s.room(c.ProjectID, v.Type, v.Size, true); err != nil {
		return nil, err
	}
	v.Created = s.world.Now()
	v.Updated = v.Created
	s.Volumes.Add(v.ID, v)
	s.fill(v)
	status := "available"
	if v.SourceID != "" && s.fails(volumeType, v.Name) {
		status = "error"
	}
	s.world.Go(func(ctx context.Context) {
		err := s.world.Take(ctx, "create", volumeType)
		if err == nil && v.SourceID != "" {
			s.copyVolume(v.SourceID, v.ID)
		}
		s.world.Lock()
		defer s.world.Unlock()
		if v.Status == "creating" && err == nil {
			v.Status, v.Updated = status, s.world.Now()
		}
		close(v.Settled)
	})
	return v, nil
}

// Delete starts the deletion of a volume that is not in use.
func (s *Service) Delete(c rest.Caller, id string) error {
	v, err := s.Volume(c, id)
	if err != nil {
		return err
	}
	switch v.Status {
	case "available", "error":
		if s.hasSnapshots(v) {
			return undeletable()
		}
	case "deleting":
		return nil
	default:
		return undeletable()
	}
	v.Status, v.Updated = "deleting", s.world.Now()
	s.world.Go(func(ctx context.Context) {
		if s.world.Take(ctx, "delete", volumeType) != nil {
			return
		}
		s.world.Lock()
		defer s.world.Unlock()
		s.Volumes.Delete(v.ID)
		s.drop(v)
		close(v.Gone)
	})
	return nil
}

func undeletable() error {
	return badRequest("Invalid volume: Volume status must be available or error or error_restoring or " +
		"error_extending or error_managing and must not be migrating, attached, belong to a group, " +
		"have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.")
}

// Reserve keeps an available volume for a server that is to be built.
func (s *Service) Reserve(id string) { s.swap(id, "available", "reserved") }

// Unreserve gives it back.
func (s *Service) Unreserve(id string) { s.swap(id, "reserved", "available") }

func (s *Service) swap(id, from, to string) {
	if v := s.Volumes.Get(id); v != nil && v.Status == from {
		v.Status, v.Updated = to, s.world.Now()
	}
}

// Attach marks a volume as used by a server.
func (s *Service) Attach(v *Volume, server, device, host string) error {
	if v.Status != "available" && v.Status != "reserved" {
		const format = "Invalid volume: volume %s status must be available or downloading to reserve, but the " +
			"current status is %s."
		return badRequest(format, v.ID, v.Status)
	}
	a := Attachment{ID: sim.NewID(), ServerID: server, Device: device, Host: host, At: s.world.Now()}
	v.Attachments = append(v.Attachments, a)
	v.Status, v.Updated = "in-use", s.world.Now()
	return nil
}

// AttachmentID is the id of a volume's attachment to a server.
func (s *Service) AttachmentID(volume, server string) string {
	if v := s.Volumes.Get(volume); v != nil {
		for _, a := range v.Attachments {
			if a.ServerID == server {
				return a.ID
			}
		}
	}
	return ""
}

// Detach frees a volume from a server.
func (s *Service) Detach(v *Volume, server string) {
	v.Attachments = slices.DeleteFunc(v.Attachments, func(a Attachment) bool { return a.ServerID == server })
	if len(v.Attachments) == 0 && v.Status == "in-use" {
		v.Status, v.Updated = "available", s.world.Now()
	}
}

// Grow extends a volume whatever its status: Heat detaches one that is in use for the moment.
func (s *Service) Grow(v *Volume, size int) error {
	if size <= v.Size {
		const format = "Invalid input received: New size for extend must be greater than current size. " +
			"(current: %d, extended: %d)."
		return badRequest(format, v.Size, size)
	}
	if err := s.room(v.Project, v.Type, size-v.Size, false); err != nil {
		return err
	}
	v.Size, v.Updated = size, s.world.Now()
	return nil
}

// Usage counts volumes and gigabytes of a project.
func (s *Service) Usage(project string) map[string]int {
	use := map[string]int{}
	for _, v := range s.Volumes.All() {
		if v.Project == project {
			use["volumes"]++
			use["gigabytes"] += v.Size
			use["volumes_"+v.Type]++
			use["gigabytes_"+v.Type] += v.Size
		}
	}
	for _, n := range s.Snapshots.All() {
		if n.Project == project {
			use["snapshots"]++
			use["gigabytes"] += n.Size
		}
	}
	return use
}

// room refuses what would go over a quota, in all or of the type.
func (s *Service) room(project, typ string, size int, another bool) error {
	q, use := s.Quotas.Of(project), s.Usage(project)
	for _, suffix := range []string{"", "_" + typ} {
		if n := q["volumes"+suffix]; another && n >= 0 && use["volumes"+suffix]+1 > n {
			const format = "VolumeLimitExceeded: Maximum number of volumes allowed (%d) exceeded for quota 'volumes%s'."
			return rest.Errorf(http.StatusRequestEntityTooLarge, "overLimit", format, n, suffix)
		}
		if n := q["gigabytes"+suffix]; n >= 0 && use["gigabytes"+suffix]+size > n {
			const format = "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed " +
				"gigabytes%s quota. Requested %dG, quota is %dG and %dG has been consumed."
			used := use["gigabytes"+suffix]
			return rest.Errorf(http.StatusRequestEntityTooLarge, "overLimit", format, suffix, size, n, used)
		}
	}
	return nil
}
