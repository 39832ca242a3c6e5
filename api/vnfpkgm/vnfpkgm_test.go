package vnfpkgm_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/vnfpkgm"
	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/download"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const (
	packages = "/vnfpkgm/v1/vnf_packages"
	maxSize  = 100_000
	vnfdID   = "3a2c1e7b-0c9d-4a53-8f6e-0d1b2c3a4f5e"
)

type bundle struct {
	*apitest.Server
	*apitest.Domain
	service *vnfpkg.Services
	content *content.Store
}

func setup(t *testing.T) *bundle {
	t.Helper()
	files, err := content.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	b := &bundle{Domain: apitest.NewDomain(t), content: files}
	b.service = vnfpkg.New(vnfpkg.Options{
		Stores: b.Store, Content: files, Log: slog.New(slog.DiscardHandler),
		Fetcher: download.New(download.Options{Policy: &outbound.Policy{Loopback: true}}),
	})
	b.Server = apitest.Serve(
		t, (&vnfpkgm.API{Services: b.service, MaxSize: maxSize, Subscriptions: b.Subscriptions}).Mount,
	)
	return b
}

func (b *bundle) create(t *testing.T) string {
	t.Helper()
	a := b.Do(t, "POST", packages, `{"userDefinedData":{"k":"v"}}`, "Version", "")
	require.Equal(t, 201, a.Status, string(a.Body))
	return a.LocationID(t)
}

// upload uploads and does the work that follows.
func (b *bundle) upload(t *testing.T, id string, archive []byte) apitest.Answer {
	t.Helper()
	a := b.Do(t, "PUT", packages+"/"+id+"/package_content", archive, "Content-Type", "application/zip", "Accept",
		"application/zip", "Version", "")
	require.NoError(t, b.service.Onboard(t.Context(), id)) // the work of the job, if there is a job
	return a
}

func (b *bundle) onboard(t *testing.T, files map[string]string) string {
	t.Helper()
	id := b.create(t)
	a := b.upload(t, id, vnfpkgtest.Zip(files))
	require.Equal(t, 202, a.Status, string(a.Body))
	require.Empty(t, a.Body)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
	return id
}

func (b *bundle) get(t *testing.T, id string) sol.VnfPkgInfo {
	t.Helper()
	a := b.Do(t, "GET", packages+"/"+id, nil)
	require.Equal(t, 200, a.Status, string(a.Body))
	return apitest.JSON[sol.VnfPkgInfo](t, a)
}

func TestTheLifeOfAPackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.Do(t, "POST", packages, `{"userDefinedData":{"k":"v"}}`)
	p := apitest.JSON[sol.VnfPkgInfo](t, a)
	self := apitest.PublicURL + packages + "/" + p.ID
	require.Equal(t, self, a.Header.Get("Location"))
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Equal(t, sol.PackageOperationalStateDisabled, p.OperationalState)
	require.Equal(
		t, &sol.VnfPkgInfoLinks{Self: sol.Link{Href: self}, PackageContent: sol.Link{Href: self + "/package_content"}},
		p.Links,
	)

	archive := vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))
	require.Equal(t, 202, b.upload(t, p.ID, archive).Status)
	p = b.get(t, p.ID)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
	require.Equal(t, vnfdID, p.VnfdID)
	require.Equal(t, self+"/vnfd", p.Links.Vnfd.Href)
	require.Equal(t, sol.KeyValuePairs{"k": "v"}, p.UserDefinedData)
	require.Len(t, p.SoftwareImages, 1)

	require.Equal(t, 409, b.upload(t, p.ID, archive).Status, "it has content")
	require.Equal(t, 409, b.Do(t, "DELETE", packages+"/"+p.ID, nil).Status, "it is enabled")

	a = b.Do(t, "PATCH", packages+"/"+p.ID, `{"operationalState":"DISABLED"}`)
	require.Equal(t, 200, a.Status)
	require.JSONEq(t, `{"operationalState":"DISABLED"}`, string(a.Body), "only what was changed")
	require.Equal(t, 409, b.Do(t, "PATCH", packages+"/"+p.ID, `{"operationalState":"DISABLED"}`).Status)
	a = b.Do(t, "PATCH", packages+"/"+p.ID, `{"userDefinedData":{"k":null,"n":1}}`, "Content-Type",
		"application/merge-patch+json")
	require.JSONEq(t, `{"userDefinedData":{"n":1}}`, string(a.Body))
	large := `":[` + strings.Repeat(`"`+strings.Repeat("x", 997)+`",`, 40) + `0]`
	require.Equal(t, 200, b.Do(t, "PATCH", packages+"/"+p.ID, `{"userDefinedData":{"large`+large+`}}`).Status)
	a = b.Do(t, "PATCH", packages+"/"+p.ID, `{"userDefinedData":{"more`+large+`}}`)
	require.Equal(t, 422, a.Status)
	require.Equal(t, []string{"/userDefinedData"}, a.Pointers())
	require.Equal(t, 200, b.Do(t, "PATCH", packages+"/"+p.ID, `{"userDefinedData":{"large":null}}`).Status)
	require.Equal(t, 412, b.Do(t, "DELETE", packages+"/"+p.ID, nil, "If-Match", `"0"`).Status)
	require.Equal(
		t, 412, b.Do(t, "PATCH", packages+"/"+p.ID, `{"operationalState":"ENABLED"}`, "If-Match", `"0"`).Status,
	)

	now := lcm.SystemClock{}.Now()
	i := &lcm.Instance{
		ID: uuid.NewString(), Created: now, Updated: now, VnfdID: vnfdID, VnfPkgID: p.ID,
		State: sol.InstantiationStateNotInstantiated,
	}
	require.NoError(t, b.Store.InsertInstance(t.Context(), i, nil))
	require.Equal(t, sol.PackageUsageStateInUse, b.get(t, p.ID).UsageState)
	require.Equal(t, 409, b.Do(t, "DELETE", packages+"/"+p.ID, nil).Status, "it is in use")
	require.NoError(t, b.Store.DeleteInstance(t.Context(), i.ID, nil, nil))

	a = b.Do(t, "GET", packages+"/"+p.ID, nil)
	require.Equal(t, 204, b.Do(t, "DELETE", packages+"/"+p.ID, nil, "If-Match", a.Header.Get("ETag")).Status)
	require.Equal(t, 404, b.Do(t, "GET", packages+"/"+p.ID, nil).Status)
	require.Equal(t, 404, b.upload(t, p.ID, archive).Status)
}

func TestARefusedPackageSaysWhyAndCanBeUploadedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	require.Equal(t, 202, b.upload(t, id, []byte("this is no zip")).Status)
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Contains(t, p.OnboardingFailureDetails.Detail, "not a zip archive")
	require.Equal(t, 422, p.OnboardingFailureDetails.Status)
	require.Equal(t, 202, b.upload(t, id, vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))).Status)
	p = b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
	require.Nil(t, p.OnboardingFailureDetails)
}

// TestIdenticalArchiveLeadsToThePackage: 409 with the address of the package that has this content.
func TestIdenticalArchiveLeadsToThePackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.onboard(t, vnfpkgtest.Files(vnfdID))
	second := b.create(t)
	a := b.upload(t, second, vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID)))
	require.Equal(t, 409, a.Status)
	require.Equal(t, apitest.PublicURL+packages+"/"+first, a.Header.Get("Location"))
	require.Contains(t, a.Problem.Detail, first)
	p := b.get(t, second)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Equal(t, 409, p.OnboardingFailureDetails.Status)
	require.Equal(t, 204, b.Do(t, "DELETE", packages+"/"+second, nil).Status)

	p = b.get(t, first)
	require.Equal(t, "SHA-512", p.Checksum.Algorithm)
	filter := packages + "?filter=(eq,checksum/hash," + p.Checksum.Hash + ")"
	require.Len(t, apitest.JSON[[]sol.VnfPkgInfo](t, b.Do(t, "GET", filter, nil)), 1)
}

func TestUploadsThatCannotWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	content := packages + "/" + id + "/package_content"
	big := bytes.Repeat([]byte("x"), maxSize+1)
	require.Equal(t, 413, b.Do(t, "PUT", content, big, "Content-Type", "application/zip").Status)
	// Without a length, the limit is found while reading.
	require.Equal(
		t, 413, b.Do(t, "PUT", content, io.MultiReader(bytes.NewReader(big)), "Content-Type", "application/zip").Status,
	)
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Equal(t, 413, p.OnboardingFailureDetails.Status, "the reason stays on the package")

	a := b.Do(t, "PUT", content, "x", "Content-Type", "application/x-tar")
	require.Equal(t, 415, a.Status)
	require.Contains(t, a.Problem.Detail, "application/zip")
	require.Equal(t, 404, b.Do(t, "PUT", packages+"/"+uuid.NewString()+"/package_content", "x", "Content-Type",
		"application/zip").Status)
	require.Equal(t, 405, b.Do(t, "POST", content, "x", "Content-Type", "application/zip").Status)

	require.Equal(t, 202, b.upload(t, id, vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))).Status)
}

func TestUploadWithoutDiskSpaceIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	content := packages + "/" + id + "/package_content"
	archive := vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))
	b.content.KeepFree(math.MaxInt64)
	for _, body := range []any{archive, io.MultiReader(bytes.NewReader(archive))} { // with a length, and without
		a := b.Do(t, "PUT", content, body, "Content-Type", "application/zip")
		require.Equal(t, 503, a.Status, string(a.Body))
		require.Equal(t, "Not enough disk space", a.Problem.Title)
		require.Equal(t, "60", a.Header.Get("Retry-After"))
		require.Contains(t, a.Problem.Detail, "MiB have to stay free")
	}
	require.Equal(t, sol.PackageOnboardingStateCreated, b.get(t, id).OnboardingState)
	b.content.KeepFree(1)
	require.Equal(t, 202, b.upload(t, id, archive).Status)
}

// TestPackageInProcessingIsDeleted: a package that is not finished does not have to be waited for.
func TestPackageInProcessingIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))
	a := b.Do(t, "PUT", packages+"/"+id+"/package_content", archive, "Content-Type", "application/zip")
	require.Equal(t, 202, a.Status, string(a.Body))
	require.Equal(t, sol.PackageOnboardingStateProcessing, b.get(t, id).OnboardingState)
	require.Equal(t, 204, b.Do(t, "DELETE", packages+"/"+id, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", packages+"/"+id, nil).Status)
	require.NoError(t, b.service.Onboard(t.Context(), id), "the job has nothing to do")
	for d, err := range b.content.All(t.Context(), time.Now().Add(time.Hour)) {
		require.NoError(t, err)
		require.Fail(t, "content without a package", d)
	}
}

func TestAClientThatBreaksOffLeavesAPackageThatCanBeUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, b.URL+packages+"/"+id+"/package_content", r)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/zip")
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
	}()
	_, err = w.Write([]byte("PK"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return b.get(t, id).OnboardingState == sol.PackageOnboardingStateUploading
	}, time.Minute, time.Millisecond)
	require.Equal(t, 409, b.upload(t, id, []byte("x")).Status, "one upload at a time")
	cancel()
	require.Eventually(t, func() bool {
		return b.get(t, id).OnboardingState == sol.PackageOnboardingStateCreated
	}, time.Minute, time.Millisecond)
	require.Equal(t, 202, b.upload(t, id, vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))).Status)
}

func TestContentIsServedWholeAndInParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files(vnfdID))
	id := b.create(t)
	path := packages + "/" + id + "/package_content"
	require.Equal(t, 409, b.Do(t, "GET", path, nil, "Accept", "application/zip").Status, "it has no content yet")
	b.upload(t, id, archive)

	whole := b.Do(t, "GET", path, nil, "Accept", "application/zip")
	require.Equal(t, 200, whole.Status)
	require.Equal(t, archive, whole.Body)
	require.Equal(t, "application/zip", whole.Header.Get("Content-Type"))
	require.Equal(t, "bytes", whole.Header.Get("Accept-Ranges"))
	etag := whole.Header.Get("ETag")
	require.NotEmpty(t, etag)

	tests := []struct {
		name    string
		headers []string
		status  int
		body    []byte
	}{
		{"a part", []string{"Range", "bytes=2-5"}, 206, archive[2:6]},
		{"the end", []string{"Range", "bytes=-3"}, 206, archive[len(archive)-3:]},
		{"from the middle", []string{"Range", "bytes=10-"}, 206, archive[10:]},
		{"a part of the same content", []string{"Range", "bytes=0-1", "If-Range", etag}, 206, archive[:2]},
		{"a part of other content", []string{"Range", "bytes=0-1", "If-Range", `"other"`}, 200, archive},
		{"unchanged", []string{"If-None-Match", etag}, 304, []byte{}},
		{"beyond the end", []string{"Range", "bytes=999999-"}, 416, nil},
		{"nonsense", []string{"Range", "bytes=a-b"}, 416, nil},
		{"an unknown unit", []string{"Range", "lines=1,2"}, 200, archive},
		{"several parts", []string{"Range", "bytes=0-1,4-5"}, 400, nil},
		{"not the content meant", []string{"If-Match", `"other"`}, 412, nil},
		{"not acceptable", []string{"Accept", "text/plain"}, 406, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := b.Do(t, "GET", path, nil, tt.headers...)
			require.Equal(t, tt.status, a.Status, string(a.Body))
			if tt.body != nil {
				require.Equal(t, tt.body, a.Body)
			}
			if a.Status == 416 {
				require.True(t, strings.HasPrefix(a.Header.Get("Content-Range"), "bytes */"))
			}
		})
	}
	head := b.Do(t, "HEAD", path, nil)
	require.Equal(t, 200, head.Status)
	require.Empty(t, head.Body)
	require.Equal(t, whole.Header.Get("Content-Length"), head.Header.Get("Content-Length"))
}

func TestTheVnfdIsTextOrAnArchive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	single := b.onboard(t, vnfpkgtest.Files(vnfdID))
	files := vnfpkgtest.Files(uuid.NewString())
	files["Definitions/types.yaml"] = "tosca_definitions_version: tosca_simple_yaml_1_2\n"
	files["Definitions/vnfd.yaml"] = strings.Replace(
		files["Definitions/vnfd.yaml"], "imports:\n", "imports:\n  - types.yaml\n", 1,
	)
	several := b.onboard(t, files)
	tests := []struct {
		id, accept string
		status     int
		media      string
	}{
		{single, "text/plain", 200, "text/plain; charset=utf-8"},
		{single, "application/zip", 200, "application/zip"},
		{single, "text/plain, application/zip", 200, "text/plain; charset=utf-8"},
		{single, "text/plain;q=0.1, application/zip", 200, "application/zip"},
		{single, "", 200, "text/plain; charset=utf-8"},
		{single, "application/json", 406, ""},
		{several, "text/plain", 406, ""},
		{several, "application/zip", 200, "application/zip"},
		{several, "", 200, "application/zip"},
		{several, "text/plain, application/zip", 200, "application/zip"},
	}
	for _, tt := range tests {
		a := b.Do(t, "GET", packages+"/"+tt.id+"/vnfd", nil, "Accept", tt.accept)
		require.Equal(t, tt.status, a.Status, "%s %s", tt.accept, a.Body)
		if tt.media == "" {
			continue
		}
		require.Equal(t, tt.media, a.Header.Get("Content-Type"), tt.accept)
		if tt.media != "application/zip" {
			require.Contains(t, string(a.Body), "descriptor_id")
			continue
		}
		z, err := zip.NewReader(bytes.NewReader(a.Body), int64(len(a.Body)))
		require.NoError(t, err)
		require.True(
			t, slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "Definitions/vnfd.yaml" }),
		)
	}
	require.Equal(t, 409, b.Do(t, "GET", packages+"/"+b.create(t)+"/vnfd", nil).Status)
}

func TestArtifactsAreServedAndNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.onboard(t, vnfpkgtest.Files(vnfdID))
	path := packages + "/" + id + "/artifacts/"
	a := b.Do(t, "GET", path+"Scripts/run.sh", nil, "Accept", "application/json")
	require.Equal(t, 200, a.Status, string(a.Body))
	require.Equal(t, "#!/bin/sh\n", string(a.Body))
	require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
	require.Contains(t, a.Header.Get("Content-Disposition"), "attachment")
	require.Equal(t, "sh", string(b.Do(t, "GET", path+"Scripts%2Frun.sh", nil, "Range", "bytes=7-8").Body))
	require.Equal(t, 200, b.Do(t, "GET", path+"Files/images/node.img", nil).Status)
	for _, other := range []string{
		"Scripts/none.sh", "", "Scripts", "Definitions/vnfd.yaml", "../../../etc/passwd", "Scripts/../Scripts/run.sh",
		"%2e%2e/x", "Scripts/run.sh%00", "/Scripts/run.sh",
	} {
		require.Equal(t, 404, b.Do(t, "GET", path+other, nil).Status, other)
	}
}

