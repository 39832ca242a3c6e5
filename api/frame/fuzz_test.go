package frame_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/paging"
)

// fuzzValues is the limit of values in FuzzBodies, and fuzzAttribute that of attributes.
const (
	fuzzValues    = 500
	fuzzAttribute = 2000
)

// withBodies is a frame with every request of our documents that has a body; handlers send the body back.
func withBodies(f *testing.F) (h http.Handler, targets [][2]string) {
	f.Helper()
	fr := frame.New(frame.Options{
		Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20,
		Limits: frame.Limits{Values: fuzzValues, Attribute: fuzzAttribute, Params: fuzzAttribute},
	})
	for _, name := range openapi.Names() {
		doc, err := openapi.Load(name)
		require.NoError(f, err)
		prefix := "/" + name
		api := frame.API{
			Prefix: prefix, Document: frame.NewDocument(func() (*openapi3.T, error) { return doc, nil }),
		}
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				if op.RequestBody == nil || op.RequestBody.Value.GetMediaType("application/zip") != nil {
					continue
				}
				plain := strings.NewReplacer("{", "", "}", "").Replace(path)
				targets = append(targets, [2]string{method, prefix + plain})
				api.Routes = append(api.Routes, frame.Route{
					Method: method, Path: plain, Schema: path, Consumes: frame.Patches,
					Handle: func(w http.ResponseWriter, r *frame.Request) error {
						return frame.WriteJSON(w, http.StatusOK, r.Raw)
					},
				})
			}
		}
		fr.Mount(api)
	}
	require.NoError(f, fr.Preload())
	slices.SortFunc(targets, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	return fr, targets
}

// FuzzBodies: a body either arrives at the handler as it was sent and within the limits, or it is rejected with
// pointers that lead into it.
func FuzzBodies(f *testing.F) {
	h, targets := withBodies(f)
	for n := range targets {
		for _, body := range []string{
			`{}`, `[]`, `{"metadata":{"a":[[],{}]}}`, `{"additionalParams":{"x":"` + strings.Repeat("x", 990) + `"}}`,
			`{"vim":{"auth_cred":{"a":1}}}`, `{"operation":"HEAL","vnfInstanceId":"x","params":{"cause":"\u0000"}}`,
			`{"vimConnectionInfo":{"a":{"vimType":"b","extra":{"":[` + strings.Repeat(`{},`, 600) + `0]}}}}`,
		} {
			f.Add(uint8(n), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		target := targets[int(n)%len(targets)]
		r := httptest.NewRequest(target[0], target[1], bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusOK {
			require.JSONEq(t, string(body), w.Body.String())
			var v any
			require.NoError(t, json.Unmarshal(body, &v))
			require.LessOrEqual(t, count(v), fuzzValues)
			return
		}
		require.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, w.Code, w.Body.String())
		var p sol.ProblemDetails
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.NotEmpty(t, p.Detail)
		for _, ip := range p.InvalidParams {
			require.True(t, ip.Pointer == "" || ip.Pointer[0] == '/', "%q", ip.Pointer)
		}
	})
}

// count counts the values of decoded JSON. A member that is given twice counts once.
func count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += count(e)
		}
	case map[string]any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}

// FuzzRange: an answer with a part of a file is the part that it says.
func FuzzRange(f *testing.F) {
	content := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	fr := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler)})
	fr.Mount(frame.API{Prefix: "/x", Routes: []frame.Route{{
		Method: "GET", Path: "/file",
		Handle: func(w http.ResponseWriter, r *frame.Request) error {
			w.Header().Set("ETag", `"1"`)
			modified := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			return frame.ServeContent(w, r, modified, int64(len(content)), bytes.NewReader(content), time.Minute)
		},
	}}})
	for _, s := range []string{
		"bytes=0-3", "bytes=-5", "bytes=9-", "bytes=50-", "bytes=3-1", "bytes=", "lines=1-2", "bytes=0-1,2-3", "x",
		"bytes=0-99999999999999999999",
	} {
		f.Add(s, "", "")
	}
	f.Add("bytes=1-2", `"1"`, "")
	f.Add("bytes=1-2", `"2"`, `"1"`)
	f.Fuzz(func(t *testing.T, ranges, ifRange, ifMatch string) {
		r := httptest.NewRequest(http.MethodGet, "/x/file", http.NoBody)
		for name, value := range map[string]string{"Range": ranges, "If-Range": ifRange, "If-Match": ifMatch} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		fr.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK:
			require.Equal(t, content, w.Body.Bytes())
		case http.StatusPartialContent:
			var from, to, size int
			_, err := fmt.Sscanf(w.Header().Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size)
			require.NoError(t, err, w.Header().Get("Content-Range"))
			require.Equal(t, len(content), size)
			require.Equal(t, string(content[from:to+1]), w.Body.String())
		case http.StatusBadRequest, http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed:
			require.Equal(t, frame.ProblemType, w.Header().Get("Content-Type"))
		default:
			require.Fail(t, "unexpected status", "%d %s", w.Code, w.Body)
		}
	})
}

