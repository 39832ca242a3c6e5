package machines

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// site is a cloud whose servers are machines, as one user sees it.
type site struct {
	*testing.T
	nova, cinder *gophercloud.ServiceClient
	fleet        *machine.Fleet
	image        string
}

func newSite(t *testing.T) *site {
	t.Helper()
	cloud, f := StartTest(t, simcloud.Options{}, machine.Options{SSHPort: 2298})
	p, err := simcloud.Login(t.Context(), cloud.AuthOptions())
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	nova, err := openstack.NewComputeV2(p, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(t, err)
	cinder, err := openstack.NewBlockStorageV3(p, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(t, err)
	s := &site{T: t, nova: nova, cinder: cinder, fleet: f}
	for _, i := range cloud.State()["images"] {
		if strings.HasPrefix(i.Name, "ubuntu-22.04") {
			s.image = i.ID
		}
	}
	return s
}

// active waits for a server and returns its address.
func (s *site) active(id string) string {
	s.Helper()
	var srv *servers.Server
	require.Eventually(s, func() bool {
		var err error
		srv, err = servers.Get(s.Context(), s.nova, id).Extract()
		require.NoError(s, err)
		return srv.Status == "ACTIVE"
	}, time.Minute, time.Millisecond)
	return srv.Addresses[simcloud.Net0].([]any)[0].(map[string]any)["addr"].(string)
}

func (s *site) create(name, image, userData string, disks ...servers.BlockDevice) string {
	s.Helper()
	srv, err := servers.Create(s.Context(), s.nova, servers.CreateOpts{
		Name: name, FlavorRef: "3", ImageRef: image, UserData: []byte(userData), BlockDevice: disks,
	}, nil).Extract()
	require.NoError(s, err)
	return srv.ID
}

// run runs a command on a server as soon as it answers, and returns what it prints with the server's host key.
func (s *site) run(id, command string) (out, key string) {
	s.Helper()
	addr := net.JoinHostPort(s.active(id), strconv.Itoa(int(s.fleet.SSHPort())))
	require.EventuallyWithT(s, func(t *assert.CollectT) {
		conn, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{
			User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, Timeout: time.Minute,
			HostKeyCallback: func(_ string, _ net.Addr, k ssh.PublicKey) error {
				key = ssh.FingerprintSHA256(k)
				return nil
			},
		})
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		session, err := conn.NewSession()
		require.NoError(t, err)
		b, err := session.CombinedOutput(command)
		require.NoError(t, err, "%s", b)
		out = string(b)
	}, time.Minute, 10*time.Millisecond)
	return out, key
}

const (
	// unit is a service that is recorded on a disk.
	unit = "printf '[Service]\\nExecStart=/bin/sleep 100000\\n[Install]\\nWantedBy=multi-user.target\\n' | " +
		"sudo tee /etc/systemd/system/app.service; sudo systemctl daemon-reload; sudo systemctl enable app && " +
		"sudo systemctl start app && echo first | sudo tee /srv/data && " +
		"sudo apt-get update -q && sudo apt-get install -y haproxy"
	look = "cat /srv/data; systemctl is-active app || true; dpkg-query -W -f '${Package}' haproxy; echo; hostname; " +
		"cat /srv/seen"
	userData = "#cloud-config\nruncmd:\n- echo \"$(hostname)\" >> /srv/seen\n"
)

// TestImageOfAServerHasItsDisk: a server that is made from the image of a server has its files, packages and enabled
// services, and a name and host keys of its own.
func TestImageOfAServerHasItsDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.create("one", s.image, userData)
	s.run(one, "cloud-init status --wait; "+unit)
	image, err := servers.CreateImage(t.Context(), s.nova, one, servers.CreateImageOpts{Name: "copy"}).ExtractImageID()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		i, err := servers.Get(t.Context(), s.nova, one).Extract()
		require.NoError(t, err)
		return i.TaskState == ""
	}, time.Minute, time.Millisecond)
	_, key := s.run(one, "echo second | sudo tee /srv/data; sudo systemctl disable app")
	two := s.create("two", image, userData)
	out, other := s.run(two, "cloud-init status --wait >/dev/null; "+look)
	require.Contains(t, out, "first\nactive\nhaproxy\ntwo\none\ntwo\n")
	require.NotEqual(t, key, other)
	s.run(two, "echo third | sudo tee /srv/data")
	out, _ = s.run(one, look)
	require.Equal(t, "second\nactive\nhaproxy\none\none\n", out, "the disks are independent")
}

