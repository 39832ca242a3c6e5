package vnfpkgm_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const v2 = "/vnfpkgm/v2"

// call sends a request below v2 with the version that clients of v3.7.1 name.
func (b *bundle) call(t *testing.T, method, path string, body any, headers ...string) apitest.Answer {
	t.Helper()
	return b.Do(t, method, v2+path, body, append([]string{"Version", "2.4.0"}, headers...)...)
}

func TestVersionsOfPackageManagement(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, want := range map[string][]string{
		"/vnfpkgm/api_versions": {"1.2.0", "2.1.0", "2.4.0"}, "/vnfpkgm/v1/api_versions": {"1.2.0"},
		"/vnfpkgm/v2/api_versions": {"2.1.0", "2.4.0"},
	} {
		a := b.Do(t, "GET", path, nil, "Version", "")
		require.Equal(t, 200, a.Status, path)
		var got []string
		for _, v := range apitest.JSON[sol.ApiVersionInformation](t, a).ApiVersions {
			got = append(got, v.Version)
		}
		require.Equal(t, want, got, path)
	}
	for given, status := range map[string]int{
		"2.1.0": 200, "2.4.0": 200, "": 400, "2": 400, "1.2.0": 406, "9.0.0": 406,
	} {
		a := b.Do(t, "GET", v2+"/vnf_packages", nil, "Version", given)
		require.Equal(t, status, a.Status, "%q: %s", given, a.Body)
		if status == 200 {
			require.Equal(t, given, a.Header.Get("Version"))
		}
	}
}

func TestVersion2ShowsARefusedPackageAsError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.call(t, "POST", "/vnf_packages", `{}`)
	require.Equal(t, 201, a.Status, string(a.Body))
	p := apitest.JSON[sol.VnfPkgInfo](t, a)
	self := apitest.PublicURL + v2 + "/vnf_packages/" + p.ID
	require.Equal(t, self, a.Header.Get("Location"))
	require.Equal(t, self, p.Links.Self.Href)

	content := "/vnf_packages/" + p.ID + "/package_content"
	require.Equal(t, 202, b.call(t, "PUT", content, []byte("no zip"), "Content-Type", "application/zip").Status)
	require.NoError(t, b.service.Onboard(t.Context(), p.ID))
	p = apitest.JSON[sol.VnfPkgInfo](t, b.call(t, "GET", "/vnf_packages/"+p.ID, nil))
	require.Equal(t, sol.PackageOnboardingStateError, p.OnboardingState)
	require.NotNil(t, p.OnboardingFailureDetails)
	require.Equal(t, sol.PackageOnboardingStateCreated, b.get(t, p.ID).OnboardingState, "version 1 has no such state")
	list := b.call(t, "GET", "/vnf_packages?filter=(eq,onboardingState,ERROR)", nil)
	require.Len(t, apitest.JSON[[]sol.VnfPkgInfo](t, list), 1)

	archive := vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))
	require.Equal(t, 202, b.call(t, "PUT", content, archive, "Content-Type", "application/zip").Status)
	require.NoError(t, b.service.Onboard(t.Context(), p.ID))
	p = apitest.JSON[sol.VnfPkgInfo](t, b.call(t, "GET", "/vnf_packages/"+p.ID, nil))
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
	require.Nil(t, p.OnboardingFailureDetails)
}

// withManifest are the files of a package with a manifest, a certificate, artifacts of two sets of non-MANO artifacts,
// and an artifact with a signature.
func withManifest(vnfd string) map[string]string {
	files := vnfpkgtest.Files(vnfd)
	maps.Copy(files, map[string]string{
		"Files/monitor/a.json": `{"a": 1}`, "Files/monitor/b.json": `{"b": 1}`, "Files/test/run.txt": "run",
		"Scripts/run.sh.sig": "signature", "Files/vendor.cert": "certificate",
	})
	sum := func(name string) string {
		h := sha256.Sum256([]byte(files[name]))
		return "Source: " + name + "\nAlgorithm: SHA-256\nHash: " + hex.EncodeToString(h[:]) + "\n"
	}
	files["Definitions/vnfd.mf"] = "metadata:\nvnf_product_name: Small\nvnf_provider_id: Example\n\n" +
		sum("Scripts/run.sh") + "Signature: Scripts/run.sh.sig\n\n" +
		"non_mano_artifact_sets:\nacme.monitoring:\n" + sum("Files/monitor/a.json") + sum("Files/monitor/b.json") +
		"acme.test:\n" + sum("Files/test/run.txt")
	files[csar.MetaPath] = strings.Replace(files[csar.MetaPath], "\n\nName", "\nETSI-Entry-Manifest: "+
		"Definitions/vnfd.mf\nETSI-Entry-Certificate: Files/vendor.cert\n\nName", 1)
	return files
}

