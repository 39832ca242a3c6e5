package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// keyed sends a POST with an Idempotency-Key, and returns the status and the Location; 0 without an answer.
func keyed(ctx context.Context, n *real, path, body, key string) (status int, location string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Version": "2.0.0", "Idempotency-Key": key,
	} {
		r.Header.Set(name, value)
	}
	if path == "/vnfpkgm/v1/vnf_packages" {
		r.Header.Del("Version")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = a.Body.Close() }()
	_, _ = io.Copy(io.Discard, a.Body)
	return a.StatusCode, a.Header.Get("Location")
}

// pathOf is the path of a Location; its host is that of the node.
func pathOf(t *testing.T, location string) string {
	t.Helper()
	u, err := url.Parse(location)
	require.NoError(t, err)
	require.NotEmpty(t, u.Path)
	return u.Path
}

// TestDeathInARequestWithAKey: a node dies at the write of a request with an Idempotency-Key, before or after it is
// durable. The client sends the same request to another node, twice. It has taken effect once.
func TestDeathInARequestWithAKey(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	p := w.pair()
	vnfd := w.onboard(p.b.api, plainSource)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	instantiate, err := json.Marshal(w.plain())
	require.NoError(t, err)
	g := w.newGate("request_key")
	for name, tt := range map[string]struct{ path, body, table string }{
		"instance":     {"/vnflcm/v2/vnf_instances", `{"vnfdId":"` + vnfd + `"}`, "vnf_instance"},
		"operation":    {"/vnflcm/v2/vnf_instances/%s/instantiate", string(instantiate), "vnf_lcm_op_occ"},
		"subscription": {"/vnflcm/v2/subscriptions", `{"callbackUri":"` + s.URL + `"}`, "subscription"},
		"package":      {"/vnfpkgm/v1/vnf_packages", `{}`, "vnf_package"},
	} {
		for after, when := range deaths {
			key, path, status := uuid.NewString(), tt.path, http.StatusCreated
			if strings.Contains(path, "%s") {
				path, status = fmt.Sprintf(path, w.create(p.b.api, vnfd)), http.StatusAccepted
			}
			count := func() int {
				n, err := strconv.Atoi(w.column("SELECT count(*)::text FROM " + tt.table)[0])
				require.NoError(t, err)
				return n
			}
			before := count()
			require.True(t, g.dies(1, after, p.a.Kill, func() { keyed(t.Context(), p.a, path, tt.body, key) }),
				"%s: the request wrote no key", name)
			code, location := keyed(t.Context(), p.b, path, tt.body, key)
			require.Equal(t, status, code, "%s, %s", name, when)
			p.a.restart()
			code, again := keyed(t.Context(), p.a, path, tt.body, key)
			require.Equal(t, status, code, "%s, %s", name, when)
			require.Equal(t, pathOf(t, location), pathOf(t, again))
			require.Equal(t, before+1, count(), "%s, %s", name, when)
		}
	}
}
