package vnfpkgtest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Harness is a store under test.
type Harness struct {
	Stores vnfpkg.Stores
	// Store has the packages of the default project.
	Store vnfpkg.Store
	// Jobs returns the packages for which a job was added since the last call.
	Jobs func(t *testing.T) []string
	// Downloads does the same for jobs of downloads.
	Downloads func(t *testing.T) []string
	// Refer makes an instance refer to a package. Leave it nil where that cannot be done.
	Refer func(t *testing.T, p *vnfpkg.Package)
}

// TestStore runs the contract of vnfpkg.Store. The store may hold other packages.
func TestStore(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Harness){
		"a package comes back as it was stored":              roundTrip,
		"what does not exist is not found":                   absent,
		"packages are listed in pages":                       pages,
		"lists can leave out artifacts":                      lists,
		"a refused change stores nothing":                    refused,
		"concurrent changes see each other":                  compareAndSet,
		"processing begins with exactly one job":             job,
		"a download begins with one job, and saves progress": download,
		"two onboarded packages cannot have one VNFD":        unique,
		"a lease is renewed by its upload alone":             lease,
		"a package that is referred to is not deleted":       deletion,
		"models belong to their content":                     models,
		"content is released when the last package is gone":  release,
		"content is not released while a package claims it":  claim,
		"a project sees only its own packages":               projects,
		"a shared package is read by all projects":           shared,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func insert(t *testing.T, h Harness) *vnfpkg.Package {
	t.Helper()
	p := &vnfpkg.Package{
		ID: uuid.NewString(), OnboardingState: sol.PackageOnboardingStateCreated,
		OperationalState: sol.PackageOperationalStateDisabled, UsageState: sol.PackageUsageStateNotInUse,
		UserDefinedData: sol.KeyValuePairs{"k": "v", "n": map[string]any{"a": []any{1.0, true, nil}}},
	}
	require.NoError(t, h.Store.InsertPackage(t.Context(), p))
	return p
}

func update(t *testing.T, h Harness, id string, change func(*vnfpkg.Package)) *vnfpkg.Package {
	t.Helper()
	p, err := h.Store.UpdatePackage(
		t.Context(), id, func(p *vnfpkg.Package, _ time.Time) error { change(p); return nil },
	)
	require.NoError(t, err)
	return p
}

// onboard makes a package ONBOARDED with content of this digest.
func onboard(t *testing.T, h Harness, id, vnfdID, digest string) *vnfpkg.Package {
	t.Helper()
	return update(t, h, id, func(p *vnfpkg.Package) {
		p.OnboardingState, p.OperationalState = sol.PackageOnboardingStateOnboarded, sol.PackageOperationalStateEnabled
		p.VnfdID, p.Content = vnfdID, &vnfpkg.Content{Digest: digest, Size: 42}
		p.Onboarded = &vnfpkg.Onboarded{
			Provider: "p", ProductName: "n", SoftwareVersion: "1.10", VnfdVersion: "1.0", VnfmInfo: []string{"Gybe"},
			VnfdFiles: []string{"a.yaml"},
			Images: []sol.VnfPackageSoftwareImageInfo{
				{ID: "node", Name: "image", Size: 1 << 40, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
			},
			Artifacts: []sol.VnfPackageArtifactInfo{
				{ArtifactPath: "x", Checksum: sol.Checksum{Algorithm: "SHA-256", Hash: "00"}},
			},
		}
	})
}

func digest() string { return strings.Repeat(strings.ReplaceAll(uuid.NewString(), "-", ""), 4) }

func requireCode(t *testing.T, err error, code lcm.Code) {
	t.Helper()
	var e *lcm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, err)
}

func roundTrip(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	require.Equal(t, int64(1), p.Version)
	require.WithinDuration(t, time.Now(), p.Created, time.Minute)
	got, err := h.Store.Package(t.Context(), p.ID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(p, got))

	want := onboard(t, h, p.ID, uuid.NewString(), digest())
	require.Equal(t, int64(2), want.Version)
	require.Empty(t, cmp.Diff(p.UserDefinedData, want.UserDefinedData))
	for _, read := range []func() (*vnfpkg.Package, error){
		func() (*vnfpkg.Package, error) { return h.Store.Package(t.Context(), p.ID) },
		func() (*vnfpkg.Package, error) { return h.Store.OnboardedPackage(t.Context(), want.VnfdID) },
	} {
		got, err := read()
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got))
	}

	content, err := h.Store.OnboardedContent(t.Context(), want.Content.Digest)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, content))
	_, err = h.Stores.PackagesOf(lcm.Principal{Project: "other"}).OnboardedContent(t.Context(), want.Content.Digest)
	requireCode(t, err, lcm.CodeNotFound)
	_, err = h.Store.OnboardedContent(t.Context(), digest())
	requireCode(t, err, lcm.CodeNotFound)

	want = update(t, h, p.ID, func(p *vnfpkg.Package) {
		p.OnboardingState, p.VnfdID, p.Content, p.Onboarded = sol.PackageOnboardingStateCreated, "", nil, nil
		p.UserDefinedData = nil
		p.Failure = &sol.ProblemDetails{Status: 422, Title: "t", Detail: "d", Hint: "h"}
	})
	got, err = h.Store.Package(t.Context(), p.ID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	require.Equal(t, "d", got.Failure.Detail)
	require.Nil(t, got.Content)
}

