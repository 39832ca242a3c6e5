package access_test

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// comparedTimes are the routes whose resource has no Last-Modified although If-Unmodified-Since is compared with the
// time of its last change.
var comparedTimes = map[string]string{
	"/vnfpkgm/v1/vnf_packages/{vnfPkgId}": usageState,
	"/vnfpkgm/v2/vnf_packages/{vnfPkgId}": usageState,
}

const usageState = "the usage state of a package changes without a change of the package"

// validation is a part of a documented operation: everything about conditional requests (RFC 9110 clause 13).
type validation struct {
	// Parameters are the components of If-Match and the like.
	Parameters []string
	// Responses are the components of the answers to requests whose condition does not hold, and to wrong ranges.
	Responses map[int]string
	// Headers are the validators of the answer 200.
	Headers []string
}

// documentedValidation reads it from an operation.
func documentedValidation(op *openapi3.Operation) validation {
	v := validation{Responses: map[int]string{}}
	for _, p := range op.Parameters {
		if p.Value.In == openapi3.ParameterInHeader && strings.HasPrefix(p.Value.Name, "If-") {
			v.Parameters = append(v.Parameters, path.Base(p.Ref))
		}
	}
	for _, status := range []int{
		http.StatusNotModified, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable,
	} {
		if r := op.Responses.Status(status); r != nil {
			v.Responses[status] = path.Base(r.Ref)
		}
	}
	if ok := op.Responses.Status(http.StatusOK); ok != nil {
		for _, name := range []string{"ETag", "Last-Modified"} {
			if ok.Value.Headers[name] != nil {
				v.Headers = append(v.Headers, name)
			}
		}
	}
	return v
}

// TestDocumentsHaveTheConditions compares the parameters, headers and answers of conditional requests in the documents
// with the table of routes of a node.
func TestDocumentsHaveTheConditions(t *testing.T) {
	t.Parallel()
	documented := documentedOperations(t)
	seen := map[string]bool{}
	for _, route := range start(t, nil).node.Routes() {
		if route.Public || strings.HasPrefix(route.Route, "/ui/") {
			continue
		}
		name := route.Method + " " + route.Route
		op := documented[route.Method+" "+documentedPath(route.Route)]
		require.NotNil(t, op, name)
		got := documentedValidation(op)
		seen[name] = true
		if route.Method != http.MethodGet {
			got.Headers = nil // an answer can have the new version; no condition depends on it
		}
		want := validation{Responses: map[int]string{}}
		switch {
		case untagged[name] == stream || untagged[name] == noStore: // the others have a tag, which tests do not see
		case route.Method == http.MethodGet:
			want = readConditions(op, slices.Contains(got.Headers, "Last-Modified"))
		case route.Condition != "":
			get := documented["GET "+documentedPath(route.Condition)]
			require.NotNil(t, get, name)
			want.Responses[http.StatusPreconditionFailed] = "PreconditionFailed"
			want.Parameters = []string{"IfMatch", "IfNoneMatchOfChange"}
			if slices.Contains(documentedValidation(get).Headers, "Last-Modified") ||
				comparedTimes[route.Condition] != "" {
				want.Parameters = []string{"IfMatch", "IfUnmodifiedSince", "IfNoneMatchOfChange"}
			}
		case unconditional[name] == part:
			want.Responses[http.StatusPreconditionFailed] = "PreconditionFailed"
			want.Parameters = []string{"IfMatch", "IfUnmodifiedSince"}
		}
		require.Equal(t, want, got, name)
	}
	for path := range comparedTimes {
		require.True(t, seen["GET "+path], path)
	}
}

// readConditions are those of a GET. Files can be read in parts, and have all conditions. JSON has no If-Match.
func readConditions(op *openapi3.Operation, dated bool) validation {
	notModified := map[int]string{http.StatusNotModified: "NotModified"}
	switch {
	case op.Responses.Status(http.StatusPartialContent) != nil:
		return validation{
			Parameters: []string{"IfMatch", "IfUnmodifiedSince", "IfNoneMatch", "IfModifiedSince", "IfRange"},
			Responses: map[int]string{
				http.StatusNotModified:                  "NotModified",
				http.StatusPreconditionFailed:           "PreconditionFailed",
				http.StatusRequestedRangeNotSatisfiable: "RangeNotSatisfiable",
			},
			Headers: []string{"ETag", "Last-Modified"},
		}
	case dated:
		return validation{[]string{"IfNoneMatch", "IfModifiedSince"}, notModified, []string{"ETag", "Last-Modified"}}
	}
	return validation{[]string{"IfNoneMatch"}, notModified, []string{"ETag"}}
}

