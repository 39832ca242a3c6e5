package simcloud

import (
	"strconv"

	"github.com/gybe-nfv/gybe/test/simcloud/keystone"
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/nova"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// identities makes the projects and users; the first project is nfv, the last belongs to the cloud itself.
func (c *Cloud) identities() {
	p := func(name string) *keystone.Project { return &keystone.Project{ID: sim.NewHexID(), Name: name} }
	nfv, other, admin := p(Project), p(OtherProject), p("admin")
	c.projects = []*keystone.Project{nfv, other, admin}
	everything := []string{"admin", "member", "reader", "heat_stack_owner"}
	c.users = []*keystone.User{
		{
			ID: sim.NewHexID(), Name: Username, Password: Password,
			Roles: map[string][]string{nfv.ID: everything},
		},
		{
			ID: sim.NewHexID(), Name: OtherUsername, Password: Password,
			Roles: map[string][]string{other.ID: {"member", "reader", "heat_stack_owner"}},
		},
		{
			ID: sim.NewHexID(), Name: "admin", Password: Password,
			Roles: map[string][]string{admin.ID: everything, nfv.ID: everything},
		},
	}
}

func (c *Cloud) catalog() []keystone.Endpoint {
	return []keystone.Endpoint{
		{Type: "identity", Name: "keystone", URL: c.url + "/identity"},
		{Type: "orchestration", Name: "heat", URL: c.url + "/orchestration/v1/{project}"},
		{Type: "compute", Name: "nova", URL: c.url + "/compute/v2.1"},
		{Type: "network", Name: "neutron", URL: c.url + "/network"},
		{Type: "image", Name: "glance", URL: c.url + "/image"},
		{Type: "volumev3", Name: "cinderv3", URL: c.url + "/volume/v3/{project}"},
		{Type: "block-storage", Name: "cinder", URL: c.url + "/volume/v3/{project}"},
	}
}

// seed creates what exists at the start: networks with a router, flavors, images, hosts.
func (c *Cloud) seed() error {
	c.world.Lock()
	defer c.world.Unlock()
	admin := rest.Caller{ProjectID: c.projects[len(c.projects)-1].ID, ProjectName: "admin", Admin: true}
	for _, p := range c.projects {
		c.neutron.DefaultGroup(p.ID)
	}
	fixed, floating := c.block.Net0(), c.block.Public()
	if c.opts.LargeNetworks {
		const bits = 18 // 127.A.64.0 and 127.A.128.0
		fixed, _ = c.block.Addr(64, 0).Prefix(bits)
		floating, _ = c.block.Addr(128, 0).Prefix(bits)
	}
	if err := c.seedNetwork(admin, net0ID, Net0, subnet0ID, "subnet0", fixed.String(), false); err != nil {
		return err
	}
	if err := c.seedNetwork(admin, publicID, Public, publicSub, "public-subnet", floating.String(), true); err != nil {
		return err
	}
	name := "router-net0"
	spec := neutron.RouterSpec{Name: &name}
	spec.Gateway.NetworkID = publicID
	r, err := c.neutron.CreateRouter(admin, spec)
	if err != nil {
		return err
	}
	if _, err := c.neutron.AddInterface(admin, r.ID, subnet0ID); err != nil {
		return err
	}
	for i, f := range []nova.Flavor{
		{Name: "m1.tiny", VCPUs: 1, RAM: 512, Disk: 1},
		{Name: "m1.small", VCPUs: 1, RAM: 2048, Disk: 20},
		{Name: "m1.medium", VCPUs: 2, RAM: 4096, Disk: 40},
		{Name: "m1.large", VCPUs: 4, RAM: 8192, Disk: 80},
		{Name: "m1.xlarge", VCPUs: 8, RAM: 16384, Disk: 160},
	} {
		f.ID = strconv.Itoa(i + 1)
		c.nova.Flavors.Add(f.ID, &f)
	}
	c.nova.SetHosts(c.opts.Hosts)
	const megabytes = 600 << 20
	for _, image := range append([]string{
		"cirros-0.5.2-x86_64-disk", "ubuntu-22.04-server-cloudimg-amd64", "ubuntu-24.04-server-cloudimg-amd64",
	}, c.opts.Images...) {
		c.glance.Seed(admin.ProjectID, image, megabytes)
	}
	return nil
}

func (c *Cloud) seedNetwork(admin rest.Caller, id, name, subnetID, subnet, cidr string, external bool) error {
	shared, dhcp := !external, false
	network := neutron.NetworkSpec{ID: id, Name: &name, Shared: &shared, External: &external}
	if _, err := c.neutron.CreateNetwork(admin, network); err != nil {
		return err
	}
	spec := neutron.SubnetSpec{ID: subnetID, Name: &subnet, NetworkID: id, CIDR: cidr, DHCP: &dhcp}
	_, err := c.neutron.CreateSubnet(admin, spec)
	return err
}
