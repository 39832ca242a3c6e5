package frame

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Document is the OpenAPI document of an API.
type Document struct {
	load func() (*openapi3.T, error)
}

// NewDocument wraps a loader, which is called once, when a body has to be checked.
func NewDocument(load func() (*openapi3.T, error)) *Document {
	return &Document{load: sync.OnceValues(load)}
}

// body finds the schema of a request body.
func (d *Document) body(method, prefix, path string) (*openapi3.Schema, error) {
	if d == nil {
		return nil, errors.New("the API has no document")
	}
	doc, err := d.load()
	if err != nil {
		return nil, err
	}
	path = strings.TrimSuffix(path, "/*")
	for _, p := range []string{path, prefix + path} {
		item := doc.Paths.Find(p)
		if item == nil {
			continue
		}
		op := item.GetOperation(method)
		if op == nil || op.RequestBody == nil || op.RequestBody.Value == nil {
			continue
		}
		for _, media := range []string{"application/json", "application/merge-patch+json"} {
			if m := op.RequestBody.Value.Content.Get(media); m != nil && m.Schema != nil && m.Schema.Value != nil {
				return m.Schema.Value, nil
			}
		}
	}
	return nil, fmt.Errorf("the document has no request body for %s %s", method, path)
}

// CheckBody holds raw, a part of the request's body, to the schema of the body that a request with this method and
// path, which is below prefix, would have; CodeInvalid with pointers when it does not match. An interface that is sent
// the body of another one needs it.
func (r *Request) CheckBody(d *Document, method, prefix, path string, raw []byte) error {
	schema, err := d.body(method, prefix, path)
	if err != nil {
		return err
	}
	return validateBody(raw, schema, r.frame.opts.Limits)
}

// violations validates v and returns what is wrong with it, by member.
func violations(schema *openapi3.Schema, v any) []lcm.InvalidParam {
	if schema == nil {
		return nil
	}
	err := schema.VisitJSON(v, openapi3.MultiErrors(), openapi3.VisitAsRequest(), openapi3.DisableReadOnlyValidation(),
		openapi3.DisableSchemaErrorDetails())
	if err == nil {
		return nil
	}
	bad := flatten(nil, err)
	seen := map[lcm.InvalidParam]bool{}
	out := bad[:0]
	for _, b := range bad {
		if !seen[b] {
			seen[b] = true
			out = append(out, b)
		}
	}
	return out
}

// maxViolations bounds how many are reported; a body can have millions.
const maxViolations = 100

// flatten takes kin-openapi's tree of errors apart. An allOf is as wrong as its parts; of a oneOf the
// parts are reasons within one violation.
func flatten(out []lcm.InvalidParam, err error) []lcm.InvalidParam {
	if len(out) >= maxViolations {
		return out
	}
	if me, ok := err.(openapi3.MultiError); ok { //nolint:errorlint // MultiError.As looks into its members
		for _, e := range me {
			out = flatten(out, e)
		}
		return out
	}
	se, ok := errors.AsType[*openapi3.SchemaError](err)
	if !ok {
		return append(out, lcm.InvalidParam{Detail: err.Error()})
	}
	parts := origins(se)
	if se.SchemaField == "allOf" && len(parts) > 0 {
		for _, p := range parts {
			out = flatten(out, p)
		}
		return out
	}
	detail := se.Reason
	if len(parts) > 0 {
		var why []string
		for _, p := range flatten(nil, openapi3.MultiError(parts)) {
			why = append(why, p.Pointer+": "+p.Detail)
		}
		detail += " (" + strings.Join(why, "; or ") + ")"
	}
	if detail == "" {
		detail = "does not match " + se.SchemaField
	}
	return append(out, lcm.InvalidParam{Pointer: pointer(se.JSONPointer()), Detail: detail})
}

// origins returns the errors of the branches of an allOf, oneOf or anyOf.
func origins(se *openapi3.SchemaError) []error {
	if se.Origin == nil {
		return nil
	}
	inner := errors.Unwrap(se.Origin)
	if inner == nil {
		inner = se.Origin
	}
	if me, ok := inner.(openapi3.MultiError); ok { //nolint:errorlint // see flatten
		return me
	}
	if u := errors.Unwrap(inner); u != nil {
		if me, ok := u.(openapi3.MultiError); ok { //nolint:errorlint // see flatten
			return me
		}
	}
	if sub, ok := inner.(*openapi3.SchemaError); ok { //nolint:errorlint // only itself, not what it wraps
		return []error{sub}
	}
	return nil
}

func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + lcm.Escape(p))
	}
	return b.String()
}

// Served wraps one of the documents of package openapi.
func Served(name string) *Document {
	return NewDocument(func() (*openapi3.T, error) { return openapi.Load(name) })
}