func absent(t *testing.T, h Harness) {
	t.Helper()
	for _, id := range []string{uuid.NewString(), "no-uuid", ""} {
		_, err := h.Store.Package(t.Context(), id)
		requireCode(t, err, lcm.CodeNotFound)
		_, err = h.Store.UpdatePackage(t.Context(), id, func(*vnfpkg.Package, time.Time) error { return nil })
		requireCode(t, err, lcm.CodeNotFound)
		_, err = h.Store.DeletePackage(t.Context(), id, func(*vnfpkg.Package) error { return nil })
		requireCode(t, err, lcm.CodeNotFound)
		require.ErrorIs(t, h.Store.RenewUpload(t.Context(), id, "token", time.Minute), vnfpkg.ErrUploadLost)
	}
	_, err := h.Store.OnboardedPackage(t.Context(), uuid.NewString())
	requireCode(t, err, lcm.CodeNotFound)
	_, err = h.Store.PackageModel(t.Context(), vnfpkg.ModelKey{Digest: digest(), Format: 1})
	requireCode(t, err, lcm.CodeNotFound)
	p := insert(t, h)
	update(t, h, p.ID, func(p *vnfpkg.Package) { p.VnfdID = "not onboarded" })
	_, err = h.Store.OnboardedPackage(t.Context(), "not onboarded")
	requireCode(t, err, lcm.CodeNotFound)
}

func pages(t *testing.T, h Harness) {
	t.Helper()
	want := map[string]bool{}
	for range 5 {
		want[insert(t, h).ID] = true
	}
	var all []string
	for after := ""; ; {
		page, err := h.Store.Packages(t.Context(), vnfpkg.Query{After: after, Limit: 2})
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), 2)
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			all = append(all, p.ID)
			delete(want, p.ID)
		}
		after = page[len(page)-1].ID
	}
	require.Empty(t, want)
	require.True(t, slices.IsSorted(all))
}

func lists(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	onboard(t, h, p.ID, uuid.NewString(), digest())
	artifacts := []sol.VnfPackageArtifactInfo{{ArtifactPath: "a"}}
	want := update(t, h, p.ID, func(p *vnfpkg.Package) { p.Onboarded.Artifacts = artifacts })
	for query, listed := range map[vnfpkg.Query][]sol.VnfPackageArtifactInfo{
		{}: artifacts, {NoArtifacts: true}: nil, {Brief: true}: nil,
	} {
		all, err := h.Store.Packages(t.Context(), query)
		require.NoError(t, err)
		at := slices.IndexFunc(all, func(q *vnfpkg.Package) bool { return q.ID == p.ID })
		require.GreaterOrEqual(t, at, 0)
		got := all[at]
		require.Equal(t, listed, got.Onboarded.Artifacts, "%+v", query)
		got.Onboarded.Artifacts = artifacts
		if query.Brief {
			got.UserDefinedData = want.UserDefinedData
		}
		require.Empty(t, cmp.Diff(want, got))
	}
}

