package simcloud

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

func TestTwoRegionsShareIdentityAndNothingElse(t *testing.T) {
	t.Parallel()
	home := StartTest(t, Options{})
	away := StartTest(t, Options{Region: "RegionTwo", Home: home})
	require.Equal(t, home.AuthURL(), away.AuthURL())
	p, err := Login(t.Context(), away.AuthOptions())
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	for region, c := range map[string]*Cloud{Region: home, "RegionTwo": away} {
		n, err := openstack.NewNetworkV2(p, gophercloud.EndpointOpts{Region: region})
		require.NoError(t, err)
		_, err = networks.Create(t.Context(), n, networks.CreateOpts{Name: "only in " + region}).Extract()
		require.NoError(t, err)
		found := 0
		for _, net := range c.State()["networks"] {
			if net.Name == "only in "+region {
				found++
			}
			require.NotContains(t, net.Name, map[string]string{Region: "RegionTwo", "RegionTwo": Region}[region])
		}
		require.Equal(t, 1, found)
	}
	away.Close()
	p, err = Login(t.Context(), home.AuthOptions())
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	_, err = openstack.NewNetworkV2(p, gophercloud.EndpointOpts{Region: "RegionTwo"})
	require.Error(t, err, "a region that is gone is in no catalog")
}

func TestCertificateIsOfTheCloudsOwnAuthority(t *testing.T) {
	t.Parallel()
	c := StartTest(t, Options{TLS: true})
	get := func(pool *x509.CertPool) error {
		client := &http.Client{
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
		}
		t.Cleanup(client.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.AuthURL(), nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	own := x509.NewCertPool()
	require.True(t, own.AppendCertsFromPEM(c.CA()))
	require.NoError(t, get(own))
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, get(x509.NewCertPool()), &unknown)
	rule := c.AddFault(Fault{Kind: "reset", Service: "keystone"})
	require.ErrorContains(t, get(own), "reset")
	require.True(t, c.Faults().Remove(rule))
	require.NoError(t, get(own))
}

// building is how long a server takes: a busy machine stops the engine within it.
const building = time.Second

func TestEngineThatDiesLeavesStacksInProgress(t *testing.T) {
	t.Parallel()
	c := StartTest(t, Options{HeatRPCTimeout: 50 * time.Millisecond, Timing: Timing{
		Create: map[string]Duration{"OS::Nova::Server": Duration(building)},
	}})
	u := login(t, c)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	eventually(t, "servers are being built", func() bool { return len(c.State()["servers"]) == 2 })
	c.SetHeatEngine("killed")
	_, err := stacks.Get(t.Context(), u.heat, "vnf", id).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusInternalServerError), "%v", err)
	require.ErrorContains(t, err, "MessagingTimeout")
	c.SetHeatEngine("running")
	require.NoError(t, sim.Sleep(t.Context(), building+200*time.Millisecond))
	st, err := stacks.Get(t.Context(), u.heat, "vnf", id).Extract()
	require.NoError(t, err)
	require.Equal(t, "CREATE_IN_PROGRESS", st.Status, "no engine works on it")
	change(t, u, http.MethodPatch, "vnf", id, map[string]any{}, "UPDATE_COMPLETE")
	require.Len(t, c.State()["servers"], 2)

	c.SetHeatEngine("killed")
	c.SetHeatEngine("running")
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "vnf", id).ExtractErr())
	waitStack(t, u, id, "DELETE_COMPLETE")
}

func TestFrozenEngineGoesOn(t *testing.T) {
	t.Parallel()
	c := StartTest(t, Options{HeatRPCTimeout: 50 * time.Millisecond, Timing: Timing{
		Create: map[string]Duration{"OS::Nova::Server": Duration(building)},
	}})
	u := login(t, c)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	eventually(t, "servers are being built", func() bool { return len(c.State()["servers"]) == 2 })
	status, _, _ := call(t, "PUT", c.URL()+"/sim/heat/engine", "", `{"state": "frozen"}`)
	require.Equal(t, http.StatusNoContent, status)
	require.NoError(t, sim.Sleep(t.Context(), building+200*time.Millisecond))
	for _, s := range c.State()["stacks"] {
		require.Equal(t, "CREATE_IN_PROGRESS", s.Status, s.Name)
	}
	c.SetHeatEngine("running")
	waitStack(t, u, id, "CREATE_COMPLETE")
}
