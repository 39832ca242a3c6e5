package openapi_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/test/oracle"
)

func explain(t *testing.T, findings []finding, known []deviation) {
	t.Helper()
	open, stale := unexplained(findings, known)
	for _, f := range open {
		t.Errorf("differs from the standard: %s", f)
	}
	for _, d := range stale {
		t.Errorf("a known difference is gone, remove it: %s: %s", d.at, d.what)
	}
}

// operation compares the bodies of a request and of its successful answers.
func (c *comparison) operation(t *testing.T, at string, ours, theirs *openapi3.Operation) {
	t.Helper()
	if ours.RequestBody != nil || theirs.RequestBody != nil {
		require.NotNil(t, ours.RequestBody, at)
		require.NotNil(t, theirs.RequestBody, at)
		c.contents(at+" request", ours.RequestBody.Value.Content, theirs.RequestBody.Value.Content)
	}
	for code, response := range ours.Responses.Map() {
		if !strings.HasPrefix(code, "2") {
			continue
		}
		other := theirs.Responses.Value(code)
		if other == nil {
			c.add(at, "extra answer "+code)
			continue
		}
		c.contents(at+" "+code, response.Value.Content, other.Value.Content)
	}
	for code := range theirs.Responses.Map() {
		if strings.HasPrefix(code, "2") && ours.Responses.Value(code) == nil {
			c.add(at, "missing answer "+code)
		}
	}
	for _, p := range theirs.Parameters {
		if p.Value.In == openapi3.ParameterInQuery && ours.Parameters.GetByInAndName(p.Value.In, p.Value.Name) == nil {
			c.add(at, "missing parameter "+p.Value.Name)
		}
	}
}

func (c *comparison) contents(at string, ours, theirs openapi3.Content) {
	a, b := jsonSchema(ours), jsonSchema(theirs)
	switch {
	case a != nil && b != nil:
		c.schemas(at, a, b)
	case a != nil:
		c.add(at, "extra body")
	case b != nil:
		c.add(at, "missing body")
	}
}

func jsonSchema(c openapi3.Content) *openapi3.Schema {
	for _, mediaType := range []string{"application/json", "application/merge-patch+json"} {
		if m := c[mediaType]; m != nil && m.Schema != nil {
			return m.Schema.Value
		}
	}
	return nil
}

// paths compares every operation of ours with the one of the same path and
// method; published names its path where that is not the same.
func (c *comparison) paths(t *testing.T, ours, theirs *openapi3.T, skip func(method, path string) bool) {
	t.Helper()
	for path, item := range ours.Paths.Map() {
		other := theirs.Paths.Value(path)
		for method, op := range item.Operations() {
			if skip(method, path) {
				continue
			}
			at := method + " " + path
			if other == nil || other.GetOperation(method) == nil {
				c.add(at, "extra operation")
				continue
			}
			c.operation(t, at, op, other.GetOperation(method))
		}
	}
}

func TestVnfLcmFollowsTheStandard(t *testing.T) {
	t.Parallel()
	theirs := oracle.Published(t, oracle.Lifecycle331)
	ours, err := openapi.Load(openapi.VnfLcmV2)
	require.NoError(t, err)
	later := oracle.Published(t, oracle.Lifecycle371)
	const cancel = "/vnf_lcm_op_occs/{vnfLcmOpOccId}/cancel" // the document of v3.3.1 forgets its body
	c := &comparison{}
	c.paths(t, ours, theirs, func(_, path string) bool { return path == cancel })
	c.operation(t, "POST "+cancel, ours.Paths.Value(cancel).Post, later.Paths.Value(cancel).Post)

	missing := []string{}
	for path, item := range theirs.Paths.Map() {
		for method := range item.Operations() {
			if o := ours.Paths.Value(path); o == nil || o.GetOperation(method) == nil {
				missing = append(missing, method+" "+path)
			}
		}
	}
	require.ElementsMatch(t, notServed, missing, "what the standard has and we do not serve")

	problem := theirs.Paths.Value("/vnf_instances").Post.Responses.Value("400").Value.Content
	c.schemas("ProblemDetails", ours.Components.Schemas["ProblemDetails"].Value, jsonSchema(problem))
	explain(t, c.findings, vnfLcmDeviations)
}

func TestVnfPkgmFollowsTheStandard(t *testing.T) {
	t.Parallel()
	reading, later := oracle.Published(t, oracle.Packages331), oracle.Published(t, oracle.Packages371)
	producing := oracle.Published(t, oracle.Packages005)
	// SOL003 describes the resources that a VNFM reads, SOL005 those that a client writes.
	in := func(d *openapi3.T, method, path string) bool {
		item := d.Paths.Value(path)
		return item != nil && item.GetOperation(method) != nil
	}
	for _, name := range []string{openapi.VnfPkgmV1, openapi.VnfPkgmV2} {
		ours, err := openapi.Load(name)
		require.NoError(t, err)
		c := &comparison{}
		c.paths(t, ours, reading, func(method, path string) bool { return !in(reading, method, path) })
		explain(t, c.findings, vnfPkgmSol003Deviations)

		c = &comparison{}
		c.paths(t, ours, later, func(method, path string) bool { return !in(later, method, path) })
		explain(t, c.findings, vnfPkgmLaterSol003Deviations)

		c = &comparison{}
		c.paths(t, ours, producing, func(method, path string) bool {
			return !in(producing, method, path) && in(reading, method, path)
		})
		explain(t, c.findings, vnfPkgmSol005Deviations)

		missing := map[string]bool{}
		for _, theirs := range []*openapi3.T{reading, later, producing} {
			for path, item := range theirs.Paths.Map() {
				for method := range item.Operations() {
					if !in(ours, method, path) && path != "/api_versions" { // its other methods are answered with 405
						missing[method+" "+path] = true
					}
				}
			}
		}
		require.ElementsMatch(
			t, packagesNotServed, slices.Collect(maps.Keys(missing)), "what the standard has and we do not serve",
		)
	}
}
