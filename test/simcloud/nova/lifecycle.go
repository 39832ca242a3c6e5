package nova

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Delete starts the deletion of a server; twice is once.
func (s *Service) Delete(c rest.Caller, id string) error {
	srv, err := s.Server(c, id)
	if err != nil {
		return err
	}
	if srv.deleting {
		return nil
	}
	srv.deleting, srv.TaskState = true, "deleting"
	s.touch(srv)
	s.world.Go(func(ctx context.Context) {
		if s.world.Take(ctx, "delete", serverType) != nil {
			return
		}
		s.shutdown(srv, true)
		s.world.Lock()
		defer s.world.Unlock()
		for _, r := range slices.Clone(srv.Ports) {
			s.unplug(srv, r)
		}
		for _, v := range slices.Clone(srv.Volumes) {
			s.releaseVolume(srv, v)
		}
		for _, v := range srv.reserved {
			s.volumes.Unreserve(v)
		}
		s.forget(srv)
		close(srv.Gone)
	})
	return nil
}

// forget keeps a server that has gone for lists of changes.
func (s *Service) forget(srv *Server) {
	const many = 2000
	s.Servers.Delete(srv.ID)
	srv.Status, srv.VMState, srv.TaskState, srv.PowerState = "DELETED", "deleted", "", 0
	s.touch(srv)
	s.deleted.Add(srv.ID, srv)
	if s.deleted.Len() > many {
		s.deleted.Delete(s.deleted.All()[0].ID)
	}
}

// unplug gives a port back: an owned one is deleted, another one only unbound.
func (s *Service) unplug(srv *Server, r PortRef) {
	srv.Ports = slices.DeleteFunc(srv.Ports, func(x PortRef) bool { return x.ID == r.ID })
	p := s.network.Ports.Get(r.ID)
	if p == nil || p.DeviceID != srv.ID {
		return
	}
	s.network.BindPort(p, "", "", "", false)
	if r.Owned {
		_ = s.network.DeletePort(rest.Caller{Admin: true}, p.ID) // it was there a moment ago
	}
}

// AttachPort plugs a port into a server that exists; the reference names a port or a network.
func (s *Service) AttachPort(c rest.Caller, srv *Server, r NetworkRef) (*neutron.Port, error) {
	if srv.Status != "ACTIVE" && srv.Status != "SHUTOFF" {
		return nil, s.wrongState(srv, "attach_interface")
	}
	if r.Port != "" {
		p, err := s.network.Port(c, r.Port)
		if err != nil {
			return nil, badRequest("Port id %s could not be found.", r.Port)
		}
		if p.DeviceID != "" {
			return nil, conflict("Port %s is still in use.", p.ID)
		}
	}
	if err := s.plug(c, srv, r); err != nil {
		return nil, err
	}
	s.resync(srv)
	return s.network.Ports.Get(srv.Ports[len(srv.Ports)-1].ID), nil
}

// DetachPort takes a port from a server.
func (s *Service) DetachPort(srv *Server, port string) error {
	i := slices.IndexFunc(srv.Ports, func(r PortRef) bool { return r.ID == port })
	if i < 0 {
		return notFound("Port %s not found on instance", port)
	}
	s.unplug(srv, srv.Ports[i])
	s.resync(srv)
	return nil
}

// PowerOff is os-stop: the server is SHUTOFF when its machine is off.
func (s *Service) PowerOff(srv *Server) error {
	if srv.Status != "ACTIVE" && srv.Status != "ERROR" {
		return s.wrongState(srv, "stop")
	}
	s.transition(srv, "powering-off", s.world.Fleet.PowerOff, func() {
		srv.Status, srv.VMState, srv.PowerState = "SHUTOFF", "stopped", 4
	})
	return nil
}

// PowerOn is os-start.
func (s *Service) PowerOn(srv *Server) error {
	if srv.Status != "SHUTOFF" {
		return s.wrongState(srv, "start")
	}
	s.transition(srv, "powering-on", s.world.Fleet.PowerOn, srv.activate)
	return nil
}

