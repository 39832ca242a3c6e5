package heat

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/nova"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

const maxServerName = 53

func (s *Service) server() *kind {
	return &kind{
		props: schema(`name:s~ image:s~=glance.image flavor:s!~=nova.flavor networks:l~ availability_zone:s scheduler_hints:m
			metadata:m~ user_data:* user_data_format:s user_data_update_policy:s~ key_name:s=nova.keypair block_device_mapping:l
			block_device_mapping_v2:l security_groups:l config_drive:b admin_pass:s~ tags:l~ reservation_id:s personality:m
			flavor_update_policy:s~ image_update_policy:s~ software_config_transport:s~ diskConfig:s deployment_swift_data:m~`),
		ownTime: true,
		well: func(r *Resource) bool {
			srv := s.nova.Servers.Get(r.ID)
			return srv != nil && srv.Status != "ERROR"
		},
		create: s.createServer, remove: s.removeServer, update: s.updateServer,
		beforeReplace: func(ctx context.Context, j job) { // the replacement gets the ports that belong to the template
			s.world.Lock()
			srv := s.nova.Servers.Get(j.r.ID)
			if srv != nil {
				for _, p := range slices.Clone(srv.Ports) {
					if !p.Owned {
						_ = s.nova.DetachPort(srv, p.ID) // it is one of its ports
					}
				}
			}
			s.world.Unlock()
			if srv != nil {
				s.nova.SyncAddresses(ctx, srv)
			}
		},
		show:  s.showServer,
		check: s.checkServer,
	}
}

// checkServer refuses ports that do not exist.
func (s *Service) checkServer(c rest.Caller, r *Resource, p props) error {
	for i, n := range p.maps("networks") {
		if port := n.text("port"); port != "" {
			if err := s.constraint(c, "neutron.port", port); err != nil {
				where := fmt.Sprintf("networks[%d].port", i)
				return propError(r.Name, where, "Error validating value '%s': %s", port, err)
			}
		}
	}
	return nil
}

func (s *Service) createServer(ctx context.Context, j job) error {
	s.world.Lock()
	spec, err := s.serverSpec(j)
	var srv *nova.Server
	if err == nil {
		if srv, err = s.nova.Create(j.c, spec); err == nil {
			j.r.ID = srv.ID
		}
	}
	s.world.Unlock()
	if err != nil {
		return err
	}
	if err := wait(ctx, srv.Settled); err != nil {
		return err
	}
	return s.withLock(func() error { return serverFailure(srv) })
}

func serverFailure(srv *nova.Server) error {
	if srv.Status != "ERROR" {
		return nil
	}
	message, code := "Unknown", "Unknown"
	if srv.Fault != nil {
		message, code = srv.Fault.Message, hot.Text(srv.Fault.Code)
	}
	f := failf("ResourceInError", `Went to status ERROR due to "Message: %s, Code: %s"`, message, code)
	f.again = true
	return f
}

func (s *Service) serverSpec(j job) (nova.Spec, error) {
	name := shorten(physicalName(j.r), maxServerName)
	spec := nova.Spec{
		Name: name, FlavorRef: j.p.text("flavor"), Zone: j.p.text("availability_zone"), KeyName: j.p.text("key_name"),
		Tags: j.p.strings("tags"), Metadata: metadata(j.p.mapping("metadata")),
		Group:    j.p.mapping("scheduler_hints").text("group"),
		FailWith: hot.Text(j.r.data["fail_with"]),
		UserData: base64.StdEncoding.EncodeToString([]byte(j.p.text("user_data"))),
	}
	if image := j.p.text("image"); image != "" {
		img, err := s.glance.Find(j.c, image)
		if err != nil {
			return spec, err
		}
		spec.ImageRef = img.ID
	}
	for _, g := range j.p.strings("security_groups") {
		spec.SecurityGroups = append(spec.SecurityGroups, nova.GroupRef{Name: g})
	}
	refs, err := s.networkRefs(j)
	if err != nil {
		return spec, err
	}
	if refs != nil {
		if spec.Networks, err = json.Marshal(refs); err != nil {
			return spec, failf("Error", "%v", err)
		}
	}
	return spec, s.blockDevices(j, &spec)
}

