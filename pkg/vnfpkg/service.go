package vnfpkg

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Options configure Services. Stores, Content and Log are required.
type Options struct {
	Stores  Stores
	Content *content.Store
	Log     *slog.Logger
	// Limits is DefaultLimits when it is zero.
	Limits Limits
	// Lease is how long an upload survives its process; 30 s when zero. It is renewed three times in that time.
	Lease time.Duration
	// Fetcher sends requests for content that is downloaded; nil forbids downloads.
	Fetcher Fetcher
	// DownloadTime bounds a download with all its attempts; 6 h when zero.
	DownloadTime time.Duration
	// ModelBytes bounds the models kept in memory, by the size of their JSON; 64 MiB when zero.
	ModelBytes int
	// Signatures are not read when it is zero.
	Signatures Signatures
	// Mgmt are the mgmt drivers that exist here; nil: packages are not checked for others.
	Mgmt lcm.MgmtDrivers
}

// Services manages VNF packages: of all projects for the engine and for cleaning up, and of a project for each
// principal. It implements lcm.Packages.
type Services struct {
	stores     Stores
	store      Store // of all projects
	content    *content.Store
	log        *slog.Logger
	limits     Limits
	lease      time.Duration
	models     *modelCache
	digests    digestCache
	signatures Signatures
	mgmt       lcm.MgmtDrivers
	fetcher    Fetcher
	// downloadTime bounds a download with all its attempts.
	downloadTime time.Duration
	parsing      sync.Mutex // one VNFD at a time: a hostile one may take 150 MB
	// opening has a place for each request that reads the directory and the metadata of an archive: 100 MB for those of
	// 50,000 files.
	opening chan struct{}
}

// Service is package management as its users see it. Handlers hold Services, so code that forgets the principal does
// not compile.
type Service struct {
	*Services
	store Store // of the principal's project
	// project is the principal's.
	project string
}

// In returns the Service for the project of a principal.
func (s *Services) In(p lcm.Principal) *Service {
	return &Service{Services: s, store: s.stores.PackagesOf(p), project: cmp.Or(p.Project, lcm.DefaultProject)}
}

// maxOpening bounds the requests that read directories of archives at the same time.
const maxOpening = 2

// New creates Services. The caller also has to run Run in the background.
func New(o Options) *Services {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Lease == 0 {
		o.Lease = 30 * time.Second
	}
	if o.DownloadTime == 0 {
		o.DownloadTime = 6 * time.Hour
	}
	if o.ModelBytes == 0 {
		o.ModelBytes = 64 << 20
	}
	return &Services{
		stores: o.Stores, store: o.Stores.AllPackages(), content: o.Content, log: o.Log, limits: o.Limits,
		lease: o.Lease, signatures: o.Signatures, fetcher: o.Fetcher, downloadTime: o.DownloadTime,
		mgmt: o.Mgmt, models: newModelCache(o.ModelBytes), opening: make(chan struct{}, maxOpening),
	}
}

// Create creates a package without content (SOL005 clause 9.4.2.3.1).
func (s *Service) Create(ctx context.Context, userDefinedData sol.KeyValuePairs) (*Package, error) {
	p := &Package{
		ID: uuid.NewString(), OnboardingState: sol.PackageOnboardingStateCreated,
		OperationalState: sol.PackageOperationalStateDisabled, UsageState: sol.PackageUsageStateNotInUse,
		UserDefinedData: userDefinedData,
	}
	if err := s.store.InsertPackage(ctx, p); err != nil {
		return nil, err
	}
	return p, nil
}

// Get returns a package, or CodeNotFound.
func (s *Service) Get(ctx context.Context, id string) (*Package, error) {
	return s.store.Package(ctx, id)
}

// List lists packages in order of id.
func (s *Service) List(ctx context.Context, q Query) ([]*Package, error) {
	return s.store.Packages(ctx, q)
}