func refused(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	no := errors.New("no")
	_, err := h.Store.UpdatePackage(t.Context(), p.ID, func(p *vnfpkg.Package, _ time.Time) error {
		p.OnboardingState = sol.PackageOnboardingStateProcessing
		return no
	})
	require.ErrorIs(t, err, no)
	got, err := h.Store.Package(t.Context(), p.ID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(p, got))
	require.NotContains(t, h.Jobs(t), p.ID)
}

func compareAndSet(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	const n = 8
	var wg sync.WaitGroup
	won := make(chan int, n)
	taken := errors.New("taken")
	for i := range n {
		wg.Go(func() {
			_, err := h.Store.UpdatePackage(t.Context(), p.ID, func(p *vnfpkg.Package, now time.Time) error {
				if p.OnboardingState != sol.PackageOnboardingStateCreated {
					return taken
				}
				p.OnboardingState = sol.PackageOnboardingStateUploading
				p.Upload = &vnfpkg.Upload{Token: uuid.NewString(), LeaseUntil: now.Add(time.Minute)}
				return nil
			})
			if err == nil {
				won <- i
			} else if !errors.Is(err, taken) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, won, 1)
	got, err := h.Store.Package(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2), got.Version)
}

func job(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	update(t, h, p.ID, func(p *vnfpkg.Package) { p.OnboardingState = sol.PackageOnboardingStateUploading })
	require.NotContains(t, h.Jobs(t), p.ID)
	update(t, h, p.ID, func(p *vnfpkg.Package) { p.OnboardingState = sol.PackageOnboardingStateProcessing })
	require.Equal(t, 1, count(h.Jobs(t), p.ID))
	update(t, h, p.ID, func(p *vnfpkg.Package) { p.UserDefinedData = sol.KeyValuePairs{"x": "y"} })
	require.NotContains(t, h.Jobs(t), p.ID, "it is processed already")
}

func count(ids []string, id string) int {
	n := 0
	for _, one := range ids {
		if one == id {
			n++
		}
	}
	return n
}

func download(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	src := &sol.UploadVnfPackageFromUriRequest{AddressInformation: "https://a", UserName: "u", Password: "secret"}
	d := vnfpkg.Download{Token: uuid.NewString(), Address: "https://a", Started: time.Now().UTC().Truncate(time.Second)}
	require.ErrorIs(t, h.Store.SaveDownload(t.Context(), p.ID, d), vnfpkg.ErrUploadLost)
	begun := update(t, h, p.ID, func(p *vnfpkg.Package) {
		p.OnboardingState, p.Source, p.Download = sol.PackageOnboardingStateUploading, src, &d
	})
	require.Equal(t, 1, count(h.Downloads(t), p.ID))
	require.NotContains(t, h.Jobs(t), p.ID)
	ids, err := h.Store.ExpiredUploads(t.Context())
	require.NoError(t, err)
	require.NotContains(t, ids, p.ID, "it has no lease")

	d.Received, d.Total, d.Attempts = 7, 9, 1
	require.NoError(t, h.Store.SaveDownload(t.Context(), p.ID, d))
	got, err := h.Store.Package(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, begun.Version, got.Version)
	require.Empty(t, cmp.Diff(&d, got.Download))
	require.Empty(t, cmp.Diff(src, got.Source))
	other := d
	other.Token = uuid.NewString()
	require.ErrorIs(t, h.Store.SaveDownload(t.Context(), p.ID, other), vnfpkg.ErrUploadLost)
	require.ErrorIs(t, h.Store.SaveDownload(t.Context(), uuid.NewString(), d), vnfpkg.ErrUploadLost)

	update(t, h, p.ID, func(p *vnfpkg.Package) { p.UserDefinedData = nil })
	require.NotContains(t, h.Downloads(t), p.ID, "it is downloaded already")
	done := update(t, h, p.ID, func(p *vnfpkg.Package) {
		p.OnboardingState, p.Source, p.Download = sol.PackageOnboardingStateProcessing, nil, nil
	})
	require.Equal(t, 1, count(h.Jobs(t), p.ID))
	require.Nil(t, done.Download)
	require.ErrorIs(t, h.Store.SaveDownload(t.Context(), p.ID, d), vnfpkg.ErrUploadLost)
}

func unique(t *testing.T, h Harness) {
	t.Helper()
	one, two := insert(t, h), insert(t, h)
	vnfdID := uuid.NewString()
	onboard(t, h, one.ID, vnfdID, digest())
	_, err := h.Store.UpdatePackage(t.Context(), two.ID, func(p *vnfpkg.Package, _ time.Time) error {
		p.OnboardingState, p.VnfdID = sol.PackageOnboardingStateOnboarded, vnfdID
		return nil
	})
	require.ErrorIs(t, err, vnfpkg.ErrVnfdTaken)
	got, err := h.Store.Package(t.Context(), two.ID)
	require.NoError(t, err)
	require.Equal(t, sol.PackageOnboardingStateCreated, got.OnboardingState)

	_, err = h.Store.DeletePackage(t.Context(), one.ID, func(*vnfpkg.Package) error { return nil })
	require.NoError(t, err)
	onboard(t, h, two.ID, vnfdID, digest())
}

func lease(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	start := func(token string, d time.Duration) {
		_, err := h.Store.UpdatePackage(t.Context(), p.ID, func(p *vnfpkg.Package, now time.Time) error {
			p.OnboardingState, p.Upload = sol.PackageOnboardingStateUploading, &vnfpkg.Upload{
				Token: token, LeaseUntil: now.Add(d),
			}
			return nil
		})
		require.NoError(t, err)
	}
	expired := func() []string {
		ids, err := h.Store.ExpiredUploads(t.Context())
		require.NoError(t, err)
		return ids
	}
	start("a", -time.Second)
	require.Contains(t, expired(), p.ID)
	require.ErrorIs(t, h.Store.RenewUpload(t.Context(), p.ID, "b", time.Minute), vnfpkg.ErrUploadLost)
	require.Contains(t, expired(), p.ID)
	require.NoError(t, h.Store.RenewUpload(t.Context(), p.ID, "a", time.Minute))
	require.NotContains(t, expired(), p.ID)
	got, err := h.Store.Package(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2), got.Version, "a renewal is nothing that users see")
	update(t, h, p.ID, func(p *vnfpkg.Package) { p.OnboardingState, p.Upload = sol.PackageOnboardingStateCreated, nil })
	require.ErrorIs(t, h.Store.RenewUpload(t.Context(), p.ID, "a", time.Minute), vnfpkg.ErrUploadLost)
	require.NotContains(t, expired(), p.ID)
}