func zipped(t *testing.T, data []byte) []string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	return names
}

// TestContentOfAPackage reads every part of a package by its id and by its vnfdId, in both versions.
func TestContentOfAPackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	files := withManifest(vnfdID)
	id := b.onboard(t, files)
	const script, zipType = "/artifacts/Scripts/run.sh", "application/zip"
	mano := []string{"Scripts/run.sh"}
	monitor, test := []string{"Files/monitor/a.json", "Files/monitor/b.json"}, []string{"Files/test/run.txt"}
	tests := []struct {
		path, accept string
		status       int
		media        string
		body         string   // of a text
		files        []string // of an archive
	}{
		{"/package_content", "", 200, zipType, "", nil},
		{"/package_content", "text/plain", 406, "", "", nil},
		{"/manifest", "", 200, "text/plain; charset=utf-8", files["Definitions/vnfd.mf"], nil},
		{"/manifest", zipType, 200, zipType, "", []string{"Definitions/vnfd.mf"}},
		{"/manifest", "application/json", 406, "", "", nil},
		{
			"/manifest?include_signatures", "", 200, zipType, "",
			[]string{"Definitions/vnfd.mf", "Files/vendor.cert"},
		},
		{"/manifest?include_signatures", "text/plain", 406, "", "", nil},
		{"/vnfd", "text/plain", 200, "text/plain; charset=utf-8", files["Definitions/vnfd.yaml"], nil},
		{"/vnfd", zipType, 200, zipType, "", []string{"Definitions/vnfd.yaml", csar.MetaPath}},
		{
			"/vnfd?include_signatures", "", 200, zipType, "",
			[]string{"Definitions/vnfd.mf", "Definitions/vnfd.yaml", "Files/vendor.cert", csar.MetaPath},
		},
		{"/vnfd?include_signature", "text/plain", 406, "", "", nil},
		{script, "", 200, "", "#!/bin/sh\n", nil},
		{script + "?include_signatures", "", 200, zipType, "", []string{"Scripts/run.sh", "Scripts/run.sh.sig"}},
		{script + "?include_signatures", "application/json", 406, "", "", nil},
		{"/artifacts/Scripts/none.sh", "", 404, "", "", nil},
		{"/artifacts/Scripts/none.sh?include_signatures", "", 404, "", "", nil},
		{"/artifacts/Definitions/vnfd.yaml?include_signatures", "", 404, "", "", nil},
		{"/artifacts", "", 200, zipType, "", slices.Concat(monitor, test, mano)},
		{"/artifacts?include_external_artifacts", "", 200, zipType, "", slices.Concat(monitor, test, mano)},
		{"/artifacts?exclude_all_non_mano_artifacts", "", 200, zipType, "", mano},
		{"/artifacts?exclude_all_mano_artifacts", "", 200, zipType, "", slices.Concat(monitor, test)},
		{
			"/artifacts?exclude_all_mano_artifacts&select_non_mano_artifact_sets=acme.test,other", "", 200, zipType, "",
			test,
		},
		{"/artifacts?exclude_all_mano_artifacts&exclude_all_non_mano_artifacts", "", 200, zipType, "", []string{}},
		{
			"/artifacts?exclude_all_non_mano_artifacts&include_signatures", "", 200, zipType, "",
			[]string{"Scripts/run.sh", "Scripts/run.sh.sig"},
		},
		{"/artifacts?exclude_all_non_mano_artifacts&select_non_mano_artifact_sets=a", "", 400, "", "", nil},
		{"/artifacts", "text/plain", 406, "", "", nil},
	}
	for _, at := range []string{
		packages + "/" + id, v2 + "/vnf_packages/" + id, "/vnfpkgm/v1/onboarded_vnf_packages/" + vnfdID,
		v2 + "/onboarded_vnf_packages/" + vnfdID,
	} {
		for _, tt := range tests {
			what := at + tt.path + " " + tt.accept
			version := ""
			if strings.Contains(at, "/v2/") {
				version = "2.1.0"
			}
			a := b.Do(t, "GET", at+tt.path, nil, "Accept", tt.accept, "Version", version)
			require.Equal(t, tt.status, a.Status, "%s: %s", what, a.Body)
			if a.Status != 200 {
				continue
			}
			if tt.media != "" {
				require.Equal(t, tt.media, a.Header.Get("Content-Type"), what)
			}
			if tt.body != "" {
				require.Equal(t, tt.body, string(a.Body), what)
			}
			if tt.files != nil {
				require.Equal(t, tt.files, append([]string{}, zipped(t, a.Body)...), what)
			}
			b.requireParts(t, at+tt.path, a, "Accept", tt.accept, "Version", version)
		}
	}
}

