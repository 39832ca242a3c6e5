package nova

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/glance"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

const imageType = "OS::Glance::Image"

// imageInBody is the microversion from which on the action createImage names the image in its body.
const imageInBody = 45

// createImage is the action createImage of a server that boots from an image.
func (s *Service) createImage(c *rest.Call, srv *Server, raw json.RawMessage) (int, any, error) {
	var req struct {
		Name     string            `json:"name"`
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &req); err != nil || req.Name == "" {
		const format = "Invalid input for field/attribute createImage. Value: %s. 'name' is a required property"
		return 0, nil, badRequest(format, raw)
	}
	img, err := s.Snapshot(srv, req.Name, req.Metadata)
	if err != nil {
		return 0, nil, err
	}
	if minor(c.R) >= imageInBody {
		return http.StatusAccepted, rest.Obj{"image_id": img.ID}, nil
	}
	c.W.Header().Set("Location", s.world.BaseURL+"/image/v2/images/"+img.ID)
	return http.StatusAccepted, nil, nil
}

// Snapshot starts to make an image of a server's disk. The image gets the properties of the server's own image.
func (s *Service) Snapshot(srv *Server, name string, properties map[string]string) (*glance.Image, error) {
	if !slices.Contains([]string{"active", "stopped", "paused", "suspended"}, srv.VMState) {
		return nil, s.wrongState(srv, "createImage")
	}
	if srv.TaskState != "" {
		const format = "Cannot 'createImage' instance %s while it is in task_state %s"
		return nil, conflict(format, srv.ID, srv.TaskState)
	}
	if srv.ImageID == "" {
		return nil, badRequest("images of servers that boot from volumes are not simulated")
	}
	all := map[string]string{}
	minDisk := srv.Flavor.Disk
	if base := s.images.Images.Get(srv.ImageID); base != nil {
		maps.Copy(all, base.Properties)
		minDisk = max(minDisk, base.MinDisk)
	}
	maps.Copy(all, map[string]string{
		"base_image_ref": srv.ImageID, "image_type": "snapshot", "instance_uuid": srv.ID, "user_id": srv.UserID,
	})
	maps.Copy(all, properties)
	img := s.images.Reserve(srv.Project, name, minDisk, all)
	srv.TaskState = "image_snapshot"
	s.touch(srv)
	failure := ""
	for _, r := range s.world.Faults.Work(fault.Work{Type: imageType, Name: name, Action: "create"}) {
		if r.Kind == fault.FailResource {
			failure = r.Reason
		}
	}
	s.world.Go(func(ctx context.Context) {
		if s.world.Take(ctx, "create", imageType) != nil {
			return
		}
		content := s.disk(srv)
		s.world.Lock()
		defer s.world.Unlock()
		srv.TaskState = ""
		s.touch(srv)
		if failure != "" { // the service removes the image, and keeps the reason to itself
			s.images.Images.Delete(img.ID)
			return
		}
		s.images.Fill(img, content)
	})
	return img, nil
}

// disk copies what is on a server's disk now. The world's lock must not be held.
func (s *Service) disk(srv *Server) fleet.Content {
	f, ok := s.world.Fleet.(fleet.DiskMachines)
	if !ok {
		return nil
	}
	var c fleet.Content
	s.power(srv, func(id string) { c = f.CopyDisk(id) })
	return c
}