// Reboot is the action reboot, SOFT or HARD.
func (s *Service) Reboot(srv *Server, hard bool) error {
	if srv.Status != "ACTIVE" && !hard {
		return s.wrongState(srv, "reboot")
	}
	srv.Status = "REBOOT"
	task := "rebooting"
	if hard {
		srv.Status, task = "HARD_REBOOT", "rebooting_hard"
	}
	s.transition(srv, task, s.world.Fleet.Reboot, srv.activate)
	return nil
}

// Rebuild gives a server a new disk, of another image if one is named; name, ports and id stay.
func (s *Service) Rebuild(c rest.Caller, srv *Server, image string) error {
	if srv.Status != "ACTIVE" && srv.Status != "SHUTOFF" && srv.Status != "ERROR" {
		return s.wrongState(srv, "rebuild")
	}
	if image != "" {
		img, err := s.images.Image(c, image)
		if err != nil {
			return badRequest("Cannot find image for rebuild")
		}
		srv.ImageID = img.ID
	}
	stopped := srv.Status == "SHUTOFF"
	srv.Status, srv.TaskState = "REBUILD", "rebuilding"
	s.renew(srv, stopped)
	return nil
}

// Resize changes a server's flavor and confirms it at once. Where no host can take it, the server goes back to what it
// was and nothing tells why.
func (s *Service) Resize(srv *Server, flavor string) error {
	f, err := s.FindFlavor(flavor)
	if err != nil {
		return badRequest("Flavor %s could not be found.", flavor)
	}
	if srv.Status != "ACTIVE" && srv.Status != "SHUTOFF" {
		return s.wrongState(srv, "resize")
	}
	status, act := srv.Status, s.world.Fleet.Reboot
	srv.Status = "RESIZE"
	h, _ := s.schedule(&Server{Flavor: f, GroupID: srv.GroupID, requestedZone: srv.requestedZone}, srv)
	if h == nil {
		act = func(string) {}
	}
	s.transition(srv, "resize_prep", act, func() {
		srv.Status = status
		if h != nil {
			srv.Flavor = f
			srv.activate()
		}
	})
	return nil
}

// renew replaces the machine of a server by a fresh one. That of a server that was stopped is switched off right after
// its start.
func (s *Service) renew(srv *Server, stopped bool) {
	settled := make(chan struct{})
	srv.Settled = settled
	s.world.Go(func(ctx context.Context) {
		defer close(settled)
		if s.world.Take(ctx, "create", serverType) != nil {
			return
		}
		s.shutdown(srv, false)
		err := s.boot(ctx, srv)
		if err == nil && stopped {
			s.power(srv, s.world.Fleet.PowerOff)
		}
		s.world.Lock()
		defer s.world.Unlock()
		if srv.deleting {
			return
		}
		s.touch(srv)
		srv.TaskState, srv.Fault = "", nil
		srv.activate()
		if stopped {
			srv.Status, srv.VMState, srv.PowerState = "SHUTOFF", "stopped", 4
		}
		if err != nil {
			s.fail(srv, err)
		}
	})
}

// transition lets the fleet act and then sets the new state, in the background.
func (s *Service) transition(srv *Server, task string, act func(id string), done func()) {
	srv.TaskState = task
	settled := make(chan struct{})
	srv.Settled = settled
	s.touch(srv)
	s.world.Go(func(ctx context.Context) {
		defer close(settled)
		if sim.Sleep(ctx, s.world.Timing.For("update", serverType)) != nil {
			return
		}
		s.power(srv, act)
		s.world.Lock()
		defer s.world.Unlock()
		if !srv.deleting {
			srv.TaskState = ""
			done()
			s.touch(srv)
		}
	})
}

func (s *Service) wrongState(srv *Server, action string) error {
	return conflict("Cannot '%s' instance %s while it is in vm_state %s", action, srv.ID, srv.VMState)
}