// requireParts reads parts of a resource whose whole content is known.
func (b *bundle) requireParts(t *testing.T, path string, whole apitest.Answer, headers ...string) {
	t.Helper()
	etag, size := whole.Header.Get("ETag"), len(whole.Body)
	require.NotEmpty(t, etag, path)
	require.Equal(t, "bytes", whole.Header.Get("Accept-Ranges"), path)
	with := func(more ...string) []string { return append(slices.Clone(headers), more...) }
	part := b.Do(t, "GET", path, nil, with("Range", "bytes=1-2", "If-Range", etag)...)
	require.Equal(t, 206, part.Status, path)
	require.Equal(t, whole.Body[1:3], part.Body, path)
	require.Equal(t, fmt.Sprintf("bytes 1-2/%d", size), part.Header.Get("Content-Range"), path)
	end := b.Do(t, "GET", path, nil, with("Range", "bytes=-1")...)
	require.Equal(t, whole.Body[size-1:], end.Body, path)
	other := b.Do(t, "GET", path, nil, with("Range", "bytes=1-2", "If-Range", `"other"`)...)
	require.Equal(t, 200, other.Status, path)
	require.Equal(t, whole.Body, other.Body, path)
	beyond := b.Do(t, "GET", path, nil, with("Range", fmt.Sprintf("bytes=%d-", size))...)
	require.Equal(t, 416, beyond.Status, path)
	require.Equal(t, fmt.Sprintf("bytes */%d", size), beyond.Header.Get("Content-Range"), path)
	require.Equal(t, 304, b.Do(t, "GET", path, nil, with("If-None-Match", etag)...).Status, path)
	head := b.Do(t, "HEAD", path, nil, headers...)
	require.Equal(t, 200, head.Status, path)
	require.Equal(t, fmt.Sprint(size), head.Header.Get("Content-Length"), path)
}

func TestContentOfAPackageThatIsNotOnboarded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	for _, part := range []string{"/package_content", "/vnfd", "/manifest", "/artifacts", "/artifacts/Scripts/run.sh"} {
		for _, query := range []string{"", "?include_signatures"} {
			require.Equal(t, 409, b.call(t, "GET", "/vnf_packages/"+id+part+query, nil).Status, part)
			require.Equal(t, 404, b.call(t, "GET", "/vnf_packages/"+uuid.NewString()+part+query, nil).Status, part)
			require.Equal(t, 404, b.call(t, "GET", "/onboarded_vnf_packages/"+vnfdID+part+query, nil).Status, part)
		}
	}
	without := b.onboard(t, vnfpkgtest.Files(vnfdID))
	a := b.call(t, "GET", "/vnf_packages/"+without+"/manifest", nil)
	require.Equal(t, 404, a.Status, "the package has no manifest")
	require.Contains(t, a.Problem.Detail, "no manifest")
}

func TestOnboardedPackages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 * apitest.PageSize { // pages without one would end the list
		b.create(t)
	}
	id := b.onboard(t, vnfpkgtest.Files(vnfdID))
	other := b.onboard(t, vnfpkgtest.Files(uuid.NewString()))
	list := apitest.JSON[[]sol.VnfPkgInfo](t, b.call(t, "GET", "/onboarded_vnf_packages", nil))
	var found []string
	for _, p := range list {
		require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
		found = append(found, p.ID)
		self := strings.TrimPrefix(p.Links.Self.Href, apitest.PublicURL)
		one := b.Do(t, "GET", self, nil, "Version", "2.1.0")
		require.Equal(t, 200, one.Status, self)
		same := apitest.JSON[sol.VnfPkgInfo](t, one)
		require.Equal(t, p.ID, same.ID)
		require.Equal(t, p.Links.Self.Href, same.Links.Self.Href)
		vnfd := strings.TrimPrefix(p.Links.Vnfd.Href, apitest.PublicURL)
		require.Equal(t, 200, b.Do(t, "GET", vnfd, nil, "Version", "2.1.0").Status, vnfd)
	}
	require.Subset(t, found, []string{id, other})
	require.Equal(t, 404, b.call(t, "GET", "/onboarded_vnf_packages/"+id, nil).Status, "the id is no vnfdId")
	require.Equal(t, 405, b.call(t, "DELETE", "/onboarded_vnf_packages/"+vnfdID, nil).Status)
	list = apitest.JSON[[]sol.VnfPkgInfo](
		t, b.call(t, "GET", "/onboarded_vnf_packages?filter=(eq,vnfdId,"+vnfdID+")&all_fields", nil),
	)
	require.Len(t, list, 1)
	require.NotEmpty(t, list[0].SoftwareImages)
}