func deletion(t *testing.T, h Harness) {
	t.Helper()
	p := insert(t, h)
	no := errors.New("no")
	_, err := h.Store.DeletePackage(t.Context(), p.ID, func(*vnfpkg.Package) error { return no })
	require.ErrorIs(t, err, no)
	if h.Refer != nil {
		used := onboard(t, h, p.ID, uuid.NewString(), digest())
		require.Equal(t, sol.PackageUsageStateNotInUse, used.UsageState)
		h.Refer(t, used)
		got, err := h.Store.Package(t.Context(), p.ID)
		require.NoError(t, err)
		require.Equal(t, sol.PackageUsageStateInUse, got.UsageState)
		_, err = h.Store.DeletePackage(t.Context(), p.ID, func(p *vnfpkg.Package) error {
			require.Equal(t, sol.PackageUsageStateInUse, p.UsageState)
			return nil
		})
		requireCode(t, err, lcm.CodeConflict)
	}
	q := insert(t, h)
	got, err := h.Store.DeletePackage(t.Context(), q.ID, func(*vnfpkg.Package) error { return nil })
	require.NoError(t, err)
	require.Equal(t, q.ID, got.ID)
	_, err = h.Store.Package(t.Context(), q.ID)
	requireCode(t, err, lcm.CodeNotFound)
}

