package web

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// interfaceData is what the screen of an interface shows.
type interfaceData struct {
	Name, Title, Description, Version, Base string
	Operations                              []operationDoc
	Schemas                                 []schemaDoc
}

// operationDoc is an operation of an interface.
type operationDoc struct {
	ID, Method, Path, Summary, Description string
	Parameters                             []parameterDoc
	Body                                   typeDoc
	Answers                                []answerDoc
}

// parameterDoc is a parameter of an operation, or an attribute of a schema.
type parameterDoc struct {
	Name, In, Description string
	Required              bool
	Type                  typeDoc
}

// answerDoc is a response of an operation.
type answerDoc struct {
	Code, Description string
	Type              typeDoc
}

// schemaDoc is a schema of an interface.
type schemaDoc struct {
	Name, Description string
	Type              typeDoc
	Attributes        []parameterDoc
}

// typeDoc names a type; Schema is the schema that describes it, or "".
type typeDoc struct{ Text, Schema string }

// interfaces is the screen of all interfaces.
func (c *console) interfaces(context.Context, ask) (view, error) {
	var out []*interfaceData
	for _, name := range openapi.Names() {
		doc, err := openapi.Load(name)
		if err != nil {
			return view{}, err
		}
		out = append(out, headOf(name, doc))
	}
	return view{Title: "Interfaces", Data: out, still: true}, nil
}

// interfaceScreen is the screen of one interface, made from its document.
func (c *console) interfaceScreen(_ context.Context, a ask) (view, error) {
	if !slices.Contains(openapi.Names(), a.id) {
		return view{}, lcm.Errorf(lcm.CodeNotFound, "there is no interface %.60q", a.id)
	}
	doc, err := openapi.Load(a.id)
	if err != nil {
		return view{}, err
	}
	d := headOf(a.id, doc)
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			d.Operations = append(d.Operations, operationOf(method, path, item))
			d.Operations = append(d.Operations, callbacksOf(item.GetOperation(method))...)
		}
	}
	if doc.Components != nil {
		for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
			d.Schemas = append(d.Schemas, schemaOf(name, doc.Components.Schemas[name].Value))
		}
	}
	return view{Title: d.Title, Data: d, still: true}, nil
}

func headOf(name string, doc *openapi3.T) *interfaceData {
	d := &interfaceData{
		Name: name, Title: doc.Info.Title, Description: doc.Info.Description, Version: doc.Info.Version,
	}
	if len(doc.Servers) > 0 {
		d.Base = doc.Servers[0].URL
	}
	return d
}

// callbacksOf are the requests that Gybe sends to an address in the body of an operation's request.
func callbacksOf(op *openapi3.Operation) (out []operationDoc) {
	for _, name := range slices.Sorted(maps.Keys(op.Callbacks)) {
		for to, item := range op.Callbacks[name].Value.Map() {
			path := "{" + strings.TrimSuffix(strings.TrimPrefix(to, "{$request.body#/"), "}") + "}"
			for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
				out = append(out, operationOf(method, path, item))
			}
		}
	}
	return out
}

func operationOf(method, path string, item *openapi3.PathItem) operationDoc {
	op := item.GetOperation(method)
	d := operationDoc{
		ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, Description: op.Description,
	}
	for _, ref := range slices.Concat(item.Parameters, op.Parameters) {
		p := ref.Value
		d.Parameters = append(d.Parameters, parameterDoc{p.Name, p.In, p.Description, p.Required, typeOf(p.Schema)})
	}
	if op.RequestBody != nil {
		d.Body = contentOf(op.RequestBody.Value.Content)
	}
	for _, code := range slices.Sorted(maps.Keys(op.Responses.Map())) {
		r := op.Responses.Value(code).Value
		a := answerDoc{Code: code, Type: contentOf(r.Content)}
		if r.Description != nil {
			a.Description = *r.Description
		}
		d.Answers = append(d.Answers, a)
	}
	return d
}

// contentOf is the type of a body.
func contentOf(content openapi3.Content) typeDoc {
	for _, media := range slices.Sorted(maps.Keys(content)) {
		if s := content[media].Schema; s != nil {
			t := typeOf(s)
			if t.Schema == "" && t.Text == "" {
				t.Text = media
			}
			return t
		}
	}
	return typeDoc{}
}

func schemaOf(name string, s *openapi3.Schema) schemaDoc {
	d := schemaDoc{Name: name, Description: s.Description, Type: typeOf(openapi3.NewSchemaRef("", s))}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[member]
		d.Attributes = append(d.Attributes, parameterDoc{
			Name: member, Description: p.Value.Description, Required: slices.Contains(s.Required, member),
			Type: typeOf(p),
		})
	}
	return d
}

// typeOf names the type of a value.
func typeOf(ref *openapi3.SchemaRef) typeDoc {
	if ref == nil || ref.Value == nil {
		return typeDoc{}
	}
	s := ref.Value
	switch {
	case ref.Ref != "":
		name := ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]
		return typeDoc{name, name}
	case len(s.AllOf) == 1 && len(s.Properties) == 0:
		return typeOf(s.AllOf[0])
	case len(s.OneOf) > 0: // the schemas of all are below
		texts := make([]string, len(s.OneOf))
		for n, one := range s.OneOf {
			texts[n] = typeOf(one).Text
		}
		return typeDoc{Text: strings.Join(texts, " or ")}
	case s.Type.Is("array"):
		t := typeOf(s.Items)
		return typeDoc{"list of " + t.Text, t.Schema}
	case s.Type.Is("object") && s.AdditionalProperties.Schema != nil:
		t := typeOf(s.AdditionalProperties.Schema)
		return typeDoc{strings.TrimSpace("map " + t.Text), t.Schema}
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for n, v := range s.Enum {
			values[n], _ = v.(string)
		}
		return typeDoc{Text: strings.Join(values, " | ")}
	}
	text := strings.Join(s.Type.Slice(), " or ")
	if s.MaxLength != nil {
		text += ", at most " + strconv.FormatUint(*s.MaxLength, 10) + " characters"
	}
	return typeDoc{Text: text}
}
