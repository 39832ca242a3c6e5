package conformance_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// existing puts the identifiers of resources that exist into the path.
func (r route) existing(v values) string {
	path := r.path
	if strings.HasPrefix(path, "/vnfpkgm") {
		path = strings.Replace(path, "{subscriptionId}", v["package subscription"], 1)
	}
	for name, value := range map[string]string{
		"{vnfInstanceId}": v["instance"], "{vnfLcmOpOccId}": v["operation"], "{vnfPkgId}": v["package"],
		"{vnfdId}": v["vnfd"], "/*": "/" + v["artifact"], "{subscriptionId}": v["subscription"],
		"{vnfSnapshotInfoId}": v["snapshot"],
	} {
		path = strings.Replace(path, name, value, 1)
	}
	return path
}

// testReads reads every resource with GET, with HEAD, only if it has changed, and compressed.
func (n *node) testReads(t *testing.T, routes []route) {
	t.Helper()
	ctx := t.Context()
	v, err := n.instances(ctx)
	require.NoError(t, err)
	of, err := n.packageWithArtifacts(ctx)
	require.NoError(t, err)
	maps.Copy(v, of)
	of, err = n.subscription(ctx)
	require.NoError(t, err)
	v["subscription"] = of["subscription"]
	if slices.Contains(routes, route{http.MethodPost, packageSubscriptions}) {
		of, err = n.packageSubscription(ctx)
		require.NoError(t, err)
		v["package subscription"] = of["subscription"]
	}
	of, err = n.snapshots(ctx)
	require.NoError(t, err)
	v["snapshot"] = of["snapshot"]
	for _, r := range routes {
		if r.method != http.MethodGet {
			continue
		}
		path := r.existing(v)
		require.NotContains(t, path, "{", "no state has this resource")
		m := message{method: http.MethodGet, path: path, header: map[string]string{}}
		whole, err := n.send(ctx, m)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, whole.status, "%s: %s", path, whole.body)

		m.method = http.MethodHead
		head, err := n.send(ctx, m)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, head.status, path)
		require.Empty(t, head.body, path)
		for _, name := range []string{"Content-Type", "Etag", "Last-Modified", "Link", "Version", "Accept-Ranges"} {
			require.Equal(t, whole.header.Get(name), head.header.Get(name), "%s of HEAD %s", name, path)
		}

		m.method = http.MethodGet
		tag := whole.header.Get("ETag")
		require.NotEmpty(t, tag, path)
		m.header["If-None-Match"] = tag
		same, err := n.send(ctx, m)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotModified, same.status, path)
		require.Empty(t, same.body, path)
		require.Equal(t, tag, same.header.Get("ETag"), path)
		m.header["If-None-Match"] = `"other"`
		m.header["Accept-Encoding"] = "gzip"
		packed, err := n.send(ctx, m)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, packed.status, path)
		body := packed.body
		if packed.header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(bytes.NewReader(body))
			require.NoError(t, err)
			body, err = io.ReadAll(unpacked)
			require.NoError(t, err)
		}
		require.Equal(t, whole.body, body, path)
	}
}
