package heat

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// simple makes a kind whose work is instant calls: create returns the id, the others act on it, all with the lock held.
func (s *Service) simple(
	propSchema string, create func(j job) (string, error), update func(j job, diff []string) error,
	remove func(j job) error, show func(r *Resource) map[string]any,
) *kind {
	k := &kind{
		props: schema(propSchema), show: show,
		create: func(_ context.Context, j job) error {
			return s.withLock(func() error {
				id, err := create(j)
				j.r.ID = id
				return err
			})
		},
		remove: func(_ context.Context, j job) error {
			return s.withLock(func() error {
				if j.r.ID == "" {
					return nil
				}
				return gone(remove(j))
			})
		},
	}
	if show != nil {
		k.well = func(r *Resource) bool {
			v := show(r)
			return v["id"] == r.ID && v["status"] != "ERROR"
		}
	}
	if update != nil {
		k.update = func(_ context.Context, j job, diff []string) error {
			return s.withLock(func() error { return update(j, diff) })
		}
	}
	return k
}

func (s *Service) network() *kind {
	spec := func(j job) neutron.NetworkSpec {
		name, up, shared := physicalName(j.r), j.p.flag("admin_state_up", true), j.p.flag("shared", false)
		n := neutron.NetworkSpec{Name: &name, AdminUp: &up, Shared: &shared}
		if j.p.has("port_security_enabled") {
			v := j.p.flag("port_security_enabled", true)
			n.PortSecurity = &v
		}
		return n
	}
	return s.simple(
		`name:s~ admin_state_up:b~ shared:b~ port_security_enabled:b~ dhcp_agent_ids:l~ value_specs:m~ qos_policy:s~
		dns_domain:s~ availability_zone_hints:l tags:l~ tenant_id:s`,
		func(j job) (string, error) {
			n, err := s.neutron.CreateNetwork(j.c, spec(j))
			if err != nil {
				return "", err
			}
			s.neutron.SetTags(n.ID, j.p.strings("tags"))
			return n.ID, nil
		},
		func(j job, _ []string) error {
			change := spec(j)
			if !j.p.has("name") {
				change.Name = nil
			}
			_, err := s.neutron.UpdateNetwork(j.c, j.r.ID, change)
			return err
		},
		func(j job) error { return s.neutron.DeleteNetwork(j.c, j.r.ID) },
		func(r *Resource) map[string]any { return s.neutron.ViewNetwork(r.ID) },
	)
}

func (s *Service) subnet() *kind {
	return s.simple(
		`name:s~ network:s=neutron.network network_id:s=neutron.network cidr:s ip_version:n gateway_ip:s~ allocation_pools:l~ enable_dhcp:b~
		dns_nameservers:l~ host_routes:l~ prefixlen:n subnetpool:s ipv6_ra_mode:s ipv6_address_mode:s value_specs:m~ segment:s~ tags:l~ tenant_id:s`,
		func(j job) (string, error) {
			n, err := s.neutron.FindNetwork(j.c, j.p.first("network", "network_id"))
			if err != nil {
				return "", err
			}
			body := j.p.only("allocation_pools", "enable_dhcp", "dns_nameservers", "host_routes")
			body["network_id"], body["name"], body["cidr"] = n.ID, physicalName(j.r), j.p.text("cidr")
			body["ip_version"] = j.p.number("ip_version", 4)
			if _, ok := j.r.def.Properties["gateway_ip"]; ok {
				body["gateway_ip"] = rest.OrNil(j.p.text("gateway_ip"))
			}
			var spec neutron.SubnetSpec
			if err := rest.Convert(body, &spec); err != nil {
				return "", failf("StackValidationFailed", "%v", err)
			}
			sub, err := s.neutron.CreateSubnet(j.c, spec)
			if err != nil {
				return "", err
			}
			return sub.ID, nil
		},
		func(j job, _ []string) error {
			var spec neutron.SubnetSpec
			body := j.p.only("name", "enable_dhcp", "dns_nameservers", "host_routes")
			if err := rest.Convert(body, &spec); err != nil {
				return failf("StackValidationFailed", "%v", err)
			}
			_, err := s.neutron.UpdateSubnet(j.c, j.r.ID, spec)
			return err
		},
		func(j job) error { return s.neutron.DeleteSubnet(j.c, j.r.ID) },
		func(r *Resource) map[string]any { return s.neutron.ViewSubnet(r.ID) },
	)
}