func models(t *testing.T, h Harness) {
	t.Helper()
	key := vnfpkg.ModelKey{Digest: digest(), Format: 1}
	require.NoError(t, h.Store.SavePackageModel(t.Context(), key, json.RawMessage(`{"id": "deleted"}`)))
	_, err := h.Store.PackageModel(t.Context(), key)
	requireCode(t, err, lcm.CodeNotFound)

	update(t, h, insert(t, h).ID, func(p *vnfpkg.Package) { p.Content = &vnfpkg.Content{Digest: key.Digest} })
	for _, model := range []string{`{"id": "a"}`, `{"id": "b"}`} {
		require.NoError(t, h.Store.SavePackageModel(t.Context(), key, json.RawMessage(model)))
		got, err := h.Store.PackageModel(t.Context(), key)
		require.NoError(t, err)
		require.JSONEq(t, model, string(got))
	}
	_, err = h.Store.PackageModel(t.Context(), vnfpkg.ModelKey{Digest: key.Digest, Format: 2})
	requireCode(t, err, lcm.CodeNotFound)
}

func release(t *testing.T, h Harness) {
	t.Helper()
	one, two, d := insert(t, h), insert(t, h), digest()
	key := vnfpkg.ModelKey{Digest: d, Format: 1}
	for _, p := range []*vnfpkg.Package{one, two} {
		update(t, h, p.ID, func(p *vnfpkg.Package) { p.Content = &vnfpkg.Content{Digest: d} })
	}
	require.NoError(t, h.Store.SavePackageModel(t.Context(), key, json.RawMessage(`{}`)))
	called := 0
	free := func(fail error) (bool, error) {
		return h.Store.ReleaseContent(t.Context(), d, func() error { called++; return fail })
	}
	update(t, h, one.ID, func(p *vnfpkg.Package) { p.Content = nil })
	ok, err := free(nil)
	require.NoError(t, err)
	require.False(t, ok)
	require.Zero(t, called)

	_, err = h.Store.DeletePackage(t.Context(), two.ID, func(*vnfpkg.Package) error { return nil })
	require.NoError(t, err)
	disk := errors.New("disk")
	_, err = free(disk)
	require.ErrorIs(t, err, disk)
	_, err = h.Store.PackageModel(t.Context(), key)
	require.NoError(t, err, "the content may still be there, and so is its model")

	ok, err = free(nil)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 2, called)
	_, err = h.Store.PackageModel(t.Context(), key)
	requireCode(t, err, lcm.CodeNotFound)
}

// claim lets a package begin to need content at the moment in which the content is removed.
func claim(t *testing.T, h Harness) {
	t.Helper()
	p, d := insert(t, h), digest()
	removing, claimed := make(chan struct{}), make(chan struct{})
	var removed bool
	go func() {
		defer close(claimed)
		<-removing
		_, err := h.Store.UpdatePackage(t.Context(), p.ID, func(p *vnfpkg.Package, _ time.Time) error {
			p.Content = &vnfpkg.Content{Digest: d}
			return nil
		})
		if err != nil || !removed {
			t.Errorf("the claim ended before the removal: %v", err)
		}
	}()
	_, err := h.Store.ReleaseContent(t.Context(), d, func() error {
		close(removing)
		select {
		case <-claimed: // it must wait
		case <-time.After(100 * time.Millisecond):
		}
		removed = true
		return nil
	})
	require.NoError(t, err)
	<-claimed
}

