package vnfpkgm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// command is the User-Agent of the openstack command.
const command = "python-tackerclient"

// TestClientsWithoutAVersion: the openstack command sends no Version header, and gets the values that it prints. All
// others get those of the standard.
func TestClientsWithoutAVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.onboard(t, vnfpkgtest.Files(vnfdID))
	one, onboarded := "/vnf_packages/"+id, "/onboarded_vnf_packages/"+vnfdID
	paths := map[string]string{
		one: one, onboarded: onboarded, "/vnf_packages?all_fields&filter=(eq,id," + id + ")": one,
		"/onboarded_vnf_packages?all_fields&filter=(eq,id," + id + ")": onboarded,
	}
	for path, self := range paths {
		for _, tt := range []struct {
			version, prefix, public           string
			container, disk, algorithm, times string
			imagePath                         bool
		}{
			{"", "/vnfpkgm/v1", "/prefix", "bare", "qcow2", "sha-256", `^\S{10} \S{8}\+00:00$`, true},
			{"1.2.0", "/vnfpkgm/v1", apitest.PublicURL, "BARE", "QCOW2", "SHA-256", `^\S{10}T\S{8}(\.\d+)?Z$`, false},
			{"2.1.0", "/vnfpkgm/v2", apitest.PublicURL, "BARE", "QCOW2", "SHA-256", `^\S{10}T\S{8}(\.\d+)?Z$`, false},
		} {
			a := b.Do(t, "GET", tt.prefix+path, nil, "Version", tt.version, "User-Agent", command)
			require.Equal(t, 200, a.Status, string(a.Body))
			require.Equal(t, tt.prefix == "/vnfpkgm/v1", a.Header.Get("Vary") == "Version, User-Agent", a.Header)
			raw := a.Body
			if strings.Contains(path, "?") {
				list := apitest.JSON[[]json.RawMessage](t, a)
				require.Len(t, list, 1)
				raw = list[0]
			}
			var p map[string]any
			require.NoError(t, json.Unmarshal(raw, &p))
			images, _ := p["softwareImages"].([]any)
			require.Len(t, images, 1, path)
			image, _ := images[0].(map[string]any)
			require.Equal(t, tt.container, image["containerFormat"])
			require.Equal(t, tt.disk, image["diskFormat"])
			require.Regexp(t, tt.times, image["createdAt"])
			require.Equal(t, map[string]any{}, image["userMetadata"])
			sum, _ := image["checksum"].(map[string]any)
			require.Equal(t, tt.algorithm, sum["algorithm"])
			if tt.imagePath {
				require.Contains(t, image, "imagePath")
			}
			links, _ := p["_links"].(map[string]any)
			require.Equal(t, map[string]any{"href": tt.public + tt.prefix + self}, links["self"])
		}
	}

	// The filter finds the values that are shown, and the forms have different entity tags.
	find := func(format, version string) int {
		a := b.Do(
			t, "GET", packages+"?filter=(eq,softwareImages/containerFormat,"+format+")", nil,
			"Version", version, "User-Agent", command,
		)
		require.Equal(t, 200, a.Status, string(a.Body))
		return len(apitest.JSON[[]any](t, a))
	}
	require.Equal(t, []int{1, 0, 0, 1}, []int{
		find("bare", ""), find("BARE", ""), find("bare", "1.2.0"), find("BARE", "1.2.0"),
	})
	tag := b.Do(t, "GET", packages+"/"+id, nil, "Version", "", "User-Agent", command).Header.Get("Etag")
	require.NotEqual(t, tag, b.Do(t, "GET", packages+"/"+id, nil).Header.Get("Etag"))
	require.Equal(t, 304, b.Do(
		t, "GET", packages+"/"+id, nil, "Version", "", "User-Agent", command, "If-None-Match", tag,
	).Status)
	require.Equal(t, 200, b.Do(t, "GET", packages+"/"+id, nil, "If-None-Match", tag).Status)
	a := b.Do(
		t, "PATCH", packages+"/"+id, `{"operationalState":"DISABLED"}`,
		"Version", "", "User-Agent", command, "If-Match", tag,
	)
	require.Equal(t, 200, a.Status, string(a.Body))
}
