package e2e_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// page reads a page of the node, or its metrics.
func page(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
	return string(body)
}

// TestUnavailableVimIsShownEverywhere: the registry, the console, the list of nodes and the metrics report a VIM that
// does not answer, with the reason. They also report that it answers again, if no operation asks it.
func TestUnavailableVimIsShownEverywhere(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *configuration) { c.DebugListen = "127.0.0.1:0" })
	stub := stubcloud.New(t)
	answers := func(login http.HandlerFunc) {
		stub.Mu.Lock()
		defer stub.Mu.Unlock()
		stub.Token, stub.Login = "none", login
	}
	conn := stub.Vim()
	vim, err := w.api.CreateVim(t.Context(), gybeapi.Vim{
		Name: "stub", Type: "openstack", AuthURL: conn.InterfaceInfo["endpoint"].(string),
		PlacementAttr: sol.KeyValuePairs{"regions": []string{"RegionOne"}},
		VimProject:    sol.KeyValuePairs{"name": "nfv", "project_domain_name": "Default"},
		AuthCred: sol.KeyValuePairs{
			"username": "nfv_user", "password": "s3cret-word", "user_domain_name": "Default",
		},
	})
	require.NoError(t, err)
	require.Equal(t, "ACTIVE", vim.Status)

	vnfd := w.onboard(plainSource)
	params := w.plain("default")
	params["vimConnectionInfo"] = map[string]any{"vim1": map[string]any{"vimId": vim.ID, "vimType": conn.VimType}}
	shown := func(status string, nodes int, metric string) {
		t.Helper()
		require.Eventually(t, func() bool {
			v, err := w.api.Vim(t.Context(), vim.ID)
			require.NoError(t, err)
			return v.Status == status
		}, patience, 10*time.Millisecond)
		list, err := w.api.Vims(t.Context())
		require.NoError(t, err)
		require.Equal(t, status, list[0].Status)
		all, err := w.api.Nodes(t.Context())
		require.NoError(t, err)
		require.Equal(t, nodes, all[0].UnavailableVims)
		metrics := page(t, "http://"+w.node.DebugAddr()+"/metrics")
		require.Contains(t, metrics, "\ngybe_vims{state=\"unavailable\"} "+metric+"\n")
		require.NotContains(t, metrics, stub.URL, "a VIM belongs to a project")
	}

	answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, _ = w.api.Plan(t.Context(), gybeapi.PlanRequest{ // it reports what it could not check
		Operation: sol.LcmOperationInstantiate, VnfInstanceID: w.create(vnfd), Params: encode(t, params),
	})
	shown("UNREACHABLE", 1, "1")
	v, err := w.api.Vim(t.Context(), vim.ID)
	require.NoError(t, err)
	require.Contains(t, v.StatusReason, "does not answer since 20")
	require.Contains(t, v.StatusReason, "Keystone at "+stub.URL+"/identity/v3/auth/tokens answered 503")

	id := w.create(vnfd)
	op, err := w.api.Instantiate(t.Context(), id, encode(t, params))
	require.NoError(t, err)
	text := page(t, w.node.URL()+"/ui/instances/"+id)
	require.Contains(t, text, "Does not answer")
	require.Contains(t, text, "answered 503")
	require.NoError(t, w.api.Cancel(t.Context(), op, sol.CancelModeForceful))
	w.resting(op)

	answers(nil) // and no request or operation asks it
	shown("ACTIVE", 0, "0")
	require.NotContains(t, page(t, w.node.URL()+"/ui/instances/"+id), "Does not answer")
}
