package vnfpkg

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// modelFormat is the version of vnfd.VNFD's structure and of the code that reads it. Raise it when either changes:
// models of existing packages are then recreated when they are needed first.
const modelFormat = 3

// Model returns the VNFD and the id of the ONBOARDED and ENABLED package with this vnfdId in the project of a
// principal, or CodeUnprocessable. The model is shared and MUST NOT be changed. It implements lcm.Packages.
func (s *Services) Model(ctx context.Context, p lcm.Principal, vnfdID string) (*vnfd.VNFD, string, error) {
	return s.In(p).model(ctx, vnfdID)
}

func (s *Service) model(ctx context.Context, vnfdID string) (*vnfd.VNFD, string, error) {
	p, err := s.store.OnboardedPackage(ctx, vnfdID)
	if isNotFound(err) {
		return nil, "", s.unknownVNFD(ctx, vnfdID)
	}
	if err != nil {
		return nil, "", err
	}
	if p.OperationalState != sol.PackageOperationalStateEnabled {
		return nil, "", lcm.Errorf(lcm.CodeUnprocessable, "VNF package %s is %s", p.ID,
			p.OperationalState).WithHint("enable it first")
	}
	model, err := s.modelOf(ctx, p)
	return model, p.ID, err
}

// maxOffered bounds the vnfdIds that an error lists.
const maxOffered = 10

// unknownVNFD is the error for a vnfdId that no onboarded package has. Its hint lists those that exist, or gives the
// vnfdId of the package whose id was given instead.
func (s *Service) unknownVNFD(ctx context.Context, vnfdID string) error {
	e := lcm.Errorf(lcm.CodeUnprocessable, "no onboarded VNF package has the vnfdId %q", clip(vnfdID))
	if p, err := s.store.Package(ctx, vnfdID); err == nil {
		e = lcm.Errorf(lcm.CodeUnprocessable, "%q is the id of a VNF package, not a vnfdId", clip(vnfdID))
		if p.OnboardingState == sol.PackageOnboardingStateOnboarded {
			return e.WithHint("the vnfdId of this package is " + clip(p.VnfdID))
		}
		return e.WithHint(fmt.Sprintf("the package is %s; it has a vnfdId when it is ONBOARDED", p.OnboardingState))
	}

	all, err := s.store.Packages(ctx, Query{Limit: 20 * maxOffered})
	if err != nil {
		return e.WithHint("upload the package first; its onboardingState must be ONBOARDED")
	}
	var offered []string
	for _, p := range all {
		if p.OnboardingState == sol.PackageOnboardingStateOnboarded && p.Onboarded != nil {
			offered = append(offered, fmt.Sprintf("%s (%s)", clip(p.VnfdID), clip(p.Onboarded.ProductName)))
		}
	}
	switch {
	case len(offered) == 0:
		return e.WithHint("upload the package first; no package is ONBOARDED")
	case len(offered) > maxOffered:
		offered = append(offered[:maxOffered], "…")
	}
	return e.WithHint("upload the package first, or use one of " + strings.Join(offered, ", "))
}

// VnfdID returns the vnfdId of an onboarded package that a principal sees. It implements lcm.Packages.
func (s *Services) VnfdID(ctx context.Context, p lcm.Principal, vnfPkgID string) (string, error) {
	found, err := onboarded(ctx, s.In(p).store, vnfPkgID)
	if err != nil {
		return "", err
	}
	return found.VnfdID, nil
}

// ModelOf returns the VNFD of an onboarded package, also when it is DISABLED: instances that exist outlive that. The
// model is shared and MUST NOT be changed.
func (s *Services) ModelOf(ctx context.Context, vnfPkgID string) (*vnfd.VNFD, error) {
	p, err := onboarded(ctx, s.store, vnfPkgID)
	if err != nil {
		return nil, err
	}
	s.digests.put(p.ID, p.Content.Digest)
	return s.modelOf(ctx, p)
}

func (s *Services) modelOf(ctx context.Context, p *Package) (*vnfd.VNFD, error) {
	if p.Content == nil {
		return nil, fmt.Errorf("onboarded package %s refers to no content", p.ID)
	}
	model, err := s.models.get(p.Content.Digest, func() (json.RawMessage, error) {
		// Others may wait for this load: it must not end with the first one's request.
		return s.loadModel(context.WithoutCancel(ctx), p.Content.Digest)
	})
	if err != nil || p.Onboarded == nil {
		return model, err
	}
	return without(model, p.Onboarded.IgnoredDrivers), nil
}

