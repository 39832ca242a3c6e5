package vnfpkgm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// TestChangesOfPackagesDependOnThePreconditions: every request that changes a package respects If-Match and
// If-Unmodified-Since, in both versions. The tag is that of the package, also for its content.
func TestChangesOfPackagesDependOnThePreconditions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(vnfpkgtest.Zip(vnfpkgtest.Files(uuid.NewString())))
	}))
	t.Cleanup(origin.Close)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	const zip = "application/zip"
	tests := []struct {
		method, task, media string
		body                func() any
		onboarded           bool
		status              int
	}{
		{"PUT", "/package_content", zip, func() any {
			return vnfpkgtest.Zip(vnfpkgtest.Files(uuid.NewString()))
		}, false, 202},
		{"PUT", "/package_content", zip, func() any { // without a length
			return io.MultiReader(strings.NewReader(string(vnfpkgtest.Zip(vnfpkgtest.Files(uuid.NewString())))))
		}, false, 202},
		{"POST", "/package_content/upload_from_uri", "application/json", func() any {
			return `{"addressInformation": "` + origin.URL + `"}`
		}, false, 202},
		{"PATCH", "", "application/merge-patch+json", func() any { return `{"operationalState": "DISABLED"}` }, true, 200},
		{"PATCH", "", "application/json", func() any { return `{"userDefinedData": {"k": "new"}}` }, false, 200},
		{"DELETE", "", "", func() any { return nil }, false, 204},
	}
	for _, prefix := range []string{"/vnfpkgm/v1", "/vnfpkgm/v2"} {
		for _, tt := range tests {
			id := b.create(t)
			if tt.onboarded {
				id = b.onboard(t, vnfpkgtest.Files(uuid.NewString()))
			}
			path := prefix + "/vnf_packages/" + id
			version := map[string]string{"/vnfpkgm/v2": "2.4.0"}[prefix]
			old := b.Do(t, "GET", path, nil, "Version", version).Header.Get("Etag")
			require.NotEmpty(t, old)
			a := b.Do(t, "PATCH", path, `{"userDefinedData": {"k": "later"}}`, "Version", version)
			require.Equal(t, 200, a.Status, string(a.Body))
			tag := b.Do(t, "GET", path, nil, "Version", version).Header.Get("Etag")
			send := func(path, condition, value string) (status int, detail string) {
				t.Helper()
				headers := []string{"Version", version, condition, value}
				if tt.media != "" {
					headers = append(headers, "Content-Type", tt.media)
				}
				a := b.Do(t, tt.method, path+tt.task, tt.body(), headers...)
				if a.Status >= 400 {
					detail = a.Problem.Detail
				}
				return a.Status, detail
			}
			what := tt.method + " " + prefix + tt.task
			for condition, value := range map[string]string{"If-Match": old + `, "99"`, "If-Unmodified-Since": past} {
				status, detail := send(path, condition, value)
				require.Equal(t, 412, status, "%s %s: %s", what, condition, detail)
			}
			status, _ := send(prefix+"/vnf_packages/"+uuid.NewString(), "If-Match", "*")
			require.Equal(t, 404, status, what)
			p := b.get(t, id)
			require.Equal(t, sol.KeyValuePairs{"k": "later"}, p.UserDefinedData, what)
			require.Nil(t, p.OnboardingFailureDetails, what)
			if !tt.onboarded {
				require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState, what)
			}
			status, detail := send(path, "If-Match", `"0", `+tag)
			require.Equal(t, tt.status, status, "%s: %s", what, detail)
		}
	}
}
