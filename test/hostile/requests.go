package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/test/stack"
)

// pick returns one element.
func pick[T any](of []T) T { return of[rand.IntN(len(of))] }

// consolePage reads a page of the console, as an attacker who hopes that it is expensive.
func (b *battle) consolePage(ctx context.Context, kind string, n int) {
	pages := []string{"/ui/", "/ui/packages", "/ui/nodes", "/ui/?after=" + uuid.NewString(), "/ui/instances/x"}
	b.send(ctx, kind, http.MethodGet, pages[n%len(pages)], nil)
}

// jsonBomb sends bodies that are small and large in memory, stores what the node accepts, and lists it.
func (b *battle) jsonBomb(ctx context.Context, kind string, n int) {
	value := []string{
		list(`[]`, 300_000), list(`{}`, 300_000), list(`0`, 400_000), list(`"\u0061"`, 100_000),
		strings.Repeat("[", 90) + strings.Repeat("]", 90), strings.Repeat("[", 100_000),
		`"` + strings.Repeat("x", 900_000) + `"`, `"` + strings.Repeat(`\ud800`, 1000) + `"`,
		list(`[]`, 15_000), `"` + strings.Repeat("y", 60_000) + `"`,
	}[n%10]
	status, raw := b.send(ctx, kind, http.MethodPost, "/vnflcm/v2/vnf_instances",
		fmt.Appendf(nil, `{"vnfdId":%q,"vnfInstanceName":"bomb","metadata":{"a":%s}}`, b.vnfd, value))
	var made struct {
		ID string `json:"id"`
	}
	if status == http.StatusCreated && json.Unmarshal(raw, &made) == nil {
		b.send(ctx, kind, http.MethodPatch, "/vnflcm/v2/vnf_instances/"+made.ID, fmt.Appendf(nil, `{"metadata":{"b":%s}}`, value))
		b.send(ctx, kind, http.MethodGet, "/vnflcm/v2/vnf_instances?all_fields", nil)
		b.send(ctx, kind, http.MethodGet, "/vnflcm/v2/vnf_instances?filter="+url.QueryEscape("(eq,metadata/a,x)"), nil)
		if n%3 != 0 { // some stay, so that lists grow
			b.send(ctx, kind, http.MethodDelete, "/vnflcm/v2/vnf_instances/"+made.ID, nil)
		}
	}
	b.send(ctx, kind, http.MethodGet, "/vnflcm/v2/vnf_lcm_op_occs?all_fields", nil)
}

// list is a JSON array of the same element.
func list(element string, count int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", count), ",") + "]"
}

// values replace parts of good requests.
var values = []any{
	nil, true, -1, 1e308, 12345678901234567, "", "x", "\u0000", "../../etc/passwd", "$(id)", "`id`",
	"'; DROP TABLE event; --",
	"%s%n", strings.Repeat("A", 70_000), "\u202e",
	[]any{},
	map[string]any{},
	[]any{[]any{nil}},
	map[string]any{"": ""},
	"http://169.254.169.254/latest", "file:///etc/passwd", "00000000-0000-0000-0000-000000000000", "NaN", "\U0001f600",
}

