package contract

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/stretchr/testify/require"
)

const nobody = "11111111-2222-3333-4444-555555555555"

func TestNotFoundForms(t *testing.T) {
	t.Parallel()
	c := connect(t)
	for name, tc := range map[string]struct {
		client *gophercloud.ServiceClient
		path   []string
		want   string
	}{
		"server":     {c.nova, []string{"servers", nobody}, `"itemNotFound"`},
		"port":       {c.neutron, []string{"ports", nobody}, `"type": "PortNotFound"`},
		"floatingip": {c.neutron, []string{"floatingips", nobody}, `"type": "FloatingIPNotFound"`},
		"volume":     {c.cinder, []string{"volumes", nobody}, `"itemNotFound"`},
		"image":      {c.glance, []string{"images", nobody}, "<h1>404 Not Found</h1>"},
	} {
		_, err := tc.client.Get(t.Context(), tc.client.ServiceURL(tc.path...), nil, nil)
		require.True(t, gophercloud.ResponseCodeIs(err, http.StatusNotFound), "%s: %v", name, err)
		require.Contains(t, strings.ReplaceAll(err.Error(), `":"`, `": "`), tc.want, name)
	}
}

func networkID(t *testing.T, c *cloud, name string) string {
	t.Helper()
	page, err := networks.List(c.neutron, networks.ListOpts{Name: name}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := networks.ExtractNetworks(page)
	require.NoError(t, err)
	require.Len(t, list, 1, name)
	return list[0].ID
}

func TestPortsAndFloatingIPs(t *testing.T) {
	t.Parallel()
	c := connect(t)
	net0, public := networkID(t, c, "net0"), networkID(t, c, "public")
	p, err := ports.Create(t.Context(), c.neutron, ports.CreateOpts{NetworkID: net0, Name: "contract"}).Extract()
	require.NoError(t, err)
	require.Len(t, p.FixedIPs, 1)
	require.Equal(t, "DOWN", p.Status)
	_, err = ports.Create(t.Context(), c.neutron, ports.CreateOpts{NetworkID: net0, FixedIPs: []ports.IP{{IPAddress: p.FixedIPs[0].IPAddress}}}).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusConflict), "%v", err)
	f, err := floatingips.Create(t.Context(), c.neutron, floatingips.CreateOpts{FloatingNetworkID: public, PortID: p.ID}).Extract()
	require.NoError(t, err)
	require.Equal(t, p.FixedIPs[0].IPAddress, f.FixedIP)
	_, err = floatingips.Create(t.Context(), c.neutron, floatingips.CreateOpts{FloatingNetworkID: net0}).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusBadRequest), "not external: %v", err)
	require.NoError(t, ports.Delete(t.Context(), c.neutron, p.ID).ExtractErr())
	f, err = floatingips.Get(t.Context(), c.neutron, f.ID).Extract()
	require.NoError(t, err)
	require.Empty(t, f.PortID, "the floating IP outlives its port")
	require.NoError(t, floatingips.Delete(t.Context(), c.neutron, f.ID).ExtractErr())
}

func TestImageUpload(t *testing.T) {
	t.Parallel()
	c := connect(t)
	private := images.ImageVisibilityPrivate
	img, err := images.Create(t.Context(), c.glance, images.CreateOpts{
		Name: "contract", DiskFormat: "qcow2", ContainerFormat: "bare", Visibility: &private, Tags: []string{"contract-tag"},
	}).Extract()
	require.NoError(t, err)
	require.Equal(t, images.ImageStatusQueued, img.Status)
	data := bytes.Repeat([]byte("x"), 1000)
	require.NoError(t, imagedata.Upload(t.Context(), c.glance, img.ID, bytes.NewReader(data)).ExtractErr())
	page, err := images.List(c.glance, images.ListOpts{Tags: []string{"contract-tag"}}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := images.ExtractImages(page)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, images.ImageStatusActive, list[0].Status)
	require.Equal(t, int64(1000), list[0].SizeBytes)
	require.Equal(t, fmt.Sprintf("%x", md5.Sum(data)), list[0].Checksum)
	require.NoError(t, images.Delete(t.Context(), c.glance, img.ID).ExtractErr())
	_, err = images.Get(t.Context(), c.glance, img.ID).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusNotFound))
}

func TestVolumeLife(t *testing.T) {
	t.Parallel()
	c := connect(t)
	v, err := volumes.Create(t.Context(), c.cinder, volumes.CreateOpts{Name: "contract", Size: 1}, nil).Extract()
	require.NoError(t, err)
	require.Equal(t, "creating", v.Status)
	c.eventually(t, "available", func() bool {
		v, err = volumes.Get(t.Context(), c.cinder, v.ID).Extract()
		return err == nil && v.Status == "available"
	})
	require.NoError(t, volumes.Delete(t.Context(), c.cinder, v.ID, nil).ExtractErr())
	c.eventually(t, "gone", func() bool {
		_, err := volumes.Get(t.Context(), c.cinder, v.ID).Extract()
		return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
	})
}
