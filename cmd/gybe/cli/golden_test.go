package cli_test

import (
	"embed"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// answers are what a gybe says whose world does not change, by method and path with _ for each slash.
//
//go:embed testdata/answers/*.json
var answers embed.FS

// TestTables compares the output for constant responses with golden files. UPDATE_SCRIPTS=1 rewrites them.
func TestTables(t *testing.T) {
	t.Parallel()
	var asked sync.Map // "METHOD path body" of every request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.Store(r.Method+" "+r.URL.Path+" "+string(body), nil)
		raw, err := answers.ReadFile(
			"testdata/answers/" + r.Method + strings.ReplaceAll(r.URL.Path, "/", "_") + ".json",
		)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw)
	}))
	defer s.Close()
	p := params(t, "golden", map[string]string{
		"GYBE_ENDPOINT": s.URL, "VNF": "11111111-1111-4111-8111-111111111111",
		"OP": "22222222-2222-4222-8222-222222222222",
	})
	p.Cmds["asked"] = func(ts *testscript.TestScript, _ bool, args []string) {
		want, found := regexp.MustCompile(args[0]), false
		asked.Range(func(request, _ any) bool {
			found = want.MatchString(request.(string)) //nolint:forcetypeassert // stored above
			return !found
		})
		if !found {
			ts.Fatalf("no request was like %s", want)
		}
	}
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}