// mutatedBody replaces one value of a good request with a hostile one.
func (b *battle) mutatedBody(ctx context.Context, kind string, _ int) {
	id := pick([]string{uuid.NewString(), "x"})
	targets := []struct {
		method, path string
		body         any
	}{
		{"POST", "/vnflcm/v2/vnf_instances", map[string]any{"vnfdId": b.vnfd, "metadata": map[string]any{"a": "b"}}},
		{"POST", "/vnflcm/v2/vnf_instances/" + id + "/instantiate", stack.PlainParams("default", "", b.stack.Sim)},
		{"POST", "/vnflcm/v2/vnf_instances/" + id + "/scale", map[string]any{"type": "SCALE_OUT", "aspectId": "a"}},
		{"PATCH", "/vnflcm/v2/vnf_instances/" + id, map[string]any{
			"vnfInstanceName": "n", "metadata": map[string]any{},
		}},
		{"POST", "/vnfpkgm/v1/vnf_packages", map[string]any{"userDefinedData": map[string]any{"k": "v"}}},
		{"POST", "/gybe/v1/adoptions", map[string]any{
			"source": map[string]any{"system": "tacker", "apiVersion": 1}, "vnfPkgId": id, "dryRun": true,
			"vnfInstance": map[string]any{
				"id": uuid.NewString(), "vnfdId": b.vnfd, "instantiationState": "INSTANTIATED",
				"vimConnectionInfo":   []any{map[string]any{"id": "a", "vimType": "openstack"}},
				"instantiatedVnfInfo": map[string]any{"flavourId": "default", "extVirtualLinkInfo": []any{}},
			},
			"operations": []any{map[string]any{
				"operation": "INSTANTIATE", "operationState": "COMPLETED",
				"operationParams": map[string]any{"flavourId": "a"},
			}},
			"vims": []any{map[string]any{"type": "kubernetes", "auth_cred": map[string]any{"bearer_token": "t"}}},
		}},
		{"POST", "/gybe/v1/plan", map[string]any{
			"vnfInstanceId": id, "operation": "INSTANTIATE", "params": stack.PlainParams("default", "", b.stack.Sim),
		}},
	}
	t := pick(targets)
	raw, err := json.Marshal(t.body)
	if err != nil {
		panic(err) // maps of JSON values
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(err)
	}
	replace(v, pick(values))
	if raw, err = json.Marshal(v); err != nil {
		panic(err)
	}
	if rand.IntN(10) == 0 {
		raw = raw[:rand.IntN(len(raw))]
	}
	req, err := b.request(t.method, t.path, raw)
	if err != nil {
		b.breaks(kind, "make a request: %s", err)
		return
	}
	if t.method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	status, answer := b.call(ctx, kind, strings.HasSuffix(t.path, "plan"), req)
	b.forget(ctx, kind, t.path, status, answer)
}

// forget deletes what a request has created.
func (b *battle) forget(ctx context.Context, kind, path string, status int, answer []byte) {
	var made struct {
		ID string `json:"id"`
	}
	if status == http.StatusCreated && json.Unmarshal(answer, &made) == nil && made.ID != "" {
		b.send(ctx, kind, http.MethodDelete, path+"/"+made.ID, nil)
	}
}

// replace puts a value in a random place below v, an object.
func replace(v, value any) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v { // the order is random
			switch e.(type) {
			case map[string]any, []any:
				if rand.IntN(3) > 0 {
					replace(e, value)
					return
				}
			}
			v[name] = value
			return
		}
	case []any:
		if len(v) > 0 {
			replace(v[0], value)
		}
	}
}

// query sends filters, selectors and markers that are wrong or expensive.
func (b *battle) query(ctx context.Context, kind string, _ int) {
	path := pick([]string{
		"/vnflcm/v2/vnf_instances", "/vnflcm/v2/vnf_lcm_op_occs", "/vnfpkgm/v1/vnf_packages", "/v1.0/vims",
		"/gybe/v1/events",
	})
	q := pick([]string{
		"filter=", "filter=(eq,id,x)", "filter=(cont,metadata/a,x)",
		"filter=(in,id," + strings.Repeat("a,", 5000) + "b)",
		"filter=" + strings.Repeat("(eq,id,x);", 500), "filter=(((", "filter=(eq,@key,x)",
		"filter=(eq,a/@key/b/@key,x)",
		"filter=(eq,id,'" + strings.Repeat("'", 1001) + ")", "filter=%ff", "filter=%", "fields=*", "fields=id,id,id",
		"exclude_fields=" + strings.Repeat("a/", 2000), "exclude_default&all_fields", "nextpage_opaque_marker=AAAA",
		"nextpage_opaque_marker=" + strings.Repeat("A", 8000), "all_fields=1&all_fields=2", "unknown=1", "a=%00",
		"&&&;;",
		"since=x", "since=99999999999999999999-1", "vnfInstanceId=x",
	})
	req, err := http.NewRequest(http.MethodGet, b.url+path, nil) //nolint:noctx // call sets it
	if err != nil {
		b.breaks(kind, "make a request: %s", err)
		return
	}
	req.URL.RawQuery = q
	if strings.HasPrefix(path, "/vnflcm/") {
		req.Header.Set("Version", "2.0.0")
	}
	if strings.HasSuffix(path, "events") {
		limited, cancel := context.WithTimeout(ctx, 100_000_000) // 100 ms of a stream
		defer cancel()
		ctx = limited
	}
	b.call(ctx, kind, false, req)
}

