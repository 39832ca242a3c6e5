package simcloud

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/stretchr/testify/require"
)

// createPort posts a port over a connection of its own, so that no retry hides what happened.
func createPort(ctx context.Context, t *testing.T, c *Cloud, token string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL()+"/network/v2.0/ports",
		strings.NewReader(`{"port":{"network_id":"`+c.Net0ID()+`","name":"p"}}`))
	require.NoError(t, err)
	req.Header.Set("X-Auth-Token", token)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func portCount(c *Cloud) int {
	n := 0
	for _, p := range c.State()["ports"] {
		if p.Name == "p" {
			n++
		}
	}
	return n
}

func TestFaultsOfCalls(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	for _, tc := range []struct {
		name  string
		rule  Fault
		check func(status int, body string, err error)
		made  int
	}{
		{
			"status in the service's form",
			Fault{Kind: "status", Status: 503, Reason: "busy"},
			func(status int, body string, err error) {
				require.NoError(t, err)
				require.Equal(t, 503, status)
				require.JSONEq(t, `{"NeutronError":{"type":"ServiceUnavailable","message":"busy","detail":""}}`, body)
			}, 0,
		},
		{"status with a body", Fault{
			Kind: "status", Status: 429, Body: `{"slow":"down"}`, Header: map[string]string{"Retry-After": "1"},
		}, func(status int, body string, err error) {
			require.NoError(t, err)
			require.Equal(t, 429, status)
			require.JSONEq(t, `{"slow":"down"}`, body)
		}, 0},
		{"html from a proxy", Fault{Kind: "html"}, func(status int, body string, err error) {
			require.NoError(t, err)
			require.Equal(t, 502, status)
			require.Contains(t, body, "<h1>502 Bad Gateway</h1>")
		}, 0},
		{"reset", Fault{Kind: "reset"}, func(_ int, _ string, err error) { require.Error(t, err) }, 0},
		{"reply dropped after the work", Fault{Kind: "drop_reply"}, func(_ int, _ string, err error) {
			require.ErrorIs(t, err, io.EOF)
		}, 1},
		{"body truncated after the work", Fault{Kind: "truncate"}, func(status int, _ string, err error) {
			require.Equal(t, 201, status)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}, 1},
		{"delay", Fault{Kind: "delay", Delay: Duration(30 * time.Millisecond)}, func(status int, _ string, err error) {
			require.NoError(t, err)
			require.Equal(t, 201, status)
		}, 1},
		{"token expires in the middle", Fault{Kind: "expire_tokens"}, func(status int, _ string, err error) {
			require.NoError(t, err)
			require.Equal(t, 401, status)
		}, 0},
	} {
		before := portCount(c)
		tc.rule.Service, tc.rule.Method, tc.rule.Path, tc.rule.Count = "neutron", "POST", `/ports$`, 1
		id := c.AddFault(tc.rule)
		begun := time.Now()
		status, body, err := createPort(t.Context(), t, c, u.Token())
		tc.check(status, body, err)
		require.GreaterOrEqual(t, time.Since(begun), time.Duration(tc.rule.Delay), tc.name)
		require.Equal(t, tc.made, portCount(c)-before, tc.name)
		r, ok := c.Faults().Get(id)
		require.True(t, ok)
		require.Equal(t, 1, r.Fired, tc.name)
		_, err = ports.Create(t.Context(), u.neutron, ports.CreateOpts{NetworkID: c.Net0ID(), Name: "after"}).Extract()
		require.NoError(t, err, "once only: %s", tc.name)
		c.Faults().Clear()
	}
}

