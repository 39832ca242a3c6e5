package nova

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// An address that moves between machines may be bound by the old one for a moment, on a busy machine for seconds. A
// machine whose address stays bound cannot be reached.
const (
	bindTries = 1500
	bindPause = 20 * time.Millisecond
)

// guest is a server's machine in the fleet. Its lock keeps the calls for one machine apart; it is taken before the
// world's lock, never the other way round.
type guest struct {
	mu   sync.Mutex
	up   bool
	dead bool
	has  map[netip.Addr]fleet.Address
}

func (g *guest) isUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.up
}

// boot gives the server a machine. The world's lock must not be held.
func (s *Service) boot(ctx context.Context, srv *Server) error {
	g := &srv.guest
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead || g.up {
		return nil
	}
	s.world.Lock()
	m, has := s.machine(srv)
	s.world.Unlock()
	err := s.world.Fleet.Boot(ctx, m)
	// a machine that had an address lets go of it
	for i := 0; i < bindTries && errors.Is(err, syscall.EADDRINUSE); i++ {
		if cause := sim.Sleep(ctx, bindPause); cause != nil {
			return cause
		}
		err = s.world.Fleet.Boot(ctx, m)
	}
	if err != nil {
		return err
	}
	g.up, g.has = true, has
	s.world.Go(func(ctx context.Context) { s.SyncAddresses(ctx, srv) }) // what changed since has was taken
	return nil
}

// shutdown takes the machine away for good, or only for a rebuild.
func (s *Service) shutdown(srv *Server, forGood bool) {
	g := &srv.guest
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = g.dead || forGood
	if g.up {
		s.world.Fleet.Delete(srv.ID)
	}
	g.up, g.has = false, nil
}

// power calls f for the machine if there is one.
func (s *Service) power(srv *Server, f func(id string)) {
	g := &srv.guest
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.up {
		f(srv.ID)
	}
}

// SyncAddresses brings the machine's addresses to what the network service says now. The world's lock must not
// be held.
func (s *Service) SyncAddresses(ctx context.Context, srv *Server) {
	g := &srv.guest
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.up {
		return
	}
	s.world.Lock()
	want := s.addresses(srv)
	s.world.Unlock()
	for ip, a := range g.has {
		if want[ip] != a {
			s.world.Fleet.RemoveAddress(srv.ID, a)
			delete(g.has, ip)
		}
	}
	for ip, a := range want {
		if _, ok := g.has[ip]; ok {
			continue
		}
		if err := s.addAddress(ctx, srv.ID, a); err != nil {
			s.world.Log.WarnContext(ctx, "address not reachable", "server_id", srv.ID, "address", ip, "error", err)
			continue
		}
		g.has[ip] = a
	}
}

// addAddress tries for a while: an address that moves may still be bound by the machine that had it.
func (s *Service) addAddress(ctx context.Context, id string, a fleet.Address) error {
	for i := 0; ; i++ {
		err := s.world.Fleet.AddAddress(id, a)
		if err == nil || i == bindTries {
			return err
		}
		if err := sim.Sleep(ctx, bindPause); err != nil {
			return err
		}
	}
}

// portChanged is called by the network service, with the world's lock held.
func (s *Service) portChanged(p *neutron.Port, gone bool) {
	if srv := s.Servers.Get(p.DeviceID); srv != nil {
		if gone {
			srv.Ports = slices.DeleteFunc(srv.Ports, func(r PortRef) bool { return r.ID == p.ID })
		}
		s.resync(srv)
		return
	}
	for _, srv := range s.Servers.All() {
		for _, ref := range srv.Ports {
			q := s.network.Ports.Get(ref.ID)
			if q == nil || len(q.AllowedAddressPairs) == 0 || q.NetworkID != p.NetworkID {
				continue
			}
			if slices.ContainsFunc(pairs(q), p.HasAddress) {
				s.resync(srv)
			}
		}
	}
}

func (s *Service) resync(srv *Server) {
	if srv.Status == "BUILD" || srv.deleting {
		return // boot and deletion see to it
	}
	s.world.Go(func(ctx context.Context) { s.SyncAddresses(ctx, srv) })
}

