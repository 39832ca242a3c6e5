// Package vnfpkgtest has what tests of and around package vnfpkg share: a store in memory, the contract that every
// store has to keep, and packages to upload.
package vnfpkgtest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Memory is vnfpkg.Stores, and the vnfpkg.Store of all projects, in memory. Its zero value is ready for use.
type Memory struct {
	// Now is the clock; nil means the machine's.
	Now func() time.Time
	// Fail, when set, is asked before every method with the method's name; what it returns is the method's error.
	Fail func(method string) error
	// Lost, when set, is asked after every method that has done its work; what it returns is the method's error, as
	// when the answer to a commit is lost.
	Lost func(method string) error

	mu       sync.Mutex
	packages map[string]*vnfpkg.Package
	models   map[vnfpkg.ModelKey]json.RawMessage
	jobs     []string
	// downloads are the ids of packages for which the job vnfpkg.download was added.
	downloads []string
	used      map[string]bool
}

var (
	_ vnfpkg.Store  = (*Memory)(nil)
	_ vnfpkg.Stores = (*Memory)(nil)
)

// begin locks the store for one method.
func (m *Memory) begin(method string) (end func(*error), err error) {
	if m.Fail != nil {
		if err := m.Fail(method); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	if m.packages == nil {
		m.packages, m.models = map[string]*vnfpkg.Package{}, map[vnfpkg.ModelKey]json.RawMessage{}
		m.used = map[string]bool{}
	}
	return func(err *error) {
		m.mu.Unlock()
		if *err == nil && m.Lost != nil {
			*err = m.Lost(method)
		}
	}, nil
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now().UTC()
	}
	return time.Now().UTC()
}

// Jobs returns the ids of the packages for which the job vnfpkg.onboard was added, and forgets them.
func (m *Memory) Jobs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	jobs := m.jobs
	m.jobs = nil
	return jobs
}

// Downloads returns the ids of the packages for which the job vnfpkg.download was added, and forgets them.
func (m *Memory) Downloads() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	downloads := m.downloads
	m.downloads = nil
	return downloads
}

// Models returns the number of models.
func (m *Memory) Models() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.models)
}

// Refer makes a package IN_USE, as an instance would; false undoes it.
func (m *Memory) Refer(id string, used bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used[id] = used
}

// clone copies a package as the database would.
func (m *Memory) clone(p *vnfpkg.Package) *vnfpkg.Package {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	c := &vnfpkg.Package{}
	if err := json.Unmarshal(data, c); err != nil {
		panic(err)
	}
	c.UsageState = sol.PackageUsageStateNotInUse
	if m.used[p.ID] {
		c.UsageState = sol.PackageUsageStateInUse
	}
	return c
}

func notFound(what, id string) error {
	return lcm.Errorf(lcm.CodeNotFound, "there is no %s %q", what, id)
}

// InsertPackage implements vnfpkg.Store.
func (m *Memory) InsertPackage(_ context.Context, p *vnfpkg.Package) (err error) {
	end, err := m.begin("InsertPackage")
	if err != nil {
		return err
	}
	defer end(&err)
	p.Project = cmp.Or(p.Project, lcm.DefaultProject)
	p.Version, p.Created = 1, m.now()
	p.Updated = p.Created
	m.packages[p.ID] = m.clone(p)
	return nil
}

// Package implements vnfpkg.Store.
func (m *Memory) Package(_ context.Context, id string) (_ *vnfpkg.Package, err error) {
	end, err := m.begin("Package")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	p, ok := m.packages[id]
	if !ok {
		return nil, notFound("VNF package", id)
	}
	return m.clone(p), nil
}

// Packages implements vnfpkg.Store.
func (m *Memory) Packages(_ context.Context, q vnfpkg.Query) (_ []*vnfpkg.Package, err error) {
	end, err := m.begin("Packages")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	var all []*vnfpkg.Package
	for id, p := range m.packages {
		if id > q.After && (!q.Onboarded || p.OnboardingState == sol.PackageOnboardingStateOnboarded) {
			all = append(all, m.clone(p))
			if o := all[len(all)-1].Onboarded; o != nil && (q.Brief || q.NoArtifacts) {
				o.Artifacts = nil
			}
		}
	}
	slices.SortFunc(all, func(a, b *vnfpkg.Package) int { return strings.Compare(a.ID, b.ID) })
	if q.Limit > 0 && len(all) > q.Limit {
		all = all[:q.Limit]
	}
	return all, nil
}

// OnboardedPackage implements vnfpkg.Store.
func (m *Memory) OnboardedPackage(_ context.Context, vnfdID string) (_ *vnfpkg.Package, err error) {
	end, err := m.begin("OnboardedPackage")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	if p := m.byVnfd("", vnfdID); p != nil {
		return m.clone(p), nil
	}
	return nil, notFound("onboarded VNF package of", vnfdID)
}

// OnboardedContent implements vnfpkg.Store.
func (m *Memory) OnboardedContent(_ context.Context, digest string) (_ *vnfpkg.Package, err error) {
	end, err := m.begin("OnboardedContent")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	if p := m.byContent("", digest); p != nil {
		return m.clone(p), nil
	}
	return nil, notFound("onboarded VNF package with the content", digest)
}

// byContent finds the onboarded package of a project ("" = any).
func (m *Memory) byContent(project, digest string) *vnfpkg.Package {
	for _, p := range m.packages {
		if p.OnboardingState == sol.PackageOnboardingStateOnboarded && p.Content != nil && p.Content.Digest == digest &&
			(project == "" || project == p.Project) {
			return p
		}
	}
	return nil
}

