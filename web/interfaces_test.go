package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
)

// TestInterfacesCanBeBrowsed: the console shows each operation, parameter and schema of each document, and no link is
// broken.
func TestInterfacesCanBeBrowsed(t *testing.T) {
	t.Parallel()
	h := handler(sample().deps())
	list := get(t, h, "/ui/interfaces")
	require.Equal(t, http.StatusOK, list.Code)
	anchor := regexp.MustCompile(`href="#([^"]+)"`)
	for _, name := range openapi.Names() {
		require.Contains(t, list.Body.String(), `href="/ui/interfaces/`+name+`"`)
		require.Contains(t, list.Body.String(), `href="/openapi/`+name+`.yaml"`)
		rec := get(t, h, "/ui/interfaces/"+name)
		require.Equal(t, http.StatusOK, rec.Code, name)
		page := rec.Body.String()
		require.NotContains(t, page, "hx-sse:connect", "nothing can change")
		doc, err := openapi.Load(name)
		require.NoError(t, err)
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				require.Contains(t, page, `id="o-`+op.OperationID+`"`, "%s %s", method, path)
				for _, p := range op.Parameters {
					require.Contains(t, page, "<code>"+p.Value.Name+"</code>", "%s %s", method, path)
				}
				for _, callback := range op.Callbacks {
					for _, item := range callback.Value.Map() {
						require.Contains(t, page, `id="o-`+item.Post.OperationID+`"`, "callback of %s %s", method, path)
					}
				}
			}
		}
		for schema := range doc.Components.Schemas {
			require.Contains(t, page, `id="s-`+schema+`"`)
		}
		for _, m := range anchor.FindAllStringSubmatch(page, -1) {
			require.Equal(t, 1, strings.Count(page, `id="`+m[1]+`"`), "%s: link to #%s", name, m[1])
		}
	}
	require.Contains(t, get(t, h, "/ui/interfaces/vnfpkgm-v2").Body.String(),
		"VnfPackageOnboardingNotification or VnfPackageChangeNotification")
	require.Equal(t, http.StatusNotFound, get(t, h, "/ui/interfaces/none").Code)
}
