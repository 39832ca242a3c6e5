package contract

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

// cloud is the cloud under test.
type cloud struct {
	heat, nova, neutron, glance, cinder *gophercloud.ServiceClient
	patience, pause                     time.Duration
	// real clouds show an update's state a moment after they accept it.
	real bool
}

// connect logs in to the real cloud that the environment names, or to a fresh simulated one.
func connect(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{patience: 10 * time.Second, pause: time.Millisecond}
	var opts gophercloud.AuthOptions
	region := simcloud.Region
	if os.Getenv("OS_AUTH_URL") != "" {
		var err error
		opts, err = openstack.AuthOptionsFromEnv()
		require.NoError(t, err)
		opts.AllowReauth = true
		if r := os.Getenv("OS_REGION_NAME"); r != "" {
			region = r
		}
		c.patience, c.pause, c.real = 5*time.Minute, 500*time.Millisecond, true
	} else {
		opts = simcloud.StartTest(t, simcloud.Options{}).AuthOptions()
	}
	p, err := openstack.AuthenticatedClient(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	eo := gophercloud.EndpointOpts{Region: region}
	for _, s := range []struct {
		into **gophercloud.ServiceClient
		make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&c.heat, openstack.NewOrchestrationV1},
		{&c.nova, openstack.NewComputeV2},
		{&c.neutron, openstack.NewNetworkV2},
		{&c.glance, openstack.NewImageV2},
		{&c.cinder, openstack.NewBlockStorageV3},
	} {
		*s.into, err = s.make(p, eo)
		require.NoError(t, err)
	}
	return c
}

// eventually polls at the pace of the cloud under test.
func (c *cloud) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, c.patience, c.pause, what)
}

// create makes a stack that goes with the test, and waits for a status.
func (c *cloud) create(t *testing.T, name string, body map[string]any, want string) *stacks.RetrievedStack {
	t.Helper()
	body["stack_name"] = name
	var out struct {
		Stack struct{ ID string } `json:"stack"`
	}
	resp, err := c.heat.Post(t.Context(), c.heat.ServiceURL("stacks"), body, &out, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	t.Cleanup(func() { c.remove(context.WithoutCancel(t.Context()), t, name, out.Stack.ID) })
	return c.await(t, name, out.Stack.ID, want)
}

func (c *cloud) await(t *testing.T, name, id, want string) *stacks.RetrievedStack {
	t.Helper()
	var st *stacks.RetrievedStack
	c.eventually(t, name+" is "+want, func() bool {
		var err error
		st, err = stacks.Get(t.Context(), c.heat, name, id).Extract()
		require.NoError(t, err)
		require.False(t, strings.HasSuffix(st.Status, "FAILED") && !strings.HasSuffix(want, "FAILED"), "%s: %s", st.Status, st.StatusReason)
		return st.Status == want
	})
	return st
}

// remove deletes a stack and waits until its page says so.
func (c *cloud) remove(ctx context.Context, t *testing.T, name, id string) {
	t.Helper()
	err := stacks.Delete(ctx, c.heat, name, id).ExtractErr()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return
	}
	require.NoError(t, err)
	c.eventually(t, name+" goes", func() bool {
		st, err := stacks.Get(ctx, c.heat, name, id).Extract()
		return gophercloud.ResponseCodeIs(err, http.StatusNotFound) || err == nil && st.Status == "DELETE_COMPLETE"
	})
}

func (c *cloud) patch(t *testing.T, name, id string, body map[string]any) {
	t.Helper()
	before, err := stacks.Get(t.Context(), c.heat, name, id).Extract()
	require.NoError(t, err)
	resp, err := c.heat.Patch(t.Context(), c.heat.ServiceURL("stacks", name, id), body, nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	c.eventually(t, "the update ends", func() bool {
		st, err := stacks.Get(t.Context(), c.heat, name, id).Extract()
		require.NoError(t, err)
		require.NotEqual(t, "UPDATE_FAILED", st.Status, st.StatusReason)
		return st.Status == "UPDATE_COMPLETE" && (!c.real || !st.UpdatedTime.Equal(before.UpdatedTime))
	})
}

func (c *cloud) resources(t *testing.T, name, id string) map[string]stackresources.Resource {
	t.Helper()
	page, err := stackresources.List(c.heat, name, id, stackresources.ListOpts{Depth: 2}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := stackresources.ExtractResources(page)
	require.NoError(t, err)
	out := map[string]stackresources.Resource{}
	for _, r := range list {
		if r.ParentResource != "" {
			r.Name = r.ParentResource + "/" + r.Name
		}
		out[r.Name] = r
	}
	return out
}

// refusal is the status, type and message of a refused orchestration call.
func refusal(t *testing.T, err error) (int, string, string) {
	t.Helper()
	e, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err)
	require.True(t, ok, "%v", err)
	var v struct {
		Code  int    `json:"code"`
		Title string `json:"title"`
		Error struct{ Type, Message string }
	}
	require.NoError(t, json.Unmarshal(e.Body, &v), "%s", e.Body)
	require.Equal(t, e.Actual, v.Code)
	require.NotEmpty(t, v.Title)
	return e.Actual, v.Error.Type, v.Error.Message
}