func (s *Service) port() *kind {
	k := s.simple(
		`name:s~ network:s=neutron.network network_id:s=neutron.network fixed_ips:l~ security_groups:l~ allowed_address_pairs:l~
		admin_state_up:b~ mac_address:s~ device_id:s~ device_owner:s~ port_security_enabled:b~ binding:vnic_type:s~ value_specs:m~
		replacement_policy:s~ qos_policy:s~ dns_name:s~ tags:l~ propagate_uplink_status:b~ no_fixed_ips:b~`,
		func(j job) (string, error) {
			n, err := s.neutron.FindNetwork(j.c, j.p.first("network", "network_id"))
			if err != nil {
				return "", err
			}
			spec, err := s.portSpec(j, nil)
			if err != nil {
				return "", err
			}
			spec.NetworkID = n.ID
			p, err := s.neutron.CreatePort(j.c, spec)
			if err != nil {
				return "", err
			}
			s.neutron.SetTags(p.ID, j.p.strings("tags"))
			return p.ID, nil
		},
		func(j job, diff []string) error {
			spec, err := s.portSpec(j, diff)
			if err != nil {
				return err
			}
			_, err = s.neutron.UpdatePort(j.c, j.r.ID, spec)
			s.neutron.SetTags(j.r.ID, j.p.strings("tags"))
			return err
		},
		func(j job) error { return s.neutron.DeletePort(j.c, j.r.ID) },
		func(r *Resource) map[string]any { return s.neutron.ViewPort(r.ID) },
	)
	k.beforeReplace = func(_ context.Context, j job) { // its addresses are free for the replacement
		_ = s.withLock(func() error {
			_, err := s.neutron.UpdatePort(j.c, j.r.ID, neutron.PortSpec{FixedIPs: &[]neutron.IPSpec{}})
			return err
		})
	}
	return k
}

// portSpec translates the properties: all of them, or for an update (diff not nil) those that changed.
func (s *Service) portSpec(j job, diff []string) (neutron.PortSpec, error) {
	var spec neutron.PortSpec
	want := func(name string) bool {
		if diff == nil {
			return j.p.has(name)
		}
		return slices.Contains(diff, name)
	}
	if name := physicalName(j.r); diff == nil || want("name") {
		spec.Name = &name
	}
	if want("fixed_ips") {
		ips := []neutron.IPSpec{}
		for _, f := range j.p.maps("fixed_ips") {
			one := neutron.IPSpec{IP: f.text("ip_address")}
			if name := f.first("subnet", "subnet_id"); name != "" {
				sub, err := s.neutron.FindSubnet(j.c, name)
				if err != nil {
					return spec, err
				}
				one.SubnetID = sub.ID
			}
			ips = append(ips, one)
		}
		if len(ips) > 0 { // with an empty list Neutron chooses, and a port keeps what it has
			spec.FixedIPs = &ips
		}
	}
	if j.p.flag("no_fixed_ips", false) {
		spec.FixedIPs = &[]neutron.IPSpec{}
	}
	if want("security_groups") {
		groups := []string{}
		for _, name := range j.p.strings("security_groups") {
			g, err := s.neutron.FindGroup(j.c, name)
			if err != nil {
				return spec, err
			}
			groups = append(groups, g.ID)
		}
		spec.SecurityGroups = &groups
	}
	if want("allowed_address_pairs") {
		pairs := []neutron.AddressPair{}
		for _, a := range j.p.maps("allowed_address_pairs") {
			pairs = append(pairs, neutron.AddressPair{IP: a.text("ip_address"), MAC: a.text("mac_address")})
		}
		spec.AllowedAddressPairs = &pairs
	}
	for name, into := range map[string]**string{
		"mac_address": &spec.MAC, "device_id": &spec.DeviceID, "device_owner": &spec.DeviceOwner,
		"binding:vnic_type": &spec.VNICType,
	} {
		if want(name) {
			v := j.p.text(name)
			*into = &v
		}
	}
	for name, into := range map[string]**bool{
		"admin_state_up": &spec.AdminUp, "port_security_enabled": &spec.PortSecurity,
	} {
		if want(name) {
			v := j.p.flag(name, true)
			*into = &v
		}
	}
	return spec, nil
}

func (s *Service) floatingIP() *kind {
	return s.simple(
		`floating_network:s=neutron.network floating_network_id:s=neutron.network port_id:s~ fixed_ip_address:s~ floating_ip_address:s
		floating_subnet:s value_specs:m dns_name:s~ dns_domain:s~`,
		func(j job) (string, error) {
			n, err := s.neutron.FindNetwork(j.c, j.p.first("floating_network", "floating_network_id"))
			if err != nil {
				return "", err
			}
			spec := neutron.FloatingSpec{
				NetworkID: n.ID, IP: j.p.text("floating_ip_address"), FixedIP: j.p.text("fixed_ip_address"),
			}
			if port := j.p.text("port_id"); port != "" {
				spec.PortID = rest.Some(port)
			}
			f, err := s.neutron.CreateFloatingIP(j.c, spec)
			if err != nil {
				return "", err
			}
			return f.ID, nil
		},
		func(j job, _ []string) error {
			_, err := s.neutron.UpdateFloatingIP(j.c, j.r.ID, neutron.FloatingSpec{
				PortID: rest.Some(j.p.text("port_id")), FixedIP: j.p.text("fixed_ip_address"),
			})
			return err
		},
		func(j job) error { return s.neutron.DeleteFloatingIP(j.c, j.r.ID) },
		func(r *Resource) map[string]any { return s.neutron.ViewFloatingIP(r.ID) },
	)
}

