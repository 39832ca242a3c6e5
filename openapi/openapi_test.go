package openapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
)

func TestDocumentsAreValidAndSelfContained(t *testing.T) {
	t.Parallel()
	for _, name := range openapi.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := openapi.Load(name)
			require.NoError(t, err)
			require.NoError(t, doc.Validate(t.Context()))

			raw, err := openapi.JSON(name)
			require.NoError(t, err)
			require.NotContains(t, string(raw), ".yaml#")
			again, err := openapi3.NewLoader().LoadFromData(raw)
			require.NoError(t, err)
			require.NoError(t, again.Validate(t.Context()))
			require.Equal(t, doc.Paths.Len(), again.Paths.Len())
		})
	}
	_, err := openapi.Load("nothing")
	require.Error(t, err)
}

// Bundling keeps the names of components, so one name in two files would
// silently put one schema in the place of the other.
func TestComponentNamesAreUnique(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	parts, err := filepath.Glob("parts/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, parts)
	shared := map[string]string{}
	names := func(file string) []string {
		doc := loadFile(t, file)
		var all []string
		if doc.Components == nil {
			return nil
		}
		for name := range doc.Components.Schemas {
			all = append(all, "schema "+name)
		}
		for name := range doc.Components.Responses {
			all = append(all, "response "+name)
		}
		for name := range doc.Components.Parameters {
			all = append(all, "parameter "+name)
		}
		for name := range doc.Components.Headers {
			all = append(all, "header "+name)
		}
		return all
	}
	for _, file := range parts {
		for _, name := range names(file) {
			require.Empty(t, shared[name], "%s is in %s as well", name, file)
			shared[name] = file
		}
	}
	for _, file := range documents { // documents may repeat each other, but not the parts
		for _, name := range names(file) {
			require.Empty(t, shared[name], "%s is in %s as well", name, file)
		}
	}
}

// loadFile loads a file of this folder without bundling it.
func loadFile(t *testing.T, file string) *openapi3.T {
	t.Helper()
	_, err := os.Stat(file)
	require.NoError(t, err)
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	doc, err := loader.LoadFromFile(file)
	require.NoError(t, err)
	return doc
}