// networkRefs translates the networks property; a subnet makes a port that the server owns.
func (s *Service) networkRefs(j job) ([]nova.NetworkRef, error) {
	var refs []nova.NetworkRef
	for _, n := range j.p.maps("networks") {
		if port := n.text("port"); port != "" {
			p, err := s.neutron.FindPort(j.c, port)
			if err != nil {
				return nil, err
			}
			refs = append(refs, nova.NetworkRef{Port: p.ID})
			continue
		}
		name := n.first("network", "uuid")
		if sub := n.text("subnet"); sub != "" {
			subnet, err := s.neutron.FindSubnet(j.c, sub)
			if err != nil {
				return nil, err
			}
			portName := j.r.Name + "-port"
			p, err := s.neutron.CreatePort(j.c, neutron.PortSpec{
				NetworkID: subnet.NetworkID, Name: &portName,
				FixedIPs: &[]neutron.IPSpec{{SubnetID: subnet.ID, IP: n.text("fixed_ip")}},
			})
			if err != nil {
				return nil, err
			}
			own, _ := j.r.data["ports"].([]string)
			j.r.data["ports"] = append(own, p.ID)
			refs = append(refs, nova.NetworkRef{Port: p.ID})
			continue
		}
		if name == "" {
			continue
		}
		net, err := s.neutron.FindNetwork(j.c, name)
		if err != nil {
			return nil, err
		}
		refs = append(refs, nova.NetworkRef{UUID: net.ID, FixedIP: n.text("fixed_ip")})
	}
	return refs, nil
}

func (s *Service) blockDevices(j job, spec *nova.Spec) error {
	for _, d := range slices.Concat(j.p.maps("block_device_mapping"), j.p.maps("block_device_mapping_v2")) {
		b := nova.BlockDevice{
			DestinationType: "volume", VolumeSize: d.number("volume_size", 0), DeviceName: d.text("device_name"),
			DeleteOnTermination: d.flag("delete_on_termination", false), BootIndex: d["boot_index"],
		}
		switch {
		case d.has("volume_id"):
			v, err := s.cinder.Find(j.c, d.text("volume_id"))
			if err != nil {
				return err
			}
			b.SourceType, b.UUID = "volume", v.ID
			if b.BootIndex == nil && spec.ImageRef == "" && len(spec.BlockDevices) == 0 {
				b.BootIndex = 0
			}
		case d.first("image", "image_id") != "":
			img, err := s.glance.Find(j.c, d.first("image", "image_id"))
			if err != nil {
				return err
			}
			b.SourceType, b.UUID = "image", img.ID
		case d.has("swap_size") || d.has("ephemeral_size"):
			b.SourceType, b.DestinationType = "blank", "local"
		default:
			b.SourceType = "blank"
		}
		spec.BlockDevices = append(spec.BlockDevices, b)
	}
	return nil
}

func metadata(p props) map[string]string {
	out := map[string]string{}
	for k, v := range p {
		out[k] = hot.Text(v)
	}
	return out
}

