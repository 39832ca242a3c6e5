package openapi_test

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
)

var update = flag.Bool("update", false, "bundle the documents again")

// TestDocumentsAreBundled: the bundled documents are those that are written by hand.
func TestDocumentsAreBundled(t *testing.T) {
	t.Parallel()
	for _, name := range openapi.Names() {
		doc := loadFile(t, name+".yaml")
		doc.InternalizeRefs(t.Context(), componentName)
		bundled, err := doc.MarshalJSON()
		require.NoError(t, err)
		bundled = append(bundled, '\n')
		if *update {
			require.NoError(t, os.WriteFile("bundled/"+name+".json", bundled, 0o644))
			continue
		}
		raw, err := openapi.JSON(name)
		require.NoError(t, err)
		require.Equal(t, string(bundled), string(raw),
			"%s.yaml has changed: go test ./openapi -run TestDocumentsAreBundled -update", name)
	}
}

// componentName keeps the names of components when they are bundled. Names are
// unique over all files; a test sees to it.
func componentName(_ *openapi3.T, ref openapi3.ComponentRef) string {
	return path.Base(ref.RefPath().Fragment)
}

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
		})
	}
	_, err := openapi.Load("nothing")
	require.Error(t, err)
	_, err = openapi.JSON("nothing")
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
