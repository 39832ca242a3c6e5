package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := client.New(s.URL+"/", nil)
	require.NoError(t, err)
	return c
}

func TestEndpointsAreChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "127.0.0.1:9890", "ftp://h", "http://", "http://%zz"} {
		_, err := client.New(bad, nil)
		require.Error(t, err, bad)
	}
}

// TestCredentialsOfVIMsDoNotFollowRedirects: a 307 repeats the body.
func TestCredentialsOfVIMsDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(other.Close)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	})
	_, err := c.CreateVim(t.Context(), gybeapi.Vim{AuthCred: sol.KeyValuePairs{"password": "correct-horse-battery"}})
	require.ErrorContains(t, err, c.Endpoint()+"/v1.0/vims redirects to "+other.URL+"/stolen")
	require.Zero(t, stolen.Load())
}

func TestListsFollowLinksOfAnotherPublicURL(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/vnflcm/v2/vnf_instances", r.URL.Path)
		assert.Equal(t, "2.0.0", r.Header.Get("Version"))
		assert.Equal(t, "(eq,id,1);(eq,id,2)", r.URL.Query().Get("filter"))
		switch r.URL.Query().Get("nextpage_opaque_marker") {
		case "":
			w.Header().Set("Link", `<https://nfv.example/prefix/vnflcm/v2/vnf_instances?filter=%28eq%2Cid%2C1%29%3B%28eq%2Cid%2C2%29&nextpage_opaque_marker=m>; rel="next"`)
			fmt.Fprint(w, `[{"id":"1"}]`)
		case "m":
			fmt.Fprint(w, `[{"id":"2"}]`)
		}
	})
	is, err := c.Instances(t.Context(), "(eq,id,1);(eq,id,2)", false)
	require.NoError(t, err)
	require.Len(t, is, 2)
}

func TestErrorsSayWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, media, body string
		status            int
		want              string
	}{
		{
			"problem", "application/problem+json",
			`{"title":"Conflict","status":409,"detail":"it is busy","hint":"wait"}`, 409,
			"409 Conflict: it is busy\n  hint: wait",
		},
		{
			"parameters", "application/problem+json; charset=utf-8",
			`{"title":"Invalid","status":422,"detail":"all of it","invalidParams":[{"pointer":"/a","detail":"x"},{"pointer":"","detail":"y"}]}`, 422,
			"422 Invalid\n  /a: x\n  the body: y",
		},
		{"a proxy's page", "text/html", "<h1>bad gateway</h1>", 502, "502 Bad Gateway: <h1>bad gateway</h1>"},
		{"nothing", "", "", 503, "503 Service Unavailable"},
		{"JSON of another kind", "application/json", `{"error":"x"}`, 500, `500 Internal Server Error: {"error":"x"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			_, err := c.Instance(t.Context(), "x")
			e, ok := errors.AsType[*client.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, tt.status, e.Status())
			require.Equal(t, tt.want, e.Error())
		})
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c, err := client.New(s.URL, nil)
	require.NoError(t, err)
	_, err = c.Instance(t.Context(), "x")
	var u *client.Unreachable
	require.ErrorAs(t, err, &u)
	require.ErrorContains(t, err, s.URL)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Instance(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
}

func TestRequestsAreWhatTheInterfacesAskFor(t *testing.T) {
	t.Parallel()
	type seen struct{ method, path, media, accept, body string }
	var got seen
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"), r.Header.Get("Accept"), string(body)}
		w.Header().Set("Location", "https://nfv.example/vnflcm/v2/vnf_lcm_op_occs/op-1")
		fmt.Fprint(w, `{"id":"i"}`)
	})
	ctx := t.Context()
	const accept = "application/json, application/problem+json;q=0.9"
	op, err := c.Instantiate(ctx, "a/b", json.RawMessage(`{"flavourId": "simple"}`))
	require.NoError(t, err)
	require.Equal(t, "op-1", op)
	require.Equal(t, seen{
		"POST", "/vnflcm/v2/vnf_instances/a%2Fb/instantiate", "application/json", accept, `{"flavourId": "simple"}`,
	}, got)

	_, err = c.Terminate(ctx, "i", sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
	require.NoError(t, err)
	require.JSONEq(t, `{"terminationType":"FORCEFUL"}`, got.body)

	for path, start := range map[string]func() (string, error){
		`scale {"type":"SCALE_IN","aspectId":"a","numberOfSteps":2}`: func() (string, error) {
			return c.Scale(ctx, "i", sol.ScaleVnfRequest{Type: sol.ScaleTypeIn, AspectID: "a", NumberOfSteps: 2})
		},
		`scale_to_level {"instantiationLevelId":"l"}`: func() (string, error) {
			return c.ScaleToLevel(ctx, "i", sol.ScaleVnfToLevelRequest{InstantiationLevelID: "l"})
		},
		`change_flavour {"newFlavourId":"f"}`: func() (string, error) {
			return c.ChangeFlavour(ctx, "i", sol.ChangeVnfFlavourRequest{NewFlavourID: "f"})
		},
		`heal {"vnfcInstanceId":["v"]}`: func() (string, error) {
			return c.Heal(ctx, "i", sol.HealVnfRequest{VnfcInstanceID: []string{"v"}})
		},
		`operate {"changeStateTo":"STOPPED"}`: func() (string, error) {
			return c.Operate(ctx, "i", sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped})
		},
		`change_ext_conn {"extVirtualLinks":[]}`: func() (string, error) {
			return c.ChangeExtConn(
				ctx, "i", sol.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: []sol.ExtVirtualLinkData{}},
			)
		},
		`change_vnfpkg {"vnfdId":"d"}`: func() (string, error) {
			return c.ChangePackage(ctx, "i", sol.ChangeCurrentVnfPkgRequest{VnfdID: "d"})
		},
	} {
		op, err = start()
		require.NoError(t, err)
		require.Equal(t, "op-1", op)
		task, body, _ := strings.Cut(path, " ")
		require.Equal(t, seen{"POST", "/vnflcm/v2/vnf_instances/i/" + task, "application/json", accept, body}, got)
	}
	op, err = c.Modify(ctx, "i", json.RawMessage(`{"metadata":null}`), `"7"`)
	require.NoError(t, err)
	require.Equal(t, "op-1", op)
	require.Equal(
		t, seen{"PATCH", "/vnflcm/v2/vnf_instances/i", "application/merge-patch+json", accept, `{"metadata":null}`},
		got,
	)
	_, err = c.Start(ctx, "i", sol.LcmOperationModifyInfo, json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, "PATCH", got.method)
	_, err = c.Start(ctx, "i", "REBOOT", json.RawMessage(`{}`))
	require.ErrorContains(t, err, "REBOOT")

	require.NoError(t, c.Cancel(ctx, "o", sol.CancelModeForceful))
	require.Equal(
		t, seen{"POST", "/vnflcm/v2/vnf_lcm_op_occs/o/cancel", "application/json", accept, `{"cancelMode":"FORCEFUL"}`},
		got,
	)

	_, err = c.Plan(ctx, gybeapi.PlanRequest{VnfInstanceID: "i", Operation: sol.LcmOperationHeal})
	require.NoError(t, err)
	require.Equal(
		t, seen{"POST", "/gybe/v1/plan", "application/json", accept, `{"vnfInstanceId":"i","operation":"HEAL"}`}, got,
	)
	_, err = c.Leftovers(ctx, "i")
	require.NoError(t, err)
	require.Equal(t, seen{"GET", "/gybe/v1/vnf_instances/i/leftovers", "", accept, ""}, got)
	_, err = c.RemoveLeftovers(ctx, "i")
	require.NoError(t, err)
	require.Equal(t, "DELETE", got.method)

	require.NoError(t, c.Retry(ctx, "o"))
	require.Equal(t, seen{"POST", "/vnflcm/v2/vnf_lcm_op_occs/o/retry", "", accept, ""}, got)

	require.NoError(t, c.UploadPackage(ctx, "p", strings.NewReader("PK")))
	require.Equal(t, seen{"PUT", "/vnfpkgm/v1/vnf_packages/p/package_content", "application/zip", accept, "PK"}, got)

	require.NoError(t, c.UpdatePackage(
		ctx, "p", sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled},
	))
	require.Equal(t, "application/merge-patch+json", got.media)

	raw, err := c.Kubeconfig(ctx, "i")
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"i"}`, string(raw))
	require.Contains(t, got.accept, "application/yaml")

	body, err := c.PackageContent(ctx, "p")
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Contains(t, got.accept, "application/zip")
}

func TestTheEventFeedIsRead(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 100_000)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "5-6", r.URL.Query().Get("since"))
		assert.Equal(t, "op", r.URL.Query().Get("vnfLcmOpOccId"))
		fmt.Fprint(w, "retry: 1000\n\n: alive\n\n")
		fmt.Fprint(
			w, "id: 7-1\r\nevent: op.state\r\ndata: {\"cursor\":\"7-1\",\r\ndata: \"kind\":\"op.state\"}\r\n\r\n",
		)
		fmt.Fprintf(w, "id: 7-2\ndata: {\"cursor\":\"7-2\",\"kind\":\"step.log\",\"body\":{\"x\":%q}}\n\n", big)
		fmt.Fprint(w, "id: 7-3\ndata: {\"cursor\":\"7-3\"") // cut off
	})
	var cursors []string
	var last error
	for e, err := range c.Events(t.Context(), client.EventQuery{OpID: "op", After: "5-6"}) {
		if err != nil {
			last = err
			break
		}
		cursors = append(cursors, e.Cursor)
	}
	require.Equal(t, []string{"7-1", "7-2"}, cursors)
	var u *client.Unreachable
	require.ErrorAs(t, last, &u, "a stream that ends is a connection that broke")

	for e := range c.Events(t.Context(), client.EventQuery{OpID: "op", After: "5-6"}) {
		require.Equal(t, gybeapi.KindOperationState, e.Kind)
		break // the reader has enough
	}
}

func TestAnswerThatBreaksOffIsAServerThatIsAway(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"id":`))
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, nil)
	require.NoError(t, err)
	_, err = c.Operation(t.Context(), "1")
	var away *client.Unreachable
	require.ErrorAs(t, err, &away)
}
