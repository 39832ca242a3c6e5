package vnfpkgm_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// An Identifier of SOL003 is a string. Clients find the package and its parts by any of them.
func TestVnfdIDsAreAnyText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{
		"Sample VNF", "vendor/product/1", "100%25", "a+b&c=d?e#f", "日本 VNF", "it's (1,2)", `"quoted" \back`,
		"{vnfdId}*", "~user;v=1@x:y",
	} {
		quoted, err := json.Marshal(id)
		require.NoError(t, err)
		pkg := b.onboard(t, vnfpkgtest.Files(string(quoted)))
		require.Equal(t, id, b.get(t, pkg).VnfdID)

		at := "/vnfpkgm/v2/onboarded_vnf_packages/" + url.PathEscape(id)
		for _, path := range []string{at, "/vnfpkgm/v2/onboarded_vnf_packages/" + escapeAll(id)} {
			a := b.Do(t, "GET", path, nil, "Version", "2.4.0")
			require.Equal(t, 200, a.Status, "%s: %s", path, a.Body)
			p := apitest.JSON[sol.VnfPkgInfo](t, a)
			require.Equal(t, pkg, p.ID)
			require.Equal(t, apitest.PublicURL+at, p.Links.Self.Href)
			for part, media := range map[string]string{
				"/package_content": "application/zip", "/vnfd": "text/plain",
				"/artifacts/Scripts/run.sh": "*/*", "/artifacts": "application/zip",
			} {
				a := b.Do(t, "GET", path+part, nil, "Version", "2.4.0", "Accept", media)
				require.Equal(t, 200, a.Status, "%s: %s", path+part, a.Body)
				require.NotContains(t, a.Header.Get("Content-Disposition"), id, "names of files are harmless")
			}
			require.Equal(t, 405, b.Do(t, "DELETE", path, nil, "Version", "2.4.0").Status)
			require.Equal(t, 405, b.Do(t, "BREW", path, nil, "Version", "2.4.0").Status, "a method that does not exist")
		}
		filter := "(eq,vnfdId,'" + strings.ReplaceAll(id, "'", "''") + "')"
		found := apitest.JSON[[]sol.VnfPkgInfo](
			t, b.Do(t, "GET", packages+"?filter="+url.QueryEscape(filter), nil),
		)
		require.Len(t, found, 1, filter)
		require.Equal(t, pkg, found[0].ID)
	}
}

// escapeAll escapes every byte, as a client may.
func escapeAll(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}
