package nova

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/cinder"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// rootDevice is the disk that a machine boots from.
const rootDevice = "/dev/vda"

// nextDevice is the first free disk name after the root disk.
func (srv *Server) nextDevice(boot bool) string {
	for c := 'a'; c <= 'z'; c++ {
		name := fmt.Sprintf("/dev/vd%c", c)
		if c == 'a' && !boot {
			continue // the root disk
		}
		if !slices.ContainsFunc(srv.Volumes, func(v VolumeRef) bool { return v.Device == name }) {
			return name
		}
	}
	return "/dev/vdz"
}

func (s *Service) attachAtBoot(c rest.Caller, srv *Server, d BlockDevice) error {
	root := fmt.Sprint(d.BootIndex) == "0"
	id := d.UUID
	switch {
	case d.SourceType == "volume":
	case d.DestinationType == "volume":
		spec := cinder.Spec{Size: d.VolumeSize}
		if d.SourceType == "image" {
			spec.ImageRef = d.UUID
		}
		v, err := s.volumes.Create(c, spec)
		if err != nil {
			return err
		}
		v.Status = "available"
		id = v.ID
	default:
		return nil // a local disk
	}
	v, err := s.volumes.Volume(c, id)
	if err != nil {
		return err
	}
	return s.attach(srv, v, d.DeviceName, root, d.DeleteOnTermination)
}

func (s *Service) attach(srv *Server, v *cinder.Volume, device string, root, deleteToo bool) error {
	if device == "" {
		device = srv.nextDevice(root)
	}
	if err := s.volumes.Attach(v, srv.ID, device, srv.Host); err != nil {
		return err
	}
	srv.reserved = slices.DeleteFunc(srv.reserved, func(id string) bool { return id == v.ID })
	srv.Volumes = append(srv.Volumes, VolumeRef{ID: v.ID, Device: device, DeleteOnTermination: deleteToo})
	return nil
}

func (s *Service) releaseVolume(srv *Server, ref VolumeRef) {
	srv.Volumes = slices.DeleteFunc(srv.Volumes, func(x VolumeRef) bool { return x.ID == ref.ID })
	v := s.volumes.Volumes.Get(ref.ID)
	if v == nil {
		return
	}
	s.volumes.Detach(v, srv.ID)
	if ref.DeleteOnTermination {
		_ = s.volumes.Delete(rest.Caller{Admin: true}, v.ID) // freed a moment ago
	}
}

// AttachVolume attaches an available volume to a running server.
func (s *Service) AttachVolume(c rest.Caller, srv *Server, volume, device string) (VolumeRef, error) {
	v, err := s.volumes.Volume(c, volume)
	if err != nil {
		return VolumeRef{}, err
	}
	if srv.Status != "ACTIVE" && srv.Status != "SHUTOFF" {
		return VolumeRef{}, s.wrongState(srv, "attach_volume")
	}
	if err := s.attach(srv, v, device, false, false); err != nil {
		return VolumeRef{}, err
	}
	ref := srv.Volumes[len(srv.Volumes)-1]
	if f, ok := s.world.Fleet.(fleet.VolumeMachines); ok {
		s.world.Go(func(context.Context) {
			s.power(srv, func(id string) {
				f.AttachDisk(id, fleet.Disk{VolumeID: v.ID, Device: ref.Device, SizeGB: v.Size})
			})
		})
	}
	return ref, nil
}

// DetachVolume takes a volume from a server.
func (s *Service) DetachVolume(srv *Server, volume string) error {
	i := slices.IndexFunc(srv.Volumes, func(v VolumeRef) bool { return v.ID == volume })
	if i < 0 {
		return notFound("volume_id not found: %s", volume)
	}
	s.releaseVolume(srv, srv.Volumes[i])
	if f, ok := s.world.Fleet.(fleet.VolumeMachines); ok {
		s.world.Go(func(context.Context) { s.power(srv, func(id string) { f.DetachDisk(id, volume) }) })
	}
	return nil
}

func (s *Service) registerVolumes(server func(string, func(*rest.Call, *Server) (int, any, error))) {
	const path = "/v2.1/servers/{id}/os-volume_attachments"
	view := func(c *rest.Call, srv *Server, v VolumeRef) rest.Obj {
		out := rest.Obj{"volumeId": v.ID, "serverId": srv.ID, "device": v.Device}
		m := minor(c.R)
		if m >= 70 {
			out["tag"] = nil
		}
		if m >= 79 {
			out["delete_on_termination"] = v.DeleteOnTermination
		}
		if m < 89 {
			out["id"] = v.ID
			return out
		}
		out["attachment_id"], out["bdm_uuid"] = s.volumes.AttachmentID(v.ID, srv.ID), v.ID
		return out
	}
	server("GET "+path, func(c *rest.Call, srv *Server) (int, any, error) {
		out := []rest.Obj{}
		for _, v := range srv.Volumes {
			out = append(out, view(c, srv, v))
		}
		return http.StatusOK, rest.Obj{"volumeAttachments": out}, nil
	})
	server("POST "+path, func(c *rest.Call, srv *Server) (int, any, error) {
		var req struct {
			A struct {
				VolumeID string `json:"volumeId"`
				Device   string `json:"device"`
			} `json:"volumeAttachment"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		ref, err := s.AttachVolume(c.Caller, srv, req.A.VolumeID, req.A.Device)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"volumeAttachment": view(c, srv, ref)}, nil
	})
	server("DELETE "+path+"/{volume}", func(c *rest.Call, srv *Server) (int, any, error) {
		return http.StatusAccepted, nil, s.DetachVolume(srv, c.Path("volume"))
	})
}