// loadModel reads the stored model, or recreates it from the archive if no model of this format exists.
func (s *Services) loadModel(ctx context.Context, digest string) (json.RawMessage, error) {
	data, err := s.store.PackageModel(ctx, ModelKey{Digest: digest, Format: modelFormat})
	if !isNotFound(err) {
		return data, err
	}
	err = s.withArchive(ctx, digest, func(_ content.Digest, a opened) error {
		p, err := s.parse(a.Archive)
		if err != nil {
			return err
		}
		if err := s.saveModel(ctx, digest, p.vnfd.VNFD); err != nil {
			s.log.WarnContext(ctx, "model not stored", "digest", digest, "error", err)
		}
		data, err = json.Marshal(p.vnfd.VNFD)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make model of content %s again: %w", digest, err)
	}
	return data, nil
}

// Files returns the files of an onboarded package, rooted at the archive's root. It needs no closing. It implements
// lcm.Packages. Of a package whose model was read, it does not read the package again.
func (s *Services) Files(ctx context.Context, vnfPkgID string) (fs.FS, error) {
	digest, ok := s.digests.get(vnfPkgID)
	if !ok {
		p, err := onboarded(ctx, s.store, vnfPkgID)
		if err != nil {
			return nil, err
		}
		digest = p.Content.Digest
	}
	fsys, err := s.files(ctx, digest)
	return fsys, contentLostError(vnfPkgID, err)
}

// digestCache keeps the digest of the content of packages that were ONBOARDED. Their content does not change.
type digestCache struct {
	mu   sync.Mutex
	byID map[string]string
}

// maxDigests bounds a digestCache.
const maxDigests = 4096

func (c *digestCache) get(packageID string) (digest string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	digest, ok = c.byID[packageID]
	return digest, ok
}

func (c *digestCache) put(packageID, digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil || len(c.byID) >= maxDigests {
		c.byID = map[string]string{}
	}
	c.byID[packageID] = digest
}

// remove forgets a package that was deleted.
func (c *digestCache) remove(packageID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, packageID)
}

// modelCache keeps models by digest, those used last, within a number of bytes of JSON.
type modelCache struct {
	group singleflight.Group

	mu    sync.Mutex
	limit int
	bytes int
	order *list.List // of *cachedModel, used last in front
	byKey map[string]*list.Element
}

type cachedModel struct {
	digest string
	model  *vnfd.VNFD
	bytes  int
}

func newModelCache(limit int) *modelCache {
	return &modelCache{limit: limit, order: list.New(), byKey: map[string]*list.Element{}}
}

// get returns a model; of callers that need the same one at once, one loads it.
func (c *modelCache) get(digest string, load func() (json.RawMessage, error)) (*vnfd.VNFD, error) {
	if m := c.lookup(digest); m != nil {
		return m, nil
	}
	v, err, _ := c.group.Do(digest, func() (any, error) {
		if m := c.lookup(digest); m != nil {
			return m, nil
		}
		data, err := load()
		if err != nil {
			return nil, err
		}
		m := &vnfd.VNFD{}
		if err := json.Unmarshal(data, m); err != nil {
			return nil, fmt.Errorf("decode VNFD: %w", err)
		}
		c.add(&cachedModel{digest: digest, model: m, bytes: len(data)})
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*vnfd.VNFD), nil //nolint:forcetypeassert // what the function above returns
}

func (c *modelCache) lookup(digest string) *vnfd.VNFD {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[digest]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedModel).model //nolint:forcetypeassert // only these are added
}

// add keeps a model; the one just added stays even when it alone is over the limit.
func (c *modelCache) add(m *cachedModel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[m.digest] = c.order.PushFront(m)
	c.bytes += m.bytes
	for c.bytes > c.limit && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

func (c *modelCache) forget(digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[digest]; ok {
		c.remove(e)
	}
}

func (c *modelCache) remove(e *list.Element) {
	m := c.order.Remove(e).(*cachedModel) //nolint:forcetypeassert // only these are added
	delete(c.byKey, m.digest)
	c.bytes -= m.bytes
}
