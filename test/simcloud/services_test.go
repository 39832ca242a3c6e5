package simcloud

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/stretchr/testify/require"
)

func waitServer(t *testing.T, u *user, id, want string) *servers.Server {
	t.Helper()
	var srv *servers.Server
	eventually(t, "server is "+want, func() bool {
		var err error
		srv, err = servers.Get(t.Context(), u.nova, id).Extract()
		require.NoError(t, err)
		return srv.Status == want
	})
	return srv
}

func bootServer(
	t *testing.T, u *user, name string, change func(*servers.CreateOpts), hints servers.SchedulerHintOptsBuilder,
) string {
	t.Helper()
	img, err := images.List(u.glance, images.ListOpts{Name: "cirros-0.5.2-x86_64-disk"}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := images.ExtractImages(img)
	require.NoError(t, err)
	opts := servers.CreateOpts{
		Name: name, ImageRef: list[0].ID, FlavorRef: "1", Metadata: map[string]string{"k": "v"},
		UserData: []byte("#!/bin/sh\n"),
	}
	opts.Networks = []servers.Network{{UUID: net0ID}}
	if change != nil {
		change(&opts)
	}
	srv, err := servers.Create(t.Context(), u.nova, opts, hints).Extract()
	require.NoError(t, err)
	return srv.ID
}

func TestServerLife(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	before := c.State()
	id := bootServer(t, u, "One Server", nil, nil)
	srv := waitServer(t, u, id, "ACTIVE")
	require.Equal(t, map[string]string{"k": "v"}, srv.Metadata)
	require.Equal(t, "nova", srv.AvailabilityZone)
	require.Equal(t, "cmp1", srv.Host)
	require.Equal(t, "active", srv.VmState)
	require.WithinDuration(t, time.Now(), srv.Created, time.Minute)
	require.Equal(t, "1", srv.Flavor["id"])
	addr := srv.Addresses[Net0].([]any)[0].(map[string]any)
	require.Equal(t, "fixed", addr["OS-EXT-IPS:type"])

	page, err := ports.List(u.neutron, ports.ListOpts{DeviceID: id}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := ports.ExtractPorts(page)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "ACTIVE", list[0].Status)
	require.Equal(t, "compute:nova", list[0].DeviceOwner)
	fip, err := floatingips.Create(t.Context(), u.neutron, floatingips.CreateOpts{
		FloatingNetworkID: c.PublicID(), PortID: list[0].ID,
	}).Extract()
	require.NoError(t, err)
	srv = waitServer(t, u, id, "ACTIVE")
	require.Equal(t, fip.FloatingIP, srv.Addresses[Net0].([]any)[1].(map[string]any)["addr"])
	require.Equal(t, "floating", srv.Addresses[Net0].([]any)[1].(map[string]any)["OS-EXT-IPS:type"])

	err = servers.Start(t.Context(), u.nova, id).ExtractErr()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusConflict), "%v", err)
	require.NoError(t, servers.Stop(t.Context(), u.nova, id).ExtractErr())
	waitServer(t, u, id, "SHUTOFF")
	require.NoError(t, servers.Start(t.Context(), u.nova, id).ExtractErr())
	waitServer(t, u, id, "ACTIVE")
	require.NoError(
		t, servers.Reboot(t.Context(), u.nova, id, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr(),
	)
	waitServer(t, u, id, "ACTIVE")

	require.NoError(t, servers.Delete(t.Context(), u.nova, id).ExtractErr())
	eventually(t, "the server goes", func() bool {
		_, err := servers.Get(t.Context(), u.nova, id).Extract()
		return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
	})
	require.NoError(t, floatingips.Delete(t.Context(), u.neutron, fip.ID).ExtractErr())
	require.Empty(t, c.State().Since(before), "its port went with it")
}

