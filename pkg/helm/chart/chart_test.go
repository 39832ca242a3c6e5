package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/helm/chart"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
)

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.2.3\n"

// files is a chart with other files beside it.
func files(more map[string]string) fstest.MapFS {
	all := fstest.MapFS{
		"charts/web/Chart.yaml":          {Data: []byte(chartYAML)},
		"charts/web/values.yaml":         {Data: []byte("replicaCount: 1\n")},
		"charts/web/templates/pods.yaml": {Data: []byte("kind: Deployment\n")},
	}
	for name, text := range more {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// packed is the chart as an archive.
func packed(t *testing.T, yaml string) []byte {
	t.Helper()
	buf := &bytes.Buffer{}
	z := gzip.NewWriter(buf)
	w := tar.NewWriter(z)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "web/Chart.yaml", Mode: 0o600, Size: int64(len(yaml))}))
	_, err := w.Write([]byte(yaml))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return buf.Bytes()
}

func TestChartOfAPackage(t *testing.T) {
	t.Parallel()
	all := files(map[string]string{"web.tgz": string(packed(t, chartYAML))})
	for _, at := range []string{"charts/web", "charts/web/", "./charts/web", "web.tgz"} {
		c, err := chart.FromPackage(all, at)
		require.NoError(t, err, at)
		require.Equal(t, "web-1.2.3", c.Metadata.Name+"-"+c.Metadata.Version)
	}
}

func TestChartOfAPackageIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, at, file, text, want string }{
		{"absent", "charts/other", "", "", "does not have it"},
		{"outside of the package", "../etc", "", "", "does not have it"},
		{"no chart", "charts/web", "charts/web/Chart.yaml", "name: [", "Chart.yaml"},
		{"no version", "charts/web", "charts/web/Chart.yaml", "apiVersion: v2\nname: web\n", "version"},
		{"a library", "charts/web", "charts/web/Chart.yaml", chartYAML + "type: library\n", "library"},
		{
			"a dependency that is not there", "charts/web", "charts/web/Chart.yaml",
			chartYAML + "dependencies: [{name: db, version: 1.0.0, repository: 'https://example.com'}]\n", "db",
		},
		{"no archive", "web.tgz", "web.tgz", "text", "web.tgz"},
		{"too large", "charts/web", "charts/web/blob", strings.Repeat("x", 33<<20), "larger than 32 MiB"},
		{"an archive that is too large", "web.tgz", "web.tgz", strings.Repeat("x", 11<<20), "larger than 10 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := chart.FromPackage(files(map[string]string{tt.file: tt.text}), tt.at)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
		})
	}
}

// serve is a chart repository at /charts, and a registry, with the user "u" and the password "p".
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	archive := packed(t, chartYAML)
	sumOf := sha256.Sum256(archive)
	blob := "sha256:" + hex.EncodeToString(sumOf[:])
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": blob, "size": 2},
		"layers": []any{map[string]any{
			"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": blob, "size": len(archive),
		}},
	})
	require.NoError(t, err)
	sum := sha256.Sum256(manifest)
	tag := "sha256:" + hex.EncodeToString(sum[:])
	mux := http.NewServeMux()
	mux.HandleFunc("/charts/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `apiVersion: v1
entries:
  web:
  - {name: web, version: 1.2.3, urls: [web.tgz], digest: %s}
  - {name: web, version: 1.0.0, urls: [wrong.tgz], digest: %s}
  - {name: web}
  local:
  - {name: local, version: 1.0.0, urls: ['file:///etc/passwd']}
`, hex.EncodeToString(sumOf[:]), tag)
	})
	for _, name := range []string{"web.tgz", "wrong.tgz"} {
		mux.HandleFunc("/charts/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	}
	content := func(kind, digest string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", digest)
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = w.Write(body)
		}
	}
	mux.HandleFunc("/v2/charts/web/manifests/", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/1.2.3_a") && !strings.HasSuffix(r.URL.Path, tag) {
			http.NotFound(w, r)
			return
		}
		content("application/vnd.oci.image.manifest.v1+json", tag, manifest)(w, r)
	})
	mux.HandleFunc("/v2/charts/web/blobs/"+blob, content("application/octet-stream", blob, archive))
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFetch(t *testing.T) {
	t.Parallel()
	s := serve(t)
	servers := chart.NewServers(nil, func(http.RoundTripper) http.RoundTripper { return s.Client().Transport })
	t.Cleanup(servers.Close)
	repository, registry := s.URL+"/charts/", strings.Replace(s.URL, "https", "oci", 1)+"/charts"
	for _, tt := range []struct {
		name string
		src  chart.Source
		want string // of the error
		code lcm.Code
	}{
		{"newest", chart.Source{Repository: repository, Name: "web"}, "", ""},
		{"a range", chart.Source{Repository: repository, Name: "web", Version: "^1.1"}, "", ""},
		{"a registry", chart.Source{Repository: registry, Name: "web", Version: "1.2.3+a"}, "", ""},
		{
			"another digest",
			chart.Source{Repository: repository, Name: "web", Version: "1.0.0"},
			"digest", lcm.CodeUnprocessable,
		},
		{"no such chart", chart.Source{Repository: repository, Name: "db"}, "does not have it", lcm.CodeUnprocessable},
		{
			"no such version",
			chart.Source{Repository: repository, Name: "web", Version: "9.0.0"},
			"9.0.0", lcm.CodeUnprocessable,
		},
		{"a local file", chart.Source{Repository: repository, Name: "local"}, "file://", lcm.CodeUnprocessable},
		{"no repository", chart.Source{Repository: s.URL, Name: "web"}, "404", lcm.CodeUnprocessable},
		{
			"no such tag",
			chart.Source{Repository: registry, Name: "web", Version: "2.0.0"},
			"404", lcm.CodeUnprocessable,
		},
		{"a password", chart.Source{Repository: repository, Name: "web", Password: "no"}, "401", lcm.CodeUpstream},
		{
			"a password at a registry",
			chart.Source{Repository: registry, Name: "web", Version: "1", Password: "no"},
			"401", lcm.CodeUpstream,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.src.Username = "u"
			if tt.src.Password == "" {
				tt.src.Password = "p"
			}
			c, err := servers.Fetch(t.Context(), tt.src)
			if tt.want == "" {
				require.NoError(t, err)
				require.Equal(t, "1.2.3", c.Metadata.Version)
				return
			}
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.code, lcm.AsError(err).Code)
		})
	}
}

// TestFetchObeysThePolicy: no address that the operator has forbidden is contacted.
func TestFetchObeysThePolicy(t *testing.T) {
	t.Parallel()
	s := serve(t)
	servers := chart.NewServers(&outbound.Policy{Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil)
	t.Cleanup(servers.Close)
	for _, src := range []chart.Source{
		{Repository: s.URL, Name: "web"},
		{Repository: strings.Replace(s.URL, "https", "oci", 1), Name: "web", Version: "1.2.3"},
	} {
		_, err := servers.Fetch(t.Context(), src)
		require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code, "%v", err)
		require.Equal(t, lcm.Permanent, lcm.AsError(err).Class)
	}
}

func TestSourceCheck(t *testing.T) {
	t.Parallel()
	for repository, want := range map[string]string{
		"https://example.com/charts":     "",
		"file:///etc":                    "is not a URL",
		"oci://example.com/charts":       "needs helm_chart_version",
		"https://u:p@example.com/charts": "has credentials",
	} {
		err := chart.Source{Repository: repository, Name: "web"}.Check()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}