// pathAndHeaders sends odd methods, paths and headers.
func (b *battle) pathAndHeaders(ctx context.Context, kind string, _ int) {
	method := pick([]string{"GET", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW", "HEAD"})
	path := pick([]string{
		"/", "//", "/..", "/%2e%2e/%2e%2e/etc/passwd", "/vnflcm/v2/", "/vnflcm/v2/vnf_instances/%00",
		"/vnflcm/v2/vnf_instances/" + strings.Repeat("a", 5000), "/vnfpkgm/v1/vnf_packages/x/artifacts/..%2f..%2fetc",
		"/ui/assets/x/%ff", "/ui/assets/%c0%ae%c0%ae/x", "/ui/instances/%3cscript%3e",
		"/gybe/v1/openapi/..%2f..%2fgo.mod",
		"/debug/pprof/heap", "/metrics", "/v1.0/vims/" + uuid.NewString(),
		"/vnflcm/v2/vnf_instances/" + uuid.NewString(),
	})
	req, err := http.NewRequest(method, b.url, bytes.NewReader(nil)) //nolint:noctx // call sets it
	if err != nil {
		b.breaks(kind, "make a request: %s", err)
		return
	}
	req.URL.Opaque = path
	for range 3 {
		req.Header.Set(
			pick([]string{
				"Version", "Accept", "Content-Type", "Range", "If-Match", "If-None-Match", "X-Request-Id",
				"Last-Event-ID",
				"Content-Encoding", "Expect", "Connection", "X-Forwarded-For", "Cookie",
			}),
			pick([]string{
				"", "2.0.0", "99999999999999999999.0.0", "*/*;q=x", "bytes=0-0,1-1", "bytes=-",
				"bytes=99999999999999999999-",
				`W/"1"`, `"` + strings.Repeat("x", 5000) + `"`, "gzip", "application/json; charset=utf-7", "\x80\xff", "close",
				"10-99999999999999999999", strings.Repeat("a=b; ", 500),
			}),
		)
	}
	b.call(ctx, kind, false, req)
}

// stranger sends credentials that are not valid, and requests that a browser sends for another site.
func (b *battle) stranger(ctx context.Context, kind string, n int) {
	req, err := b.request(pick([]string{"GET", "POST"}), "/vnfpkgm/v1/vnf_packages", []byte(`{}`))
	if err != nil {
		b.breaks(kind, "make a request: %s", err)
		return
	}
	switch n % 6 {
	case 0:
		req.Header.Set("X-Auth-Token", strings.Repeat("g", rand.IntN(3000)+1))
	case 1:
		req.Header.Set("Authorization", "Bearer "+pick([]string{
			"x", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", strings.Repeat("a.", 2000), "gybe_" + uuid.NewString(),
		}))
	case 2:
		req.Header.Set("Authorization", "Basic YWRtaW46YWRtaW4=")
	case 3:
		req.Host = "rebind.attacker.example"
	case 4:
		req.Header.Set("Origin", "http://evil.example")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
	default:
		req.Header.Del("Content-Type")
	}
	status, answer := b.call(ctx, kind, false, req)
	b.forget(ctx, kind, "/vnfpkgm/v1/vnf_packages", status, answer)
}
