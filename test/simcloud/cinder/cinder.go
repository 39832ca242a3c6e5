// Package cinder is the simulated block storage service (v3): volumes with their states, types, quotas.
//
// Exported methods other than New and Register need the world's lock.
package cinder

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

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
	SourceID                               string
	Attachments                            []Attachment
	Created, Updated                       time.Time
	// Settled is closed when creation has ended, Gone when the volume has been deleted.
	Settled, Gone chan struct{}
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
	quotas  map[string]map[string]int
	// Types are the volume types; the first is the default.
	Types []string
}

// New returns an empty service.
func New(w *sim.World, images *glance.Service) *Service {
	return &Service{
		world: w, images: images, quotas: map[string]map[string]int{}, Types: []string{"standard", "lvmdriver-1"},
	}
}

// Reset forgets all volumes and quotas.
func (s *Service) Reset() {
	s.Volumes.Clear()
	clear(s.quotas)
}

func badRequest(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusBadRequest, "badRequest", format, args...)
}

// Volume finds a volume of the caller's project.
func (s *Service) Volume(c rest.Caller, id string) (*Volume, error) {
	v := s.Volumes.Get(id)
	if v == nil || !c.Admin && v.Project != c.ProjectID {
		return nil, rest.Errorf(http.StatusNotFound, "itemNotFound", "Volume %s could not be found.", id)
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
	if spec.SnapshotID != "" {
		return nil, rest.Errorf(http.StatusNotFound, "itemNotFound", "Snapshot %s could not be found.", spec.SnapshotID)
	}
	if spec.SourceID != "" {
		src, err := s.Volume(c, spec.SourceID)
		if err != nil {
			return nil, err
		}
		v.SourceID, v.Bootable, v.Size = src.ID, src.Bootable, max(v.Size, src.Size)
	}
	if spec.ImageRef != "" {
		img, err := s.images.Find(c, spec.ImageRef)
		if err != nil {
			return nil, badRequest("Invalid image identifier or unable to access requested image.")
		}
		if v.Size < img.MinDisk {
			return nil, badRequest(
				"Invalid input received: Volume size %dGB cannot be smaller than the image minDisk size %dGB.", v.Size,
				img.MinDisk,
			)
		}
		v.ImageID, v.ImageName, v.Bootable = img.ID, img.Name, true
	}
	if v.Size <= 0 {
		return nil, badRequest(
			"Invalid input "+
				"received: Invalid "+
				"volume size "+
				"provided for "+
				"create request: "+
				"%d (size argument must be an integer (or string representation of an integer) and greater than zero).",
			spec.Size,
		)
	}
	if v.Type == "" {
		v.Type = s.Types[0]
	} else if !slices.Contains(s.Types, v.Type) {
		return nil, rest.Errorf(
			http.StatusNotFound, "itemNotFound", "Volume type with name %s could not be found.", v.Type,
		)
	}
	if v.Zone == "" {
		v.Zone = "nova"
	}
	if err := s.room(c.ProjectID, v.Type, v.Size, true); err != nil {
		return nil, err
	}
	v.Created = s.world.Now()
	v.Updated = v.Created
	s.Volumes.Add(v.ID, v)
	s.world.Go(func(ctx context.Context) {
		err := s.world.Take(ctx, "create", volumeType)
		s.world.Lock()
		defer s.world.Unlock()
		if v.Status == "creating" && err == nil {
			v.Status, v.Updated = "available", s.world.Now()
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
	case "deleting":
		return nil
	default:
		return badRequest(
			"Invalid volume: " +
				"Volume status " +
				"must be available " +
				"or error or " +
				"error_restoring " +
				"or error_extending " +
				"or error_managing " +
				"and must not " +
				"be migrating, " +
				"attached, belong " +
				"to a group, " +
				"have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.",
		)
	}
	v.Status, v.Updated = "deleting", s.world.Now()
	s.world.Go(func(ctx context.Context) {
		if s.world.Take(ctx, "delete", volumeType) != nil {
			return
		}
		s.world.Lock()
		defer s.world.Unlock()
		s.Volumes.Delete(v.ID)
		close(v.Gone)
	})
	return nil
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
		return badRequest(
			"Invalid volume: "+
				"volume %s status must be available or downloading to reserve, but the current status is %s.",
			v.ID, v.Status,
		)
	}
	v.Attachments = append(
		v.Attachments, Attachment{ID: sim.NewID(), ServerID: server, Device: device, Host: host, At: s.world.Now()},
	)
	v.Status, v.Updated = "in-use", s.world.Now()
	return nil
}

// AttachmentID is the id of a volume's attachment to a server.
func (s *Service) AttachmentID(volume, server string) string {
	v := s.Volumes.Get(volume)
	if v == nil {
		return ""
	}
	for _, a := range v.Attachments {
		if a.ServerID == server {
			return a.ID
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

// Extend makes an available volume larger.
func (s *Service) Extend(v *Volume, size int) error {
	if v.Status != "available" {
		return badRequest(
			"Invalid volume: Volume %s status must be '('available',)' to extend, currently %s.", v.ID, v.Status,
		)
	}
	return s.Grow(v, size)
}

// Grow extends a volume whatever its status: Heat detaches one that is in use for the moment.
func (s *Service) Grow(v *Volume, size int) error {
	if size <= v.Size {
		return badRequest(
			"Invalid input "+
				"received: New size for extend must be greater than current size. (current: %d, extended: %d).",
			v.Size, size,
		)
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
	return use
}

// quotaNames are the names of all quotas; some there are for every type.
func (s *Service) quotaNames() []string {
	out := []string{
		"volumes", "gigabytes", "snapshots", "backups", "backup_gigabytes", "per_volume_gigabytes", "groups",
	}
	for _, t := range s.Types {
		out = append(out, "volumes_"+t, "gigabytes_"+t, "snapshots_"+t)
	}
	return out
}

// SetQuota sets limits of a project; -1 is no limit, which is also the default.
func (s *Service) SetQuota(project string, limits map[string]int) error {
	for name := range limits {
		if !slices.Contains(s.quotaNames(), name) {
			return badRequest("Bad key(s) in quota set: %s", name)
		}
	}
	if s.quotas[project] == nil {
		s.quotas[project] = map[string]int{}
	}
	maps.Copy(s.quotas[project], limits)
	return nil
}

// Quota returns the limits of a project.
func (s *Service) Quota(project string) map[string]int {
	out := map[string]int{}
	for _, n := range s.quotaNames() {
		out[n] = -1
	}
	maps.Copy(out, s.quotas[project])
	return out
}

// room refuses what would go over a quota, in all or of the type.
func (s *Service) room(project, typ string, size int, another bool) error {
	q, use := s.Quota(project), s.Usage(project)
	for _, suffix := range []string{"", "_" + typ} {
		if n := q["volumes"+suffix]; another && n >= 0 && use["volumes"+suffix]+1 > n {
			return rest.Errorf(http.StatusRequestEntityTooLarge, "overLimit",
				"VolumeLimitExceeded: Maximum number of volumes allowed (%d) exceeded for quota 'volumes%s'.", n,
				suffix)
		}
		if n := q["gigabytes"+suffix]; n >= 0 && use["gigabytes"+suffix]+size > n {
			return rest.Errorf(http.StatusRequestEntityTooLarge, "overLimit",
				"VolumeSizeExceedsAvailableQuota: "+
					"Requested volume "+
					"or snapshot "+
					"exceeds allowed gigabytes%s quota. Requested %dG, quota is %dG and %dG has been consumed.",
				suffix, size, n, use["gigabytes"+suffix])
		}
	}
	return nil
}
