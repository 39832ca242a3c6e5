package openapi_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// solPackage is what can only be read from the source of pkg/sol: the values of
// its enumerations and the names of its structs.
type solPackage struct {
	enums   map[string][]any
	structs map[string]bool
}

func parseSol(t *testing.T) solPackage {
	t.Helper()
	files, err := filepath.Glob("../pkg/sol/*.go")
	require.NoError(t, err)
	p := solPackage{enums: map[string][]any{}, structs: map[string]bool{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range gen.Specs {
					p.take(spec)
				}
			}
		}
	}
	require.NotEmpty(t, p.enums["LcmOperationType"])
	require.True(t, p.structs["VnfInstance"])
	return p
}

func (p solPackage) take(spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if _, ok := s.Type.(*ast.StructType); ok && s.Name.IsExported() {
			p.structs[s.Name.Name] = true
		}
	case *ast.ValueSpec:
		name, ok := s.Type.(*ast.Ident)
		if !ok {
			return
		}
		for _, v := range s.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				p.enums[name.Name] = append(p.enums[name.Name], text)
			}
		}
	}
}

// schema describes a Go type as the JSON it becomes.
func (p solPackage) schema(t reflect.Type) *openapi3.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return openapi3.NewStringSchema()
	case reflect.TypeFor[json.RawMessage]():
		return openapi3.NewObjectSchema()
	}
	switch t.Kind() {
	case reflect.String:
		return openapi3.NewStringSchema().WithEnum(p.enums[t.Name()]...)
	case reflect.Bool:
		return openapi3.NewBoolSchema()
	case reflect.Int, reflect.Int64:
		return openapi3.NewIntegerSchema()
	case reflect.Slice:
		return openapi3.NewArraySchema().WithItems(p.schema(t.Elem()))
	case reflect.Map:
		s := openapi3.NewObjectSchema()
		if t.Elem().Kind() != reflect.Interface {
			s.WithAdditionalProperties(p.schema(t.Elem()))
		}
		return s
	case reflect.Struct:
		s := openapi3.NewObjectSchema()
		for field := range t.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			s.WithProperty(name, p.schema(field.Type))
			if options == "" {
				s.Required = append(s.Required, name)
			}
		}
		return s
	default:
		panic("no schema for " + t.String())
	}
}
