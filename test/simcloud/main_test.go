package simcloud

import (
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// a server connection that the client wanted closed lingers for half a second
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// user is a logged-in client with one service client per service.
type user struct {
	*gophercloud.ProviderClient
	heat, nova, neutron, glance, cinder, keystone *gophercloud.ServiceClient
}

func login(t *testing.T, c *Cloud) *user {
	t.Helper()
	return loginAs(t, c, c.AuthOptions())
}

func loginAs(t *testing.T, c *Cloud, opts gophercloud.AuthOptions) *user {
	t.Helper()
	p, err := Login(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	eo := gophercloud.EndpointOpts{Region: Region}
	u := &user{ProviderClient: p}
	for _, s := range []struct {
		into **gophercloud.ServiceClient
		make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&u.heat, openstack.NewOrchestrationV1},
		{&u.nova, openstack.NewComputeV2},
		{&u.neutron, openstack.NewNetworkV2},
		{&u.glance, openstack.NewImageV2},
		{&u.cinder, openstack.NewBlockStorageV3},
		{&u.keystone, openstack.NewIdentityV3},
	} {
		sc, err := s.make(p, eo)
		require.NoError(t, err)
		*s.into = sc
	}
	return u
}

// eventually polls a condition as quickly as the cloud can change.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, time.Millisecond, what)
}

func start(t *testing.T) (*Cloud, *user) {
	t.Helper()
	c := StartTest(t, Options{})
	return c, login(t, c)
}