func TestServerRequestsAreRefused(t *testing.T) {
	t.Parallel()
	_, u := start(t)
	for name, tc := range map[string]struct {
		change func(*servers.CreateOpts)
		status int
	}{
		"flavor":  {func(o *servers.CreateOpts) { o.FlavorRef = "99" }, 400},
		"image":   {func(o *servers.CreateOpts) { o.ImageRef = "nope" }, 400},
		"zone":    {func(o *servers.CreateOpts) { o.AvailabilityZone = "mars" }, 400},
		"network": {func(o *servers.CreateOpts) { o.Networks = []servers.Network{{UUID: "nope"}} }, 400},
		"port":    {func(o *servers.CreateOpts) { o.Networks = []servers.Network{{Port: "nope"}} }, 400},
	} {
		opts := servers.CreateOpts{Name: "x", FlavorRef: "1", ImageRef: "nope"}
		tc.change(&opts)
		_, err := servers.Create(t.Context(), u.nova, opts, nil).Extract()
		require.True(t, gophercloud.ResponseCodeIs(err, tc.status), "%s: %v", name, err)
	}
}

func TestAntiAffinityRunsOutOfHosts(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	c.SetHosts([]Host{{Name: "a", Zone: "z1"}, {Name: "b", Zone: "z2"}})
	g, err := servergroups.Create(t.Context(), u.nova, servergroups.CreateOpts{
		Name: "g", Policies: []string{"anti-affinity"},
	}).Extract()
	require.NoError(t, err)
	hints := servers.SchedulerHintOpts{Group: g.ID}
	hosts := map[string]bool{}
	for range 2 {
		hosts[waitServer(t, u, bootServer(t, u, "s", nil, hints), "ACTIVE").Host] = true
	}
	require.Len(t, hosts, 2)
	third := waitServer(t, u, bootServer(t, u, "s", nil, hints), "ERROR")
	require.Equal(t, "No valid host was found. There are not enough hosts available.", third.Fault.Message)
	require.Equal(t, 500, third.Fault.Code)
	g, err = servergroups.Get(t.Context(), u.nova, g.ID).Extract()
	require.NoError(t, err)
	require.Len(t, g.Members, 3)
	inZone := waitServer(
		t, u, bootServer(t, u, "s", func(o *servers.CreateOpts) { o.AvailabilityZone = "z2" }, nil), "ACTIVE",
	)
	require.Equal(t, "b", inZone.Host)
}

func TestFlavorsAndLimits(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	page, err := flavors.ListDetail(u.nova, nil).AllPages(t.Context())
	require.NoError(t, err)
	list, err := flavors.ExtractFlavors(page)
	require.NoError(t, err)
	require.Equal(t, "m1.tiny", list[0].Name)
	require.NoError(t, c.SetQuota("nova", map[string]int{"cores": 3}))
	l, err := limits.Get(t.Context(), u.nova, nil).Extract()
	require.NoError(t, err)
	require.Equal(t, 3, l.Absolute.MaxTotalCores)
	_, err = servers.Create(t.Context(), u.nova,
		servers.CreateOpts{Name: "x", FlavorRef: "4", ImageRef: c.State()["images"][0].ID}, nil).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusForbidden))
	require.ErrorContains(t, err, "Quota exceeded for cores: Requested 4, but already used 0 of 3 cores")
}

func TestVolumes(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	v, err := volumes.Create(t.Context(), u.cinder,
		volumes.CreateOpts{Name: "data", Size: 2, Metadata: map[string]string{"a": "b"}}, nil).Extract()
	require.NoError(t, err)
	state := func() string {
		x, err := volumes.Get(t.Context(), u.cinder, v.ID).Extract()
		require.NoError(t, err)
		return x.Status
	}
	eventually(t, "available", func() bool { return state() == "available" })
	id := bootServer(t, u, "s", nil, nil)
	waitServer(t, u, id, "ACTIVE")
	a, err := volumeattach.Create(t.Context(), u.nova, id, volumeattach.CreateOpts{VolumeID: v.ID}).Extract()
	require.NoError(t, err)
	require.Equal(t, "/dev/vdb", a.Device)
	require.Equal(t, "in-use", state())
	err = volumes.Delete(t.Context(), u.cinder, v.ID, nil).ExtractErr()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusBadRequest), "in use: %v", err)
	require.NoError(t, volumeattach.Delete(t.Context(), u.nova, id, v.ID).ExtractErr())
	require.NoError(t, volumes.Delete(t.Context(), u.cinder, v.ID, nil).ExtractErr())
	eventually(t, "gone", func() bool { return len(c.State()["volumes"]) == 0 })
	require.NoError(t, c.SetQuota("cinder", map[string]int{"volumes": 0}))
	_, err = volumes.Create(t.Context(), u.cinder, volumes.CreateOpts{Size: 1}, nil).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusRequestEntityTooLarge))
	require.ErrorContains(
		t, err, "VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for quota 'volumes'.",
	)
}