func (s *Service) floatingIPAssociation() *kind {
	set := func(j job, port string) error {
		_, err := s.neutron.UpdateFloatingIP(j.c, j.p.text("floatingip_id"), neutron.FloatingSpec{
			PortID: rest.Some(port), FixedIP: j.p.text("fixed_ip_address"),
		})
		return err
	}
	return s.simple("floatingip_id:s!~ port_id:s!~ fixed_ip_address:s~",
		func(j job) (string, error) { return j.p.text("floatingip_id"), set(j, j.p.text("port_id")) },
		func(j job, _ []string) error { return set(j, j.p.text("port_id")) },
		func(j job) error {
			j.p = props{"floatingip_id": j.r.ID}
			return set(j, "")
		},
		func(r *Resource) map[string]any { return map[string]any{} },
	)
}

func (s *Service) router() *kind {
	return s.simple(
		`name:s~ external_gateway_info:m~ admin_state_up:b~ value_specs:m~ distributed:b ha:b tags:l~ l3_agent_ids:l~
		availability_zone_hints:l`,
		func(j job) (string, error) {
			name := physicalName(j.r)
			spec := neutron.RouterSpec{Name: &name}
			if gw := j.p.mapping("external_gateway_info").text("network"); gw != "" {
				n, err := s.neutron.FindNetwork(j.c, gw)
				if err != nil {
					return "", err
				}
				spec.Gateway.NetworkID = n.ID
			}
			r, err := s.neutron.CreateRouter(j.c, spec)
			if err != nil {
				return "", err
			}
			return r.ID, nil
		}, nil,
		func(j job) error { return s.neutron.DeleteRouter(j.c, j.r.ID) },
		func(r *Resource) map[string]any { return s.neutron.ViewRouter(r.ID) },
	)
}

func (s *Service) routerInterface() *kind {
	return s.simple("router:s router_id:s subnet:s=neutron.subnet subnet_id:s=neutron.subnet port:s port_id:s",
		func(j job) (string, error) {
			sub, err := s.neutron.FindSubnet(j.c, j.p.first("subnet", "subnet_id"))
			if err != nil {
				return "", err
			}
			id := j.p.first("router", "router_id")
			_, err = s.neutron.AddInterface(j.c, id, sub.ID)
			return id + ":subnet_id=" + sub.ID, err
		}, nil,
		func(j job) error {
			router, sub, _ := strings.Cut(j.r.ID, ":subnet_id=")
			_, err := s.neutron.RemoveInterface(j.c, router, sub)
			return err
		},
		func(*Resource) map[string]any { return map[string]any{} },
	)
}

func (s *Service) securityGroup() *kind {
	setRules := func(j job, id string) error {
		for _, r := range j.p.maps("rules") {
			body := r.only("protocol", "port_range_min", "port_range_max", "remote_ip_prefix")
			body["security_group_id"], body["ethertype"] = id, cmp.Or(r.text("ethertype"), "IPv4")
			body["direction"] = cmp.Or(r.text("direction"), "ingress")
			switch {
			case r.text("remote_mode") == "remote_group_id" && !r.has("remote_group_id"):
				body["remote_group_id"] = id
			case r.has("remote_group_id"):
				g, err := s.neutron.FindGroup(j.c, r.text("remote_group_id"))
				if err != nil {
					return err
				}
				body["remote_group_id"] = g.ID
			}
			var rule neutron.Rule
			if err := rest.Convert(body, &rule); err != nil {
				return failf("StackValidationFailed", "%v", err)
			}
			if _, err := s.neutron.AddRule(j.c, rule); err != nil {
				return err
			}
		}
		return nil
	}
	return s.simple("name:s~ description:s~ rules:l~",
		func(j job) (string, error) {
			name, text := physicalName(j.r), j.p.text("description")
			g, err := s.neutron.CreateGroup(j.c, neutron.GroupSpec{Name: &name, Description: &text})
			if err != nil {
				return "", err
			}
			return g.ID, setRules(j, g.ID)
		},
		func(j job, _ []string) error {
			g, err := s.neutron.Group(j.c, j.r.ID)
			if err != nil {
				return err
			}
			g.Rules = nil
			return setRules(j, g.ID)
		},
		func(j job) error { return s.neutron.DeleteGroup(j.c, j.r.ID) },
		func(r *Resource) map[string]any { return s.neutron.ViewGroup(r.ID) },
	)
}