func shared(t *testing.T, h Harness) {
	t.Helper()
	ours, vnfdID := insert(t, h), uuid.NewString()
	onboard(t, h, ours.ID, vnfdID, digest())
	other := Harness{Stores: h.Stores, Store: h.Stores.PackagesOf(lcm.Principal{Project: uuid.NewString()})}
	share := func(p *vnfpkg.Package, _ time.Time) error {
		p.Shared = true
		return nil
	}
	p, err := h.Store.UpdatePackage(t.Context(), ours.ID, share)
	require.NoError(t, err)
	require.True(t, p.Shared)

	p, err = other.Store.Package(t.Context(), ours.ID)
	require.NoError(t, err)
	require.True(t, p.Shared)
	p, err = other.Store.OnboardedPackage(t.Context(), vnfdID)
	require.NoError(t, err)
	require.Equal(t, ours.ID, p.ID)
	_, err = other.Store.UpdatePackage(t.Context(), ours.ID, func(*vnfpkg.Package, time.Time) error { return nil })
	requireCode(t, err, lcm.CodeForbidden)
	_, err = other.Store.DeletePackage(t.Context(), ours.ID, func(*vnfpkg.Package) error { return nil })
	requireCode(t, err, lcm.CodeForbidden)

	theirs := insert(t, other)
	onboard(t, other, theirs.ID, vnfdID, digest())
	list, err := other.Store.Packages(t.Context(), vnfpkg.Query{})
	require.NoError(t, err)
	require.Len(t, list, 2)
	p, err = other.Store.OnboardedPackage(t.Context(), vnfdID)
	require.NoError(t, err)
	require.Equal(t, theirs.ID, p.ID, "the own package precedes the shared one")
	_, err = other.Store.UpdatePackage(t.Context(), theirs.ID, share)
	require.ErrorIs(t, err, vnfpkg.ErrVnfdShared)
	_, err = h.Store.Package(t.Context(), theirs.ID)
	requireCode(t, err, lcm.CodeNotFound)
}

func projects(t *testing.T, h Harness) {
	t.Helper()
	ours, vnfdID := insert(t, h), uuid.NewString()
	onboard(t, h, ours.ID, vnfdID, digest())
	require.Equal(t, lcm.DefaultProject, ours.Project)
	other := Harness{Stores: h.Stores, Store: h.Stores.PackagesOf(lcm.Principal{Project: uuid.NewString()})}
	theirs := insert(t, other)
	onboard(t, other, theirs.ID, vnfdID, digest()) // a vnfdId is unique in a project only

	_, err := other.Store.Package(t.Context(), ours.ID)
	requireCode(t, err, lcm.CodeNotFound)
	_, err = other.Store.UpdatePackage(t.Context(), ours.ID, func(*vnfpkg.Package, time.Time) error { return nil })
	requireCode(t, err, lcm.CodeNotFound)
	_, err = other.Store.DeletePackage(t.Context(), ours.ID, func(*vnfpkg.Package) error { return nil })
	requireCode(t, err, lcm.CodeNotFound)
	for _, s := range []struct {
		vnfpkg.Store
		id string
	}{{h.Store, ours.ID}, {other.Store, theirs.ID}} {
		p, err := s.OnboardedPackage(t.Context(), vnfdID)
		require.NoError(t, err)
		require.Equal(t, s.id, p.ID)
	}
	list, err := other.Store.Packages(t.Context(), vnfpkg.Query{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, theirs.ID, list[0].ID)
	list, err = other.Store.Packages(t.Context(), vnfpkg.Query{After: theirs.ID, Limit: 1})
	require.NoError(t, err)
	require.Empty(t, list)
	for _, id := range []string{ours.ID, theirs.ID} { // the engine works for all projects
		_, err := h.Stores.AllPackages().Package(t.Context(), id)
		require.NoError(t, err)
	}
}
