package cli_test

import (
	"embed"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// answers are what a gybe says whose world does not change, by method and path with _ for each slash.
//
//go:embed testdata/answers/*.json
var answers embed.FS

// TestTables holds what people see to files, on answers that are always the same. UPDATE_SCRIPTS=1 writes them anew.
func TestTables(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := answers.ReadFile("testdata/answers/" + r.Method + strings.ReplaceAll(r.URL.Path, "/", "_") + ".json")
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw)
	}))
	defer s.Close()
	p := params(t, "golden", map[string]string{
		"GYBE_ENDPOINT": s.URL, "VNF": "11111111-1111-4111-8111-111111111111", "OP": "22222222-2222-4222-8222-222222222222",
	})
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}