func TestListsOfPackages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 { // the domain brings one
		b.create(t)
	}
	id := b.onboard(t, vnfpkgtest.Files(vnfdID))
	a := b.Do(t, "GET", packages, nil, "Version", "")
	require.Equal(t, 200, a.Status)
	require.Len(t, apitest.JSON[[]sol.VnfPkgInfo](t, a), apitest.PageSize)
	require.Contains(t, a.Header.Get("Link"), apitest.PublicURL+packages+"?")
	require.NotContains(t, string(a.Body), "softwareImages")

	list := apitest.JSON[[]sol.VnfPkgInfo](
		t, b.Do(t, "GET", packages+"?filter=(eq,onboardingState,ONBOARDED)&all_fields", nil),
	)
	require.Len(t, list, 1)
	require.Equal(t, id, list[0].ID)
	require.NotEmpty(t, list[0].SoftwareImages)
	list = apitest.JSON[[]sol.VnfPkgInfo](
		t, b.Do(t, "GET", packages+"?filter=(eq,onboardingState,ONBOARDED)&fields=checksum", nil),
	)
	require.Len(t, list, 1)
	require.NotEmpty(t, list[0].Checksum)
	require.NotEmpty(t, list[0].Links, "mandatory attributes stay")
	require.Equal(t, vnfdID, list[0].VnfdID, "simple attributes stay")
	require.NotEmpty(t, list[0].VnfProvider)
	require.Empty(t, list[0].SoftwareImages, "it is complex and was not selected")
	require.Equal(t, 400, b.Do(t, "GET", packages+"?filter=(eq,nope,x)", nil).Status)
	require.Equal(t, 400, b.Do(t, "PATCH", packages+"/"+id, `{}`).Status)
	require.Equal(t, 400, b.Do(t, "PATCH", packages+"/"+id, `{"operationalState":"ON"}`).Status)
	require.Equal(t, 415, b.Do(t, "PATCH", packages+"/"+id, `{"operationalState":"DISABLED"}`, "Content-Type",
		"text/plain").Status)
	require.Equal(t, 404, b.Do(t, "PATCH", packages+"/nope", `{"operationalState":"DISABLED"}`).Status)
	require.Equal(t, 200, b.Do(t, "GET", "/vnfpkgm/api_versions", nil).Status)
	require.Equal(t, 200, b.Do(t, "GET", "/vnfpkgm/v1/api_versions", nil).Status)
}

func TestEveryAttributeOfAPackageCanBeFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(t)
	b.onboard(t, vnfpkgtest.Files(vnfdID))
	apitest.CheckFilters[sol.VnfPkgInfo](t, b.Server, packages)
}

// TestListsShowArtifactsThatAreAskedFor: the store leaves them out of other lists, and a filter on them sees them.
func TestListsShowArtifactsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.onboard(t, vnfpkgtest.Files(vnfdID))
	const artifact = ";(eq,additionalArtifacts/artifactPath,Scripts/run.sh)"
	for query, want := range map[string][2]bool{ // found, shown
		"": {true, false}, "&all_fields": {true, true}, "&fields=additionalArtifacts": {true, true},
		"&fields=softwareImages": {true, false}, "&exclude_fields=checksum": {true, true},
		"&exclude_fields=additionalArtifacts": {true, false}, "&exclude_default": {true, false},
		artifact: {true, false}, artifact + "&fields=additionalArtifacts": {true, true},
		";(eq,additionalArtifacts/artifactPath,Scripts/other.sh)": {false, false},
	} {
		for _, path := range []string{packages, "/vnfpkgm/v1/onboarded_vnf_packages"} {
			list := apitest.JSON[[]sol.VnfPkgInfo](
				t, b.Do(t, "GET", path+"?filter=(eq,vnfdId,"+vnfdID+")"+query, nil),
			)
			require.Equal(t, want[0], len(list) == 1, query)
			if want[0] {
				require.Equal(t, want[1], len(list[0].AdditionalArtifacts) > 0, query)
			}
		}
	}
}