// pairs returns the single addresses among a port's address pairs that are not its own.
func pairs(p *neutron.Port) []netip.Addr {
	var out []netip.Addr
	for _, pair := range p.AllowedAddressPairs {
		a, err := netip.ParseAddr(pair.IP)
		if err != nil {
			prefix, err := netip.ParsePrefix(pair.IP)
			if err != nil || !prefix.IsSingleIP() {
				continue
			}
			a = prefix.Addr()
		}
		if !p.HasAddress(a) {
			out = append(out, a)
		}
	}
	return out
}

// addresses is what the machine should have now, as far as it can be bound.
func (s *Service) addresses(srv *Server) map[netip.Addr]fleet.Address {
	out := map[netip.Addr]fleet.Address{}
	add := func(a fleet.Address) {
		if r := s.world.Reachable; !r.IsValid() || r.Contains(a.IP) {
			out[a.IP] = a
		}
	}
	for _, ref := range srv.Ports {
		p := s.network.Ports.Get(ref.ID)
		if p == nil {
			continue
		}
		for _, f := range p.FixedIPs {
			add(fleet.Address{IP: f.IP, Kind: fleet.Fixed})
		}
		for _, f := range s.network.FloatingIPsOf(p.ID) {
			add(fleet.Address{IP: f.IP, Kind: fleet.Floating, Target: f.FixedIP})
		}
		for _, vip := range pairs(p) {
			add(fleet.Address{IP: vip, Kind: fleet.VIP})
			for _, f := range s.network.FloatingIPs.All() {
				if f.FixedIP == vip {
					add(fleet.Address{IP: f.IP, Kind: fleet.VIPFloating, Target: vip})
				}
			}
		}
	}
	return out
}

// machine describes the server to the fleet, in port order.
func (s *Service) machine(srv *Server) (fleet.Machine, map[netip.Addr]fleet.Address) {
	has := s.addresses(srv)
	m := fleet.Machine{
		ID: srv.ID, Name: srv.Name, Hostname: srv.Hostname, Host: srv.Host, Zone: srv.Zone, Flavor: srv.Flavor.Name,
		VCPUs: srv.Flavor.VCPUs, MemoryMB: srv.Flavor.RAM, DiskGB: srv.Flavor.Disk,
		AdminUser: adminUser, AdminPassword: adminUser, Metadata: rest.Map(srv.Metadata),
		VIPFloatingIPs: map[netip.Addr]netip.Addr{},
	}
	if img := s.images.Images.Get(srv.ImageID); img != nil {
		m.Image, m.Content = img.Name, img.Content
	}
	if srv.UserData != "" {
		m.UserData, _ = base64.StdEncoding.DecodeString(srv.UserData) // checked when it came
	}
	for _, v := range srv.Volumes {
		d := fleet.Disk{VolumeID: v.ID, Device: v.Device}
		if vol := s.volumes.Volumes.Get(v.ID); vol != nil {
			d.SizeGB = vol.Size
		}
		m.Volumes = append(m.Volumes, d)
		if srv.ImageID == "" && v.Device == rootDevice {
			m.RootVolume = v.ID
		}
	}
	for _, ip := range slices.SortedFunc(maps.Keys(has), netip.Addr.Compare) {
		switch a := has[ip]; a.Kind {
		case fleet.Fixed:
		case fleet.Floating:
			m.FloatingIPs = append(m.FloatingIPs, ip)
		case fleet.VIP:
			m.AllowedAddressPairs = append(m.AllowedAddressPairs, ip)
		case fleet.VIPFloating:
			m.VIPFloatingIPs[ip] = a.Target
		}
	}
	for _, ref := range srv.Ports {
		if p := s.network.Ports.Get(ref.ID); p != nil {
			for _, f := range p.FixedIPs {
				if _, ok := has[f.IP]; ok {
					m.FixedIPs = append(m.FixedIPs, f.IP)
				}
			}
		}
	}
	return m, has
}