// byVnfd finds the onboarded package of a project ("" = any).
func (m *Memory) byVnfd(project, vnfdID string) *vnfpkg.Package {
	for _, p := range m.packages {
		if p.OnboardingState == sol.PackageOnboardingStateOnboarded && p.VnfdID == vnfdID && (project == "" ||
			project == p.Project) {
			return p
		}
	}
	return nil
}

// sharedByVnfd finds the shared package.
func (m *Memory) sharedByVnfd(vnfdID string) *vnfpkg.Package {
	for _, p := range m.packages {
		if p.Shared && p.VnfdID == vnfdID {
			return p
		}
	}
	return nil
}

// UpdatePackage implements vnfpkg.Store.
func (m *Memory) UpdatePackage(
	_ context.Context, id string, change func(*vnfpkg.Package, time.Time) error,
) (_ *vnfpkg.Package, err error) {
	end, err := m.begin("UpdatePackage")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	old, ok := m.packages[id]
	if !ok {
		return nil, notFound("VNF package", id)
	}
	p := m.clone(old)
	if err := change(p, m.now()); err != nil {
		return nil, err
	}
	if p.OnboardingState == sol.PackageOnboardingStateOnboarded {
		if other := m.byVnfd(p.Project, p.VnfdID); other != nil && other.ID != id {
			return nil, vnfpkg.ErrVnfdTaken
		}
	}
	if other := m.sharedByVnfd(p.VnfdID); p.Shared && other != nil && other.ID != id {
		return nil, vnfpkg.ErrVnfdShared
	}
	p.Version, p.Updated = old.Version+1, m.now()
	m.packages[id] = m.clone(p)
	if p.OnboardingState == sol.PackageOnboardingStateProcessing && old.OnboardingState != p.OnboardingState {
		m.jobs = append(m.jobs, id)
	}
	if p.Download != nil && old.Download == nil {
		m.downloads = append(m.downloads, id)
	}
	return m.clone(p), nil
}

// DeletePackage implements vnfpkg.Store.
func (m *Memory) DeletePackage(
	_ context.Context, id string, check func(*vnfpkg.Package) error,
) (_ *vnfpkg.Package, err error) {
	end, err := m.begin("DeletePackage")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	old, ok := m.packages[id]
	if !ok {
		return nil, notFound("VNF package", id)
	}
	p := m.clone(old)
	if err := check(p); err != nil {
		return nil, err
	}
	if m.used[id] {
		return nil, lcm.Errorf(lcm.CodeConflict, "VNF package %s is in use", id)
	}
	delete(m.packages, id)
	return p, nil
}

// RenewUpload implements vnfpkg.Store.
func (m *Memory) RenewUpload(_ context.Context, id, token string, lease time.Duration) (err error) {
	end, err := m.begin("RenewUpload")
	if err != nil {
		return err
	}
	defer end(&err)
	p, ok := m.packages[id]
	if !ok || p.OnboardingState != sol.PackageOnboardingStateUploading || p.Upload == nil || p.Upload.Token != token {
		return vnfpkg.ErrUploadLost
	}
	p.Upload.LeaseUntil = m.now().Add(lease)
	return nil
}

// SaveDownload implements vnfpkg.Store.
func (m *Memory) SaveDownload(_ context.Context, id string, d vnfpkg.Download) (err error) {
	end, err := m.begin("SaveDownload")
	if err != nil {
		return err
	}
	defer end(&err)
	p, ok := m.packages[id]
	if !ok || p.OnboardingState != sol.PackageOnboardingStateUploading || p.Download == nil ||
		p.Download.Token != d.Token {
		return vnfpkg.ErrUploadLost
	}
	p.Download = &d
	return nil
}

// ExpiredUploads implements vnfpkg.Store.
func (m *Memory) ExpiredUploads(context.Context) (_ []string, err error) {
	end, err := m.begin("ExpiredUploads")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	var ids []string
	for id, p := range m.packages {
		if p.OnboardingState == sol.PackageOnboardingStateUploading && p.Upload != nil &&
			p.Upload.LeaseUntil.Before(m.now()) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// SavePackageModel implements vnfpkg.Store.
func (m *Memory) SavePackageModel(_ context.Context, key vnfpkg.ModelKey, model json.RawMessage) (err error) {
	end, err := m.begin("SavePackageModel")
	if err != nil {
		return err
	}
	defer end(&err)
	for _, p := range m.packages {
		if p.Content != nil && p.Content.Digest == key.Digest {
			m.models[key] = slices.Clone(model)
		}
	}
	return nil
}

// PackageModel implements vnfpkg.Store.
func (m *Memory) PackageModel(_ context.Context, key vnfpkg.ModelKey) (_ json.RawMessage, err error) {
	end, err := m.begin("PackageModel")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	model, ok := m.models[key]
	if !ok {
		return nil, notFound("model of", key.Digest)
	}
	return slices.Clone(model), nil
}

// ReleaseContent implements vnfpkg.Store.
func (m *Memory) ReleaseContent(_ context.Context, digest string, remove func() error) (_ bool, err error) {
	end, err := m.begin("ReleaseContent")
	if err != nil {
		return false, err
	}
	defer end(&err)
	for _, p := range m.packages {
		if p.Content != nil && p.Content.Digest == digest {
			return false, nil
		}
	}
	if err := remove(); err != nil {
		return true, err
	}
	for key := range m.models {
		if key.Digest == digest {
			delete(m.models, key)
		}
	}
	return true, nil
}