// TestConditionsAreAnsweredAsDocumented sends conditional requests to every route that documents them. Those that would
// modify are 412 and do nothing.
func TestConditionsAreAnsweredAsDocumented(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	ofPackages := map[string]objects{}
	for _, prefix := range []string{"/vnfpkgm/v1", "/vnfpkgm/v2"} {
		o := of
		o.subscription = w.subscribeToPackages(t, red, prefix+"/subscriptions")
		ofPackages[prefix] = o
	}
	parts := of
	parts.pkg, parts.vnfd = w.onboardWithManifest(t, red)
	before := w.everything(t, red, of)
	documented := documentedOperations(t)
	for _, route := range w.node.Routes() {
		name := route.Method + " " + route.Route
		op := documented[route.Method+" "+documentedPath(route.Route)]
		if op == nil || untagged[name] != "" {
			continue
		}
		o := of
		for prefix, with := range ofPackages {
			if strings.HasPrefix(route.Route, prefix) {
				o = with
			}
		}
		has := documentedValidation(op)
		if slices.Contains(has.Parameters, "IfRange") {
			o = parts
		}
		r := valid(t, route, o)
		r.path = strings.Replace(r.path, "Files/nothing", "Scripts/run.sh", 1)
		r.token = w.tokens[red][lcm.RoleAdmin]
		c := conditions{name: name, has: has, send: func(headers map[string]string) answer {
			r := r
			r.headers = maps.Clone(r.headers)
			maps.Copy(r.headers, headers)
			return w.send(t, r)
		}}
		if route.Method == http.MethodGet {
			c.requireTimes(t)
		}
		if slices.Contains(has.Parameters, "IfRange") {
			c.requireRanges(t)
		}
		c.requireRefused(t)
		if route.Condition != "" && !slices.Contains(has.Parameters, "IfUnmodifiedSince") {
			a := c.send(map[string]string{"If-Unmodified-Since": epoch, "If-None-Match": "*"})
			require.Equal(t, http.StatusPreconditionFailed, a.status, name)
			require.Contains(t, a.problem.Detail, "If-None-Match", "%s compares If-Unmodified-Since", name)
		}
		if unconditional[name] == part {
			for header, value := range map[string]string{"If-Match": "*", "If-Unmodified-Since": inAnHour()} {
				a := c.send(map[string]string{header: value})
				require.Equal(t, http.StatusPreconditionFailed, a.status, "%s with %s: %s", name, header, a.body)
			}
		}
	}
	require.Equal(t, before, w.everything(t, red, of), "a request whose condition does not hold changed something")
}

// epoch is before the last change of every resource.
const epoch = "Thu, 01 Jan 1970 00:00:00 GMT"

// inAnHour is after the last change of every resource.
func inAnHour() string { return time.Now().Add(time.Hour).UTC().Format(http.TimeFormat) }

// conditions are the conditional requests to a route.
type conditions struct {
	name string
	has  validation
	// send sends a valid request with more headers.
	send func(headers map[string]string) answer
}

// requireTimes requires the documented headers of a GET, and that If-Modified-Since has an effect if it is documented.
func (c conditions) requireTimes(t *testing.T) {
	t.Helper()
	a := c.send(nil)
	require.Equal(t, http.StatusOK, a.status, "%s: %s", c.name, a.body)
	for _, header := range []string{"ETag", "Last-Modified"} {
		require.Equal(t, slices.Contains(c.has.Headers, header), a.header.Get(header) != "", "%s of %s", header, c.name)
	}
	want := http.StatusOK
	if slices.Contains(c.has.Parameters, "IfModifiedSince") {
		want = http.StatusNotModified
	}
	require.Equal(t, want, c.send(map[string]string{"If-Modified-Since": inAnHour()}).status, c.name)
	require.Equal(t, http.StatusOK, c.send(map[string]string{"If-Modified-Since": epoch}).status, c.name)
}

// requireRanges requires the answers of a file that is read in parts.
func (c conditions) requireRanges(t *testing.T) {
	t.Helper()
	a := c.send(map[string]string{"Range": "bytes=0-0"})
	require.Equal(t, http.StatusPartialContent, a.status, c.name)
	a = c.send(map[string]string{"Range": "bytes=0-0", "If-Range": `"other"`})
	require.Equal(t, http.StatusOK, a.status, c.name)
	a = c.send(map[string]string{"Range": "bytes=1000000000-"})
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, a.status, c.name)
	require.NotEmpty(t, a.header.Get("Content-Range"), c.name)
}

// requireRefused requires 412 for each documented condition that does not hold.
func (c conditions) requireRefused(t *testing.T) {
	t.Helper()
	for parameter, header := range map[string]map[string]string{
		"IfMatch":             {"If-Match": `"other"`},
		"IfUnmodifiedSince":   {"If-Unmodified-Since": epoch},
		"IfNoneMatchOfChange": {"If-None-Match": "*"},
	} {
		if slices.Contains(c.has.Parameters, parameter) {
			a := c.send(header)
			require.Equal(t, http.StatusPreconditionFailed, a.status, "%s with %s: %s", c.name, header, a.body)
		}
	}
}
