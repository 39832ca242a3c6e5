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
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

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
