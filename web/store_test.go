package web_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/web"
)

var _ web.Packages = (*vnfpkg.Service)(nil)

// TestTheConsoleOverARealDatabase follows an operation while it is worked on.
func TestTheConsoleOverARealDatabase(t *testing.T) {
	t.Parallel()
	d := apitest.NewDomain(t)
	feed := store.NewFeed(d.Store.Store)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { feed.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	server := httptest.NewServer(handler(web.Deps{
		In: func(p lcm.Principal) web.Project {
			return web.Project{
				Instances: d.Service, Operations: d.Service, Packages: packages{sample()},
				Subscriptions: d.Subscriptions.In(p),
				Feed:          app.Feeds{Store: d.Store.Store, Feed: feed}.In(p),
			}
		},
		Nodes: func(context.Context) ([]gybeapi.Node, error) { return nil, nil }, Log: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	i, err := d.Service.CreateInstance(
		t.Context(), sol.CreateVnfRequest{VnfdID: apitest.VnfdID, VnfInstanceName: "first"},
	)
	require.NoError(t, err)
	op, err := d.Submit(t, i.ID, sol.LcmOperationInstantiate, apitest.Params())
	require.NoError(t, err)

	stream := open(t, server.URL+"/ui/events/operations/"+op.ID)
	require.Equal(t, sol.LcmOperationStateCompleted, d.Work(t, op.ID))
	seen := ""
	for lines := bufio.NewScanner(stream.Body); !strings.Contains(seen, "event: done") && lines.Scan(); {
		seen += lines.Text() + "\n"
	}
	require.NoError(t, stream.Body.Close())
	require.Contains(t, seen, "the first line</p>")
	require.Equal(t, 1, strings.Count(seen, "the second line</p>"))
	require.Contains(t, seen, "Instantiate is completed, 1 of 1 step done")
	require.Contains(t, seen, "event: done")

	for path, want := range map[string]string{
		"/ui/": "Instantiated", "/ui/instances/" + i.ID: "nfv_user", "/ui/operations/" + op.ID: "the second line",
	} {
		page := open(t, server.URL+path)
		text := new(strings.Builder)
		_, err := bufio.NewReader(page.Body).WriteTo(text)
		require.NoError(t, err)
		require.NoError(t, page.Body.Close())
		require.Contains(t, text.String(), want, path)
		require.NotContains(t, text.String(), apitest.Password, path)
	}
}

func open(t *testing.T, url string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, url)
	return resp
}