func TestHangEndsWithTheClientOrTheRule(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	id := c.AddFault(Fault{Kind: "hang", Service: "neutron", Method: "POST"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := createPort(ctx, t, c, u.Token())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	done := make(chan error, 1)
	go func() {
		_, err := ports.Create(t.Context(), u.neutron, ports.CreateOpts{NetworkID: c.Net0ID(), Name: "p"}).Extract()
		done <- err
	}()
	eventually(t, "the second call hangs", func() bool { r, _ := c.Faults().Get(id); return r.Fired == 2 })
	c.Faults().Remove(id)
	require.Error(t, <-done)
	require.Zero(t, portCount(c))
}

func TestFaultsCountAndSkip(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	get := func() error {
		_, err := networks.Get(t.Context(), u.neutron, c.Net0ID()).Extract()
		return err
	}
	c.AddFault(Fault{Kind: "status", Status: 500, Service: "neutron", Nth: 2, Count: 2})
	var failed []int
	for i := range 5 {
		if get() != nil {
			failed = append(failed, i)
		}
	}
	require.Equal(t, []int{1, 2}, failed)
	c.Faults().Clear()
	c.AddFault(Fault{Kind: "status", Status: 500, Service: "neutron", Probability: 0.5})
	bad := 0
	for range 200 {
		if get() != nil {
			bad++
		}
	}
	require.Greater(t, bad, 50)
	require.Less(t, bad, 150)
}

func TestControlAPI(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	sim := c.URL() + "/sim/"
	status, _, body := call(t, "POST", sim+"faults", "", `{"kind":"status","service":"nova","status":500}`)
	require.Equal(t, http.StatusCreated, status, body)
	status, _, body = call(t, "GET", sim+"faults", "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"id":"fault-1"`)
	for _, bad := range []string{
		`{"kind":"nonsense"}`, `{"kind":"hang","colour":1}`, `{"kind":"hang","path":"("}`,
		`{"kind":"hang","probability":2}`, `{"kind":"status","status":7}`, `x`,
	} {
		status, _, body = call(t, "POST", sim+"faults", "", bad)
		require.Equal(t, http.StatusBadRequest, status, body)
	}
	status, _, _ = call(t, "DELETE", sim+"faults/fault-1", "", "")
	require.Equal(t, http.StatusNoContent, status)
	status, _, _ = call(t, "DELETE", sim+"faults/fault-1", "", "")
	require.Equal(t, http.StatusNotFound, status)

	id := bootServer(t, u, "s", nil, nil)
	waitServer(t, u, id, "ACTIVE")
	status, _, body = call(t, "GET", sim+"state", "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, id)
	status, _, body = call(t, "GET", sim+"calls", "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `{"service":"nova","method":"POST","route":"/compute/v2.1/servers","count":1}`)
	status, _, _ = call(t, "PUT", sim+"quotas/nova", "", `{"instances":1}`)
	require.Equal(t, http.StatusNoContent, status)
	status, _, _ = call(t, "PUT", sim+"hosts", "", `{"hosts":[{"name":"h","zone":"z"}]}`)
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, []Host{{Name: "h", Zone: "z"}}, c.Hosts())
	status, _, _ = call(t, "POST", sim+"machines/s/kill", "", "")
	require.Equal(t, http.StatusNotImplemented, status, "nothing is inside these servers")
	status, _, _ = call(t, "POST", sim+"machines/s/power_off", "", "")
	require.Equal(t, http.StatusNoContent, status)
	waitServer(t, u, id, "SHUTOFF")

	status, _, _ = call(t, "POST", sim+"reset", "", "")
	require.Equal(t, http.StatusNoContent, status)
	require.Empty(t, c.State()["servers"])
	require.Len(t, c.Hosts(), 8)
	_, err := networks.Get(t.Context(), u.neutron, c.Net0ID()).Extract()
	require.NoError(t, err, "tokens and network ids stay")
}

func TestServerFaultTextComesThroughHeat(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	c.AddFault(Fault{
		Kind: "fail_resource", ResourceType: "OS::Nova::Server", ResourceName: "worker", Action: "create",
		Reason: "Build of instance aborted: disk on fire",
	})
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	st := waitStack(t, u, id, "CREATE_FAILED")
	require.Contains(
		t, st.StatusReason, `Went to status ERROR due to "Message: Build of instance aborted: disk on fire, Code: 500"`,
	)
	var inError bool
	for _, s := range c.State()["servers"] {
		inError = inError || s.Status == "ERROR"
	}
	require.True(t, inError, "the broken server stays until the stack is deleted")
}

func TestLostReplyOfAStackCreate(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	c.AddFault(Fault{Kind: "drop_reply", Service: "heat", Method: "POST", Path: "/stacks$", Count: 1})
	_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks"),
		map[string]any{"stack_name": "vnf", "template": "heat_template_version: rocky"}, nil, nil)
	require.Error(t, err)
	var code gophercloud.ErrUnexpectedResponseCode
	require.NotErrorAs(t, err, &code, "no answer at all")
	require.Len(t, c.State()["stacks"], 1, "the work was done all the same")
}