// Update applies a PATCH (SOL005 clause 9.4.3.3.4) and returns the package and the attributes that were changed. The
// operational state can only be changed to another one, and only of an onboarded package: CodeConflict else.
// UserDefinedData is a merge patch (RFC 7396). ifVersion is the version that If-Match names; CodePrecondition when
// the package has another.
func (s *Service) Update(
	ctx context.Context, id string, m sol.VnfPkgInfoModifications, ifVersion *int64,
) (*Package, sol.VnfPkgInfoModifications, error) {
	if m.OperationalState == "" && m.UserDefinedData == nil {
		return nil, m, lcm.Errorf(lcm.CodeInvalid, "nothing to change: set operationalState, userDefinedData or both")
	}
	p, err := s.store.UpdatePackage(ctx, id, func(p *Package, _ time.Time) error {
		if err := checkVersion(p, ifVersion); err != nil {
			return err
		}
		if m.OperationalState != "" {
			switch {
			case p.OnboardingState != sol.PackageOnboardingStateOnboarded:
				return conflict(
					p, "it is %s, and only an ONBOARDED package can be enabled or disabled", p.OnboardingState,
				)
			case p.OperationalState == m.OperationalState:
				return conflict(p, "it is %s already", p.OperationalState)
			}
			p.OperationalState = m.OperationalState
		}
		if m.UserDefinedData != nil {
			merged, _ := mergePatch(map[string]any(p.UserDefinedData),
				map[string]any(m.UserDefinedData)).(map[string]any)
			if limit := s.limits.UserDefinedData; limit > 0 && sol.SizeOf(merged, limit) > limit {
				return lcm.Unprocessable(lcm.InvalidParam{
					Pointer: "/userDefinedData",
					Detail:  fmt.Sprintf("would be larger than %d bytes; remove members of it first", limit),
				})
			}
			p.UserDefinedData = merged
		}
		return nil
	})
	if err != nil {
		return nil, m, err
	}
	changed := sol.VnfPkgInfoModifications{OperationalState: m.OperationalState}
	if m.UserDefinedData != nil {
		changed.UserDefinedData = p.UserDefinedData
	}
	return p, changed, nil
}

// Delete deletes a package and its content (SOL005 clause 9.4.3.3.5). CodeConflict when it is ENABLED or IN_USE. The
// upload or the onboarding of a package that is deleted ends, and leaves no content.
func (s *Service) Delete(ctx context.Context, id string, ifVersion *int64) error {
	p, err := s.store.DeletePackage(ctx, id, func(p *Package) error {
		switch {
		case p.UsageState == sol.PackageUsageStateInUse:
			hint := "delete the VNF instances that use it first"
			if p.Shared {
				hint += "; instances of other projects may use it, too, and sharing it can be ended"
			}
			return conflict(p, "it is IN_USE").WithHint(hint)
		case p.OperationalState == sol.PackageOperationalStateEnabled:
			return conflict(p, "it is ENABLED").WithHint("disable it first")
		}
		return checkVersion(p, ifVersion)
	})
	if err != nil {
		return err
	}
	s.digests.remove(id)
	s.release(ctx, p.Content)
	s.removePartial(ctx, p.Download)
	return nil
}

// release removes an archive that a package no longer needs. If this fails, Run removes it later.
func (s *Services) release(ctx context.Context, c *Content) {
	if c == nil || c.Digest == "" {
		return
	}
	if _, err := s.store.ReleaseContent(ctx, c.Digest, func() error { return s.removeContent(c.Digest) }); err != nil {
		s.log.WarnContext(ctx, "package content is not removed yet", "digest", c.Digest, "error", err)
	}
}

func (s *Services) removeContent(digest string) error {
	d, err := content.ParseDigest(digest)
	if err != nil {
		return err
	}
	s.models.forget(digest)
	return s.content.Delete(d)
}

func checkVersion(p *Package, ifVersion *int64) error {
	if ifVersion != nil && *ifVersion != p.Version {
		return lcm.Errorf(lcm.CodePrecondition, "VNF package %s was changed since", p.ID).WithHint("read it again")
	}
	return nil
}

func conflict(p *Package, format string, args ...any) *lcm.Error {
	return lcm.Errorf(lcm.CodeConflict, "VNF package %s: %s", p.ID, fmt.Sprintf(format, args...))
}

// mergePatch applies an RFC 7396 merge patch and leaves its arguments as they are.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	merged := make(map[string]any, len(t)+len(p))
	maps.Copy(merged, t)
	for k, v := range p {
		if v == nil {
			delete(merged, k)
		} else {
			merged[k] = mergePatch(merged[k], v)
		}
	}
	return merged
}

func randomText() string { return rand.Text() }

// isNotFound reports whether an error is lcm's CodeNotFound.
func isNotFound(err error) bool {
	e, ok := errors.AsType[*lcm.Error](err)
	return ok && e.Code == lcm.CodeNotFound
}