func TestImageUpload(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	private := images.ImageVisibilityPrivate
	img, err := images.Create(t.Context(), u.glance, images.CreateOpts{
		Name: "worker-image", DiskFormat: "qcow2", ContainerFormat: "bare", Visibility: &private,
		Tags: []string{"vnf-1"}, MinDisk: 1,
	}).Extract()
	require.NoError(t, err)
	require.Equal(t, images.ImageStatusQueued, img.Status)
	data := bytes.Repeat([]byte("image"), 100_000)
	require.NoError(t, imagedata.Upload(t.Context(), u.glance, img.ID, bytes.NewReader(data)).ExtractErr())
	img, err = images.Get(t.Context(), u.glance, img.ID).Extract()
	require.NoError(t, err)
	sum := md5.Sum(data)
	require.Equal(t, images.ImageStatusActive, img.Status)
	require.Equal(t, hex.EncodeToString(sum[:]), img.Checksum)
	require.Equal(t, int64(len(data)), img.SizeBytes)
	err = imagedata.Upload(t.Context(), u.glance, img.ID, bytes.NewReader(data)).ExtractErr()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusConflict), "twice: %v", err)
	for want, opts := range map[int]images.ListOpts{1: {Tags: []string{"vnf-1"}}, 0: {Tags: []string{"vnf-2"}}, 4: {}} {
		page, err := images.List(u.glance, opts).AllPages(t.Context())
		require.NoError(t, err)
		list, err := images.ExtractImages(page)
		require.NoError(t, err)
		require.Len(t, list, want)
	}
	img, err = images.Update(t.Context(), u.glance, img.ID,
		images.UpdateOpts{images.ReplaceImageName{NewName: "other"}}).Extract()
	require.NoError(t, err)
	require.Equal(t, "other", img.Name)
	require.NoError(t, images.Delete(t.Context(), u.glance, img.ID).ExtractErr())
	require.Len(t, c.State()["images"], 3)
}