// TestVolumesKeepTheirContent: a root disk that is a volume outlives its server, and copies of volumes have what is on
// them, taken while they are in use.
func TestVolumesKeepTheirContent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	volume := func(o volumes.CreateOpts) string {
		t.Helper()
		o.Size = 20
		v, err := volumes.Create(t.Context(), s.cinder, o, nil).Extract()
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			now, err := volumes.Get(t.Context(), s.cinder, v.ID).Extract()
			require.NoError(t, err)
			return now.Status == "available"
		}, time.Minute, time.Millisecond)
		return v.ID
	}
	root := func(id string) servers.BlockDevice {
		return servers.BlockDevice{
			UUID: id, SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, BootIndex: 0,
		}
	}
	data := func(id string) servers.BlockDevice {
		d := root(id)
		d.BootIndex = -1
		return d
	}
	boot, disk := volume(volumes.CreateOpts{ImageID: s.image}), volume(volumes.CreateOpts{})
	one := s.create("one", "", "", root(boot), data(disk))
	const id = "sudo blkid -p -o value -s UUID /dev/vdb"
	s.run(one, "echo first | sudo tee /srv/data; sudo mkfs.ext4 -q /dev/vdb")
	uuid, _ := s.run(one, id)
	bootCopy, diskCopy := volume(volumes.CreateOpts{SourceVolID: boot}), volume(volumes.CreateOpts{SourceVolID: disk})
	s.run(one, "echo second | sudo tee /srv/data; sudo mkfs.ext4 -q /dev/vdb")
	changed, _ := s.run(one, id)
	require.NotEqual(t, uuid, changed)
	require.NoError(t, servers.Delete(t.Context(), s.nova, one).ExtractErr())
	require.Eventually(t, func() bool { return s.fleet.Machine(one) == nil }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		v, err := volumes.Get(t.Context(), s.cinder, boot).Extract()
		require.NoError(t, err)
		return v.Status == "available"
	}, time.Minute, time.Millisecond)

	out, _ := s.run(s.create("two", "", "", root(boot), data(disk)), "cat /srv/data; "+id)
	require.Equal(t, "second\n"+changed, out)
	out, _ = s.run(s.create("three", "", "", root(bootCopy), data(diskCopy)), "cat /srv/data; "+id)
	require.Equal(t, "first\n"+uuid, out)
}

// TestServerCanBeLoggedInTo goes the whole way: a server through Nova, its floating address, SSH, a command.
func TestServerCanBeLoggedInTo(t *testing.T) {
	t.Parallel()
	cloud, fleet := StartTest(t, simcloud.Options{}, machine.Options{SSHPort: 2298})
	p, err := simcloud.Login(t.Context(), cloud.AuthOptions())
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	nova, err := openstack.NewComputeV2(p, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(t, err)
	image := ""
	for _, i := range cloud.State()["images"] {
		if strings.HasPrefix(i.Name, "ubuntu-22.04") {
			image = i.ID
		}
	}
	srv, err := servers.Create(t.Context(), nova, servers.CreateOpts{Name: "Node_1", FlavorRef: "3", ImageRef: image},
		nil).Extract()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		srv, err = servers.Get(t.Context(), nova, srv.ID).Extract()
		require.NoError(t, err)
		return srv.Status == "ACTIVE"
	}, time.Minute, time.Millisecond)
	addr := srv.Addresses[simcloud.Net0].([]any)[0].(map[string]any)["addr"].(string)
	login := func() (string, error) {
		conn, err := ssh.Dial("tcp", net.JoinHostPort(addr, strconv.Itoa(int(fleet.SSHPort()))), &ssh.ClientConfig{
			User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")},
			HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute,
		})
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close() }()
		s, err := conn.NewSession()
		if err != nil {
			return "", err
		}
		out, err := s.Output("hostname; grep -c ^processor /proc/cpuinfo")
		return string(out), err
	}
	out, err := login()
	require.NoError(t, err)
	require.Equal(t, "node-1\n2\n", out)

	act := func(action string) {
		req, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, cloud.URL()+"/sim/machines/"+srv.ID+"/"+action, http.NoBody,
		)
		require.NoError(t, err)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusNoContent, resp.StatusCode)
	}
	act("kill")
	_, err = login()
	require.Error(t, err)
	act("reboot")
	require.Eventually(t, func() bool { _, err := login(); return err == nil }, time.Minute, 10*time.Millisecond)
	console, err := servers.ShowConsoleOutput(t.Context(), nova, srv.ID, servers.ShowConsoleOutputOpts{}).Extract()
	require.NoError(t, err)
	require.Contains(t, console, "SHA256:", "cloud-init prints the host keys' fingerprints")
	require.NoError(t, servers.Delete(t.Context(), nova, srv.ID).ExtractErr())
	require.Eventually(t, func() bool { return fleet.Machine(srv.ID) == nil }, time.Minute, time.Millisecond)
}