func (s *Service) removeServer(ctx context.Context, j job) error {
	s.world.Lock()
	srv := s.nova.Servers.Get(j.r.ID)
	var err error
	if srv != nil {
		err = gone(s.nova.Delete(j.c, srv.ID))
	}
	s.world.Unlock()
	if err == nil && srv != nil {
		err = wait(ctx, srv.Gone)
	}
	if err != nil {
		return err
	}
	s.world.Lock()
	defer s.world.Unlock()
	own, _ := j.r.data["ports"].([]string)
	for _, id := range own {
		if err := gone(s.neutron.DeletePort(j.c, id)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) updateServer(ctx context.Context, j job, diff []string) error {
	s.world.Lock()
	srv, err := s.nova.Server(j.c, j.r.ID)
	s.world.Unlock()
	if err != nil {
		return err
	}
	for _, name := range diff {
		s.world.Lock()
		err := s.changeServer(j, srv, name)
		settled := srv.Settled
		s.world.Unlock()
		if err != nil {
			return err
		}
		if err := wait(ctx, settled); err != nil {
			return err
		}
	}
	s.world.Lock()
	stuck := slices.Contains(diff, "flavor") && srv.Status != "ERROR" && srv.Flavor.Name != j.p.text("flavor") &&
		srv.Flavor.ID != j.p.text("flavor")
	s.world.Unlock()
	if stuck { // no host could take it: the server is as it was, and the service waits for a change that never comes
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return s.withLock(func() error { return serverFailure(srv) })
}

// changeServer begins the change of one property.
func (s *Service) changeServer(j job, srv *nova.Server, name string) error {
	switch name {
	case "name":
		srv.Name = j.p.text("name")
	case "metadata":
		srv.Metadata = metadata(j.p.mapping("metadata"))
	case "tags":
		srv.Tags = j.p.strings("tags")
	case "flavor":
		return s.nova.Resize(srv, j.p.text("flavor"))
	case "image":
		img, err := s.glance.Find(j.c, j.p.text("image"))
		if err != nil {
			return err
		}
		return s.nova.Rebuild(j.c, srv, img.ID)
	case "networks":
		return s.changeNetworks(j, srv)
	}
	return nil
}

// changeNetworks detaches the ports that are no longer named and attaches the new ones.
func (s *Service) changeNetworks(j job, srv *nova.Server) error {
	refs, err := s.networkRefs(j)
	if err != nil {
		return err
	}
	for _, have := range slices.Clone(srv.Ports) {
		p := s.neutron.Ports.Get(have.ID)
		wanted := func(r nova.NetworkRef) bool { return r.Port == have.ID || r.UUID != "" && r.UUID == p.NetworkID }
		if p == nil || slices.ContainsFunc(refs, wanted) {
			continue
		}
		if err := s.nova.DetachPort(srv, have.ID); err != nil {
			return err
		}
	}
	for _, r := range refs {
		if slices.ContainsFunc(srv.Ports, func(have nova.PortRef) bool {
			p := s.neutron.Ports.Get(have.ID)
			return have.ID == r.Port || p != nil && r.UUID != "" && p.NetworkID == r.UUID
		}) {
			continue
		}
		if _, err := s.nova.AttachPort(j.c, srv, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) showServer(r *Resource) map[string]any {
	srv := s.nova.Servers.Get(r.ID)
	if srv == nil {
		return map[string]any{}
	}
	first, networks, addresses := "", map[string]any{}, map[string]any{}
	for _, ref := range srv.Ports {
		p := s.neutron.Ports.Get(ref.ID)
		if p == nil {
			continue
		}
		net := s.neutron.Networks.Get(p.NetworkID)
		var ips, full []any
		entry := func(ip, kind string) {
			ips = append(ips, ip)
			full = append(full, map[string]any{
				"addr": ip, "version": 4, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": p.MAC, "port": p.ID,
			})
		}
		for _, f := range p.FixedIPs {
			if first == "" {
				first = f.IP.String()
			}
			entry(f.IP.String(), "fixed")
		}
		for _, f := range s.neutron.FloatingIPsOf(p.ID) {
			entry(f.IP.String(), "floating")
		}
		for _, key := range []string{net.Name, net.ID} {
			have, _ := networks[key].([]any)
			networks[key] = append(have, ips...)
			all, _ := addresses[key].([]any)
			addresses[key] = append(all, full...)
		}
	}
	return map[string]any{
		"name": srv.Name, "first_address": first, "networks": networks, "addresses": addresses,
		"instance_name": "instance-" + srv.ID[:8], "accessIPv4": "", "accessIPv6": "", "tags": srv.Tags,
		"console_urls": map[string]any{}, "os_collect_config": map[string]any{}, "id": srv.ID, "status": srv.Status,
		"tenant_id": srv.Project, "OS-EXT-AZ:availability_zone": srv.Zone,
	}
}

func (s *Service) serverGroup() *kind {
	k := s.simple("name:s policies:l rules:m",
		func(j job) (string, error) {
			policy := "anti-affinity"
			if l := j.p.strings("policies"); len(l) > 0 {
				policy = l[0]
			}
			most := j.p.mapping("rules").number("max_server_per_host", 0)
			g, err := s.nova.CreateGroup(j.c, physicalName(j.r), policy, most)
			if err != nil {
				return "", err
			}
			return g.ID, nil
		}, nil,
		func(j job) error {
			s.nova.Groups.Delete(j.r.ID)
			return nil
		},
		func(r *Resource) map[string]any {
			g := s.nova.Groups.Get(r.ID)
			if g == nil {
				return map[string]any{}
			}
			return map[string]any{"id": g.ID, "name": g.Name, "policies": []string{g.Policy}}
		},
	)
	k.well = nil // a failed one is replaced
	return k
}
