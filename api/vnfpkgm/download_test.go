package vnfpkgm_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

func TestUploadFromURI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }))
	t.Cleanup(s.Close)
	for n, at := range []string{packages, v2 + "/vnf_packages"} {
		id := b.create(t)
		version := []string{"", "2.1.0"}[n]
		path := at + "/" + id + "/package_content/upload_from_uri"
		post := func(body string) (int, []string) {
			a := b.Do(t, "POST", path, body, "Version", version)
			return a.Status, a.Pointers()
		}
		for body, pointer := range map[string]string{
			`{}`: "/addressInformation", `{"addressInformation": ""}`: "/addressInformation",
			`{"addressInformation": "ftp://a/b"}`:                                           "/addressInformation",
			`{"addressInformation": "http://a/b", "password": "p"}`:                         "/userName",
			`{"addressInformation": "http://a/b", "authType": "x"}`:                         "/authType",
			`{"addressInformation": "http://a", "userName": 5}`:                             "/userName",
			`{"addressInformation": "http://u:p@a/b"}`:                                      "/addressInformation",
			`{"addressInformation": "http://a/b", "authType": "OAUTH2_CLIENT_CREDENTIALS"}`: "/paramsOauth2ClientCredentials",
		} {
			status, pointers := post(body)
			require.Equal(t, 400, status, body)
			require.Equal(t, []string{pointer}, pointers, body)
		}
		status, pointers := post(`{"addressInformation": "http://169.254.169.254/"}`)
		require.Equal(t, 422, status)
		require.Equal(t, []string{"/addressInformation"}, pointers)
		other := at + "/" + uuid.NewString() + "/package_content/upload_from_uri"
		good := `{"addressInformation": "` + s.URL + `", "userName": "u", "password": "s3cret"}`
		require.Equal(t, 404, b.Do(t, "POST", other, good, "Version", version).Status)
		require.Equal(t, 405, b.Do(t, "PUT", path, good, "Version", version).Status)

		a := b.Do(t, "POST", path, good, "Version", version)
		require.Equal(t, 202, a.Status, string(a.Body))
		require.Empty(t, a.Body)
		status, _ = post(good)
		require.Equal(t, 409, status)
		a = b.Do(t, "GET", packages+"/"+id, nil)
		require.NotContains(t, string(a.Body), "s3cret")
		require.Equal(t, sol.PackageOnboardingStateUploading, b.get(t, id).OnboardingState)
		_, again, err := b.service.Download(t.Context(), id)
		require.NoError(t, err)
		require.False(t, again)
		require.NoError(t, b.service.Onboard(t.Context(), id))
		if n == 0 {
			require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
			require.Equal(t, 200, b.Do(t, "PATCH", packages+"/"+id, `{"operationalState": "DISABLED"}`).Status)
			require.Equal(t, 204, b.Do(t, "DELETE", packages+"/"+id, nil).Status)
		}
	}
}
