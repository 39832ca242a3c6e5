package heat

import (
	"context"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/cinder"
	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

func (s *Service) volume() *kind {
	return &kind{
		props: schema(`size:n~ name:s~ description:s~ image:s=glance.image imageRef:s=glance.image volume_type:s=cinder.vtype
			availability_zone:s metadata:m~ snapshot_id:s source_volid:s=cinder.volume backup_id:s scheduler_hints:m read_only:b~ multiattach:b`),
		ownTime: true,
		well: func(r *Resource) bool {
			v := s.cinder.Volumes.Get(r.ID)
			return v != nil && v.Status != "error" && v.Status != "deleting"
		},
		create: s.createVolume,
		check:  checkVolume,
		remove: func(ctx context.Context, j job) error {
			s.world.Lock()
			v := s.cinder.Volumes.Get(j.r.ID)
			var err error
			if v != nil {
				err = gone(s.cinder.Delete(j.c, v.ID))
			}
			s.world.Unlock()
			if err != nil || v == nil {
				return err
			}
			return wait(ctx, v.Gone)
		},
		update: func(_ context.Context, j job, diff []string) error {
			return s.withLock(func() error {
				v, err := s.cinder.Volume(j.c, j.r.ID)
				if err != nil {
					return err
				}
				for _, name := range diff {
					switch name {
					case "size":
						if j.p.number("size", v.Size) < v.Size {
							return failf("NotSupported", "Shrinking volume is not supported.")
						}
						if j.p.number("size", v.Size) == v.Size {
							continue
						}
						if err := s.cinder.Grow(v, j.p.number("size", v.Size)); err != nil {
							return err
						}
					case "name":
						v.Name = j.p.text("name")
					case "metadata":
						v.Metadata = metadata(j.p.mapping("metadata"))
					}
				}
				return nil
			})
		},
		show: func(r *Resource) map[string]any {
			v := s.cinder.Volumes.Get(r.ID)
			if v == nil {
				return map[string]any{}
			}
			list := []any{}
			for _, a := range v.Attachments {
				one := map[string]any{"id": a.ID, "server_id": a.ServerID, "device": a.Device, "volume_id": v.ID}
				list = append(list, one)
			}
			meta := map[string]any{}
			for k, m := range v.Metadata {
				meta[k] = m
			}
			return map[string]any{
				"id": v.ID, "size": hot.Text(v.Size), "status": v.Status, "display_name": v.Name, "name": v.Name,
				"volume_type": v.Type, "availability_zone": v.Zone, "bootable": v.Bootable,
				"attachments": hot.JSON(list), "attachments_list": list, "metadata": hot.JSON(meta),
				"metadata_values": meta, "source_volid": v.SourceID, "snapshot_id": nilIfEmpty(v.SnapshotID),
				"display_description": v.Description, "created_at": v.Created.Format("2006-01-02T15:04:05.000000"),
			}
		},
	}
}

// checkVolume refuses a volume with several sources.
func checkVolume(_ rest.Caller, _ *Resource, p props) error {
	var sources []string
	for _, name := range []string{"snapshot_id", "source_volid", "image", "imageRef"} {
		if p.text(name) != "" {
			sources = append(sources, "'"+name+"'")
		}
	}
	if p.number("size", 0) > 0 && len(sources) > 1 {
		return hot.Invalid(`If "size" is provided, only one of "image", "imageRef", "source_volid", "snapshot_id" `+
			`can be specified, but currently specified options: [%s].`, strings.Join(sources, ", "))
	}
	return nil
}

func (s *Service) createVolume(ctx context.Context, j job) error {
	s.world.Lock()
	if reason := hot.Text(j.r.data["fail_with"]); reason != "" {
		s.world.Unlock()
		return failf("ResourceInError", `Went to status error due to "%s"`, reason)
	}
	v, err := s.cinder.Create(j.c, cinder.Spec{
		Size: j.p.number("size", 0), Name: physicalName(j.r), Description: j.p.text("description"),
		ImageRef: j.p.first("image", "imageRef"), Type: j.p.text("volume_type"), Zone: j.p.text("availability_zone"),
		Metadata: metadata(j.p.mapping("metadata")), SourceID: j.p.text("source_volid"),
		SnapshotID: j.p.text("snapshot_id"),
	})
	if err == nil {
		j.r.ID = v.ID
	}
	s.world.Unlock()
	if err != nil {
		return err
	}
	if err := wait(ctx, v.Settled); err != nil {
		return err
	}
	return s.withLock(func() error {
		if v.Status == "error" {
			return failf("ResourceInError", `Went to status error due to "Unknown"`)
		}
		return nil
	})
}

func (s *Service) volumeAttachment() *kind {
	return s.simple("instance_uuid:s!=nova.server volume_id:s!=cinder.volume mountpoint:s",
		func(j job) (string, error) {
			srv, err := s.nova.Server(j.c, j.p.text("instance_uuid"))
			if err != nil {
				return "", err
			}
			v, err := s.cinder.Find(j.c, j.p.text("volume_id"))
			if err != nil {
				return "", err
			}
			if _, err := s.nova.AttachVolume(j.c, srv, v.ID, j.p.text("mountpoint")); err != nil {
				return "", err
			}
			return v.ID, nil
		}, nil,
		func(j job) error {
			srv, err := s.nova.Server(rest.Caller{Admin: true}, j.p.text("instance_uuid"))
			if err != nil {
				return err
			}
			return s.nova.DetachVolume(srv, j.r.ID)
		},
		func(*Resource) map[string]any { return map[string]any{} },
	)
}

func nilIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}