func TestNetworking(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	before := c.State()
	n, err := networks.Create(t.Context(), u.neutron, networks.CreateOpts{Name: "mgmt"}).Extract()
	require.NoError(t, err)
	sub, err := subnets.Create(t.Context(), u.neutron, subnets.CreateOpts{
		NetworkID: n.ID, CIDR: "192.168.0.0/29", IPVersion: gophercloud.IPv4, Name: "mgmt-sub",
	}).Extract()
	require.NoError(t, err)
	require.Equal(t, "192.168.0.1", sub.GatewayIP)
	require.Equal(t, []subnets.AllocationPool{{Start: "192.168.0.2", End: "192.168.0.6"}}, sub.AllocationPools)
	var last *ports.Port
	for range 5 {
		last, err = ports.Create(t.Context(), u.neutron, ports.CreateOpts{NetworkID: n.ID, Name: "p"}).Extract()
		require.NoError(t, err)
	}
	require.Equal(t, "192.168.0.6", last.FixedIPs[0].IPAddress)
	_, err = ports.Create(t.Context(), u.neutron, ports.CreateOpts{NetworkID: n.ID}).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusConflict))
	require.ErrorContains(t, err, "IpAddressGenerationFailure")
	_, err = ports.Create(t.Context(), u.neutron, ports.CreateOpts{
		NetworkID: n.ID, FixedIPs: []ports.IP{{SubnetID: sub.ID, IPAddress: "192.168.0.3"}},
	}).Extract()
	require.ErrorContains(t, err, "IpAddressAlreadyAllocated")
	_, err = floatingips.Create(t.Context(), u.neutron, floatingips.CreateOpts{
		FloatingNetworkID: c.PublicID(), PortID: last.ID,
	}).Extract()
	require.ErrorContains(t, err, "ExternalGatewayForFloatingIPNotFound", "no router leads there")
	_, err = floatingips.Create(t.Context(), u.neutron, floatingips.CreateOpts{FloatingNetworkID: n.ID}).Extract()
	require.ErrorContains(t, err, "is not a valid external network")
	err = networks.Delete(t.Context(), u.neutron, n.ID).ExtractErr()
	require.ErrorContains(t, err, "NetworkInUse")
	err = subnets.Delete(t.Context(), u.neutron, sub.ID).ExtractErr()
	require.ErrorContains(t, err, "SubnetInUse")

	_, err = attributestags.ReplaceAll(t.Context(), u.neutron, "ports", last.ID,
		attributestags.ReplaceAllOpts{Tags: []string{"x", "y"}}).Extract()
	require.NoError(t, err)
	for want, opts := range map[int]ports.ListOpts{
		1: {Tags: "x,y"}, 5: {Name: "p"}, 0: {Name: "q"}, 4: {NetworkID: n.ID, NotTags: "x"},
	} {
		page, err := ports.List(u.neutron, opts).AllPages(t.Context())
		require.NoError(t, err)
		list, err := ports.ExtractPorts(page)
		require.NoError(t, err)
		require.Len(t, list, want, "%+v", opts)
	}
	page, err := ports.List(u.neutron, ports.ListOpts{
		FixedIPs: []ports.FixedIPOpts{{IPAddress: "192.168.0.6"}},
	}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := ports.ExtractPorts(page)
	require.NoError(t, err)
	require.Equal(t, last.ID, list[0].ID)
	page, err = ports.List(u.neutron, ports.ListOpts{NetworkID: n.ID}).AllPages(t.Context())
	require.NoError(t, err)
	list, err = ports.ExtractPorts(page)
	require.NoError(t, err)
	for _, p := range list {
		require.NoError(t, ports.Delete(t.Context(), u.neutron, p.ID).ExtractErr())
	}
	require.NoError(t, networks.Delete(t.Context(), u.neutron, n.ID).ExtractErr())
	require.Empty(t, c.State().Since(before))
}

func TestPagesOfPorts(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	for range 5 {
		_, err := ports.Create(t.Context(), u.neutron, ports.CreateOpts{NetworkID: c.Net0ID(), Name: "p"}).Extract()
		require.NoError(t, err)
	}
	c.ResetCalls()
	page, err := ports.List(u.neutron, ports.ListOpts{Name: "p", Limit: 2}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := ports.ExtractPorts(page)
	require.NoError(t, err)
	require.Len(t, list, 5)
	require.GreaterOrEqual(t, c.CallsTo("neutron"), 3)
}

func TestQuotasAndSecurityGroups(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	limit := 0
	_, err := quotas.Update(t.Context(), u.neutron, c.ProjectID(), quotas.UpdateOpts{Port: &limit}).Extract()
	require.NoError(t, err)
	_, err = ports.Create(t.Context(), u.neutron, ports.CreateOpts{NetworkID: c.Net0ID()}).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusConflict))
	require.ErrorContains(t, err, "Quota exceeded for resources: ['port'].")
	page, err := groups.List(u.neutron, groups.ListOpts{
		Name: "default", ProjectID: c.ProjectID(),
	}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := groups.ExtractGroups(page)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Len(t, list[0].Rules, 4)
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	id := bootServer(t, u, "mine", nil, nil)
	waitServer(t, u, id, "ACTIVE")
	opts := c.AuthOptions()
	opts.Username, opts.Scope = OtherUsername, &gophercloud.AuthScope{ProjectName: OtherProject, DomainName: Domain}
	other := loginAs(t, c, opts)
	_, err := servers.Get(t.Context(), other.nova, id).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusNotFound))
	page, err := ports.List(other.neutron, nil).AllPages(t.Context())
	require.NoError(t, err)
	list, err := ports.ExtractPorts(page)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = networks.Get(t.Context(), other.neutron, c.Net0ID()).Extract()
	require.NoError(t, err, "net0 is shared")
}
