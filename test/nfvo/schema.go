package nfvo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// schema is the published schema of a grant request; nil where ETSI's documents are missing. They are not part of this
// repository.
var schema = sync.OnceValues(func() (*openapi3.Schema, error) {
	dir := os.Getenv("GYBE_ETSI_DIR")
	if dir == "" {
		_, file, _, _ := runtime.Caller(0)
		dir = filepath.Join(filepath.Dir(file), "..", "..", "..", "shared", "etsi")
	}
	path := filepath.Join(dir, "v3.3.1", "sol003_operation_openapi.json")
	if _, err := os.Stat(path); err != nil {
		return nil, nil // requests are not validated then
	}
	doc, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	return doc.Paths.Value("/grants").Post.RequestBody.Value.Content["application/json"].Schema.Value, nil
})

// validate compares a grant request with the published schema.
func validate(raw []byte) error {
	s, err := schema()
	if err != nil || s == nil {
		return err
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	return s.VisitJSON(value)
}
