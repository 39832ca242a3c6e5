package frame

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Limits bound what one request may cost. A zero is the default.
type Limits struct {
	// Values is the number of JSON values in a body; 20,000 by default. A decoded value takes up to fifty times its
	// bytes.
	Values int
	// Attribute is the size of an attribute with names chosen by clients, such as metadata; 64 KiB by default. It is
	// stored with a resource and is part of every list of them.
	Attribute int
	// Params is the size of additionalParams; 256 KiB by default. They are stored with an operation, and hold scripts
	// and certificates.
	Params int
	// PageBytes ends a page of a list when it has so many bytes; 8 MiB by default.
	PageBytes int
}

// withDefaults replaces zeros.
func (l Limits) withDefaults() Limits {
	return Limits{
		Values: cmp.Or(l.Values, 20_000), Attribute: cmp.Or(l.Attribute, 64<<10), Params: cmp.Or(l.Params, 256<<10),
		PageBytes: cmp.Or(l.PageBytes, 8<<20),
	}
}

// checkShape checks what can be seen without decoding: encoding, nesting and number of values, which it returns.
func (l Limits) checkShape(raw []byte) (values int, err error) {
	if i := firstInvalidUTF8(raw); i >= 0 {
		return 0, lcm.Errorf(lcm.CodeInvalid, "the body is not UTF-8 at %s", position(raw, i))
	}
	values, tooDeep, tooMany := measure(raw, l.Values)
	switch {
	case tooDeep >= 0:
		return values, lcm.Errorf(
			lcm.CodeInvalid, "the body is nested more than %d levels deep at %s", maxDepth, position(raw, tooDeep),
		)
	case tooMany >= 0:
		return values, lcm.Errorf(
			lcm.CodeTooLarge, "the body has more than %d JSON values at %s", l.Values, position(raw, tooMany),
		).WithHint("send fewer values, or raise limits.body_values of this server")
	}
	return values, nil
}

// measure counts the values of a text that may be JSON. It returns where the text is nested deeper than maxDepth, or
// has more values than limit; -1 is nowhere.
func measure(raw []byte, limit int) (values, tooDeep, tooMany int) {
	s := shape{values: 1}
	for i, c := range raw {
		s.add(c)
		if s.depth > maxDepth {
			return s.values, i, -1
		}
		if s.values > limit {
			return s.values, -1, i
		}
	}
	return s.values, -1, -1
}

// shape is the shape of JSON up to a byte.
type shape struct {
	values, depth int
	text, escape  bool
	empty         bool // an object or array has just begun
}

func (s *shape) add(c byte) {
	switch {
	case s.escape: // an escaped character ends nothing
		s.escape = false
		return
	case s.text:
		s.escape, s.text = c == '\\', c != '"'
		return
	case c == ' ', c == '\t', c == '\r', c == '\n':
		return
	}
	if s.empty && c != ']' && c != '}' {
		s.values++ // the first member
	}
	s.empty = false
	switch c {
	case '"':
		s.text = true
	case '[', '{':
		s.depth++
		s.empty = true
	case ']', '}':
		s.depth--
	case ',':
		s.values++
	}
}

// checkAttributes finds attributes with free names that are larger than their limit. body matches the schema, or its
// violations are reported.
func (l Limits) checkAttributes(schema *openapi3.Schema, body any) error {
	var bad []lcm.InvalidParam
	l.attributes(&bad, schema, body, "", "")
	if len(bad) == 0 {
		return nil
	}
	e := *lcm.AsError(lcm.Unprocessable(bad...))
	e.Code, e.Title = lcm.CodeTooLarge, "Attribute too large"
	e.Hint = "keep large data elsewhere and refer to it, or raise limits.attribute and limits.params of this server"
	return &e
}

// attributes adds the attributes below v, which has a name and a pointer.
func (l Limits) attributes(bad *[]lcm.InvalidParam, s *openapi3.Schema, v any, name, pointer string) {
	if s == nil {
		return
	}
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			l.attributes(bad, schemaOf(s.Items), e, name, pointer+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		if isFree(s) {
			if limit := l.of(name); sol.SizeOf(v, limit+1) > limit {
				*bad = append(*bad, lcm.InvalidParam{
					Pointer: pointer, Detail: fmt.Sprintf(
						"is larger than %d bytes; each value counts %d bytes and its text", limit, sol.ValueSize,
					),
				})
			}
			return
		}
		for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
			l.attributes(bad, schemaOf(part), v, name, pointer)
		}
		for _, member := range slices.Sorted(maps.Keys(v)) {
			of := s.Properties[member]
			if of == nil {
				of = s.AdditionalProperties.Schema
			}
			l.attributes(bad, schemaOf(of), v[member], member, pointer+"/"+lcm.Escape(member))
		}
	}
}

// of returns the limit of an attribute with free names.
func (l Limits) of(name string) int {
	switch name {
	case "additionalParams":
		return l.Params
	case "params": // the body of another request, which is checked as such (CheckBody)
		return int(^uint(0) >> 1)
	}
	return l.Attribute
}

// isFree says whether a schema leaves the names of an object's members to the client.
func isFree(s *openapi3.Schema) bool {
	if !s.Type.Is("object") || len(s.Properties) > 0 || len(s.AllOf)+len(s.OneOf)+len(s.AnyOf) > 0 {
		return false
	}
	members := schemaOf(s.AdditionalProperties.Schema)
	return members == nil || members.Type == nil
}

func schemaOf(ref *openapi3.SchemaRef) *openapi3.Schema {
	if ref == nil {
		return nil
	}
	return ref.Value
}
