package cli_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/apitest"
)

func TestPackagesFromAURL(t *testing.T) {
	t.Parallel()
	archive := vnfpkgtest.Zip(vnfpkgtest.Files(uuid.NewString()))
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "ann" || password != "s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/good.zip":
			http.NotFound(w, r)
		default:
			_, _ = w.Write(archive)
		}
	}))
	t.Cleanup(source.Close)
	node := startNode(t, apitest.NewVIM(), func(*config.Config) {})
	p := params(t, "download", map[string]string{"GYBE_ENDPOINT": node.URL(), "SOURCE": source.URL})
	p.Cmds["id"] = func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], idOf(ts.ReadFile("stdout")))
	}
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}