// FuzzListQuery: whatever filter, selectors and marker say, a list answers with some of its resources, each of them
// once, or with 400; its pages end.
func FuzzListQuery(f *testing.F) {
	signer, err := paging.NewSigner([]byte("0123456789abcdef"))
	require.NoError(f, err)
	fr := frame.New(frame.Options{
		Log: slog.New(slog.DiscardHandler), PublicURL: "http://x", PageSize: 7, Markers: signer,
		Limits: frame.Limits{PageBytes: 3 * largeText},
	})
	fr.Mount(frame.API{Prefix: "/lists", Routes: []frame.Route{
		{Method: "GET", Path: "/stored", Query: frame.ListParams, Handle: storedThings()},
		{Method: "GET", Path: "/typed", Query: frame.ListParams, Handle: typedThings()},
	}})
	for _, s := range []string{
		"", "all_fields", "filter=(eq,id,003)", "filter=(cont,metadata/k,0)&fields=metadata/k",
		"filter=(gt,id,004);(neq,metadata/@key,x)", "exclude_fields=id,metadata", "nextpage_opaque_marker=AQ",
		"filter=(eq,a", "fields=%ff", "filter=(in,id,'1','''')&exclude_default&fields=_links",
		";=&;",
		"filter=(eq,id,\x00)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, list := range []string{"/lists/stored", "/lists/typed"} {
			seen := map[string]bool{}
			for path, pages := query, 0; ; pages++ {
				require.Less(t, pages, inPages)
				r := httptest.NewRequest(http.MethodGet, list, http.NoBody)
				r.URL.RawQuery = path
				w := httptest.NewRecorder()
				fr.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					require.Equal(t, http.StatusBadRequest, w.Code, w.Body.String())
					break
				}
				var page []sol.VnfInstance
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
				require.LessOrEqual(t, len(page), 7)
				for _, v := range page {
					require.False(t, seen[v.ID], v.ID)
					seen[v.ID] = true
				}
				link := w.Header().Get("Link")
				if link == "" {
					break
				}
				_, path, _ = strings.Cut(link[1:strings.Index(link, ">")], "?")
			}
			require.LessOrEqual(t, len(seen), inPages)
		}
	})
}

// FuzzOrigins: a host that is accepted is a name of the server or an IP address.
func FuzzOrigins(f *testing.F) {
	o, err := frame.NewOrigins([]string{"vnfm.example.org", "*.cluster.local"}, nil)
	require.NoError(f, err)
	for _, s := range []string{
		"vnfm.example.org:1", "a.cluster.local", "127.0.0.1:1", "[::1]", "evil", "x:y:z", "[a]:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Host = host
		if err := o.Check(r); err != nil {
			require.Equal(t, lcm.CodeMisdirected, lcm.AsError(err).Code)
			return
		}
		name := strings.TrimSuffix(strings.ToLower(host), ".")
		if i := strings.LastIndexByte(name, ':'); i >= 0 && strings.Count(name, ":") == 1 {
			name = strings.TrimSuffix(name[:i], ".")
		}
		bare := strings.Trim(name, "[]")
		if i := strings.LastIndex(bare, "]:"); i >= 0 {
			bare = bare[:i]
		}
		_, err := netip.ParseAddr(strings.TrimSuffix(bare, "."))
		require.True(t, err == nil || strings.Trim(bare, ".") == "" || bare == "vnfm.example.org" ||
			strings.HasSuffix(bare, ".cluster.local"), "%q", host)
	})
}
