package openapi_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// finding is a difference between a schema of ours and one we are held to.
type finding struct {
	// at leads to the attribute: names, [] for elements, {} for values of a map.
	at   string
	what string
}

func (f finding) String() string { return f.at + ": " + f.what }

// comparison compares schemas by what a client sees: names of attributes, types,
// which are required, and values of enumerations.
type comparison struct {
	// goTypes is set when ours was made from a Go type: what it always writes may
	// be optional to others.
	goTypes  bool
	findings []finding
}

func (c *comparison) add(at, what string) {
	f := finding{at, what}
	if !slices.Contains(c.findings, f) {
		c.findings = append(c.findings, f)
	}
}

func (c *comparison) schemas(at string, ours, theirs *openapi3.Schema) {
	a, b := flatten(ours), flatten(theirs)
	if a.kind != "" && b.kind != "" && a.kind != b.kind {
		c.add(at, "type "+a.kind+" should be "+b.kind)
		return
	}
	for v := range a.enum {
		if len(b.enum) > 0 && !b.enum[v] {
			c.add(at, "extra value "+v)
		}
	}
	for v := range b.enum {
		if !a.enum[v] && (len(a.enum) > 0 || !c.goTypes) { // a plain Go string can be any value
			c.add(at, "missing value "+v)
		}
	}
	c.properties(at, a, b)
	if a.items != nil && b.items != nil {
		c.schemas(at+"[]", a.items, b.items)
	}
	if a.values != nil && b.values != nil {
		c.schemas(at+"{}", a.values, b.values)
	}
}

func (c *comparison) properties(at string, a, b flat) {
	if len(a.properties) == 0 || len(b.properties) == 0 {
		// One side is open: an object whose names others choose.
		if len(a.properties)+len(b.properties) > 0 && a.kind == b.kind {
			c.add(at, "only one side names attributes")
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.properties)) {
		if _, known := b.properties[name]; !known {
			c.add(at+"/"+name, "extra attribute")
			continue
		}
		if a.required[name] && !b.required[name] && !c.goTypes {
			c.add(at+"/"+name, "should be optional")
		}
		c.schemas(at+"/"+name, a.properties[name], b.properties[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.properties)) {
		if _, known := a.properties[name]; !known {
			c.add(at+"/"+name, "missing attribute")
			continue
		}
		if b.required[name] && !a.required[name] {
			c.add(at+"/"+name, "should be required")
		}
	}
}

// flat is a schema with what it inherits through allOf. Alternatives that only
// combine required attributes are not looked at: the published ones contradict
// the standard's text in several places.
type flat struct {
	kind       string
	enum       map[string]bool
	properties map[string]*openapi3.Schema
	required   map[string]bool
	items      *openapi3.Schema
	values     *openapi3.Schema
}

func flatten(s *openapi3.Schema) flat {
	f := flat{enum: map[string]bool{}, properties: map[string]*openapi3.Schema{}, required: map[string]bool{}}
	f.take(s)
	return f
}

func (f *flat) take(s *openapi3.Schema) {
	if types := s.Type.Slice(); len(types) > 0 {
		f.kind = types[0]
	}
	for _, v := range s.Enum {
		if text, ok := v.(string); ok {
			f.enum[text] = true
		}
	}
	for name, p := range s.Properties {
		f.properties[name] = p.Value
	}
	for _, name := range s.Required {
		f.required[name] = true
	}
	if s.Items != nil {
		f.items = s.Items.Value
	}
	if v := s.AdditionalProperties.Schema; v != nil && v.Value != nil &&
		(len(v.Value.Properties) > 0 || len(v.Value.AllOf) > 0) {
		f.values = v.Value
	}
	for _, parts := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range parts {
			if part.Value != nil && !onlyRequired(part.Value) {
				f.take(part.Value)
			}
		}
	}
	if f.kind == "" && len(f.properties) > 0 {
		f.kind = "object"
	}
}

func onlyRequired(s *openapi3.Schema) bool {
	return len(s.Properties) == 0 && s.Items == nil && len(s.Enum) == 0 && len(s.Type.Slice()) == 0 &&
		!slices.ContainsFunc(
			slices.Concat(s.AllOf, s.AnyOf, s.OneOf),
			func(r *openapi3.SchemaRef) bool { return !onlyRequired(r.Value) },
		)
}

// deviation is a difference that is known and meant.
type deviation struct {
	// at is the end of a finding's place, from a whole name on.
	at   string
	what string
	why  string
}

func (d deviation) covers(f finding) bool {
	if d.what != f.what {
		return false
	}
	return f.at == d.at || strings.HasSuffix(f.at, "/"+d.at)
}

// unexplained returns the findings that no deviation covers, and the deviations
// that cover nothing any more.
func unexplained(findings []finding, known []deviation) (open []finding, stale []deviation) {
	used := map[deviation]bool{}
	for _, f := range findings {
		i := slices.IndexFunc(known, func(d deviation) bool { return d.covers(f) })
		if i < 0 {
			open = append(open, f)
			continue
		}
		for _, d := range known {
			if d.covers(f) {
				used[d] = true
			}
		}
	}
	for _, d := range known {
		if !used[d] {
			stale = append(stale, d)
		}
	}
	return open, stale
}
