package vnfpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
	"unicode"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// File is a file to download: it can be served with http.ServeContent. Close it after use.
type File struct {
	io.ReadSeekCloser
	// Name is the last element of its path.
	Name string
	// Size is in bytes.
	Size    int64
	ModTime time.Time
	// Hash identifies the content, for an entity tag; "" when it is not known.
	Hash string
}

// onboarded returns a package that is ONBOARDED, else CodeConflict.
func onboarded(ctx context.Context, store Store, id string) (*Package, error) {
	p, err := store.Package(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.OnboardingState != sol.PackageOnboardingStateOnboarded || p.Content == nil || p.Onboarded == nil {
		return nil, conflict(p, "it is %s, and has content once it is ONBOARDED", p.OnboardingState)
	}
	return p, nil
}

// Content opens the archive of a package (SOL003 clause 10.4.5.3.2); CodeConflict when it is not ONBOARDED.
func (s *Service) Content(ctx context.Context, id string) (*File, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	d, err := content.ParseDigest(p.Content.Digest)
	if err != nil {
		return nil, err
	}
	blob, err := s.content.Open(d)
	if err != nil {
		return nil, contentLostError(p.ID, err)
	}
	return &File{
		ReadSeekCloser: blob, Name: p.ID + ".zip", Size: blob.Size(), ModTime: p.Updated, Hash: p.Content.Digest,
	}, nil
}

// Onboarded returns the ONBOARDED package with a vnfdId, or CodeNotFound. The package of the own project precedes a
// shared one.
func (s *Service) Onboarded(ctx context.Context, vnfdID string) (*Package, error) {
	return s.store.OnboardedPackage(ctx, vnfdID)
}

// Artifact opens a file of a package that is an artifact or a software image (SOL003 clause 10.4.6.3.2), by its path
// from the package's root; CodeNotFound when it is neither, CodeConflict when the package is not ONBOARDED.
func (s *Service) Artifact(ctx context.Context, id, path string) (*File, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	sum, ok := p.Onboarded.serves(path)
	if !ok {
		return nil, noArtifact(p, path)
	}
	fsys, err := s.files(ctx, p.Content.Digest)
	if err != nil {
		return nil, contentLostError(p.ID, err)
	}
	return openFile(fsys, path, sum.Hash)
}

func noArtifact(p *Package, path string) error {
	return lcm.Errorf(lcm.CodeNotFound, "VNF package %s has no artifact %q", p.ID, clip(path)).
		WithHint("the package's additionalArtifacts and softwareImages list the paths")
}

func openFile(fsys fs.FS, path, hash string) (*File, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open artifact: %w", err)
	}
	info, err := f.Stat()
	seeker, ok := f.(io.ReadSeekCloser)
	if err == nil && !ok {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open artifact: %w", err), f.Close())
	}
	return &File{ReadSeekCloser: seeker, Name: info.Name(), Size: info.Size(), ModTime: info.ModTime(), Hash: hash}, nil
}

// contentLostError explains a content store that does not have what the database says it has.
func contentLostError(packageID string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errContentLost) {
		return &lcm.Error{
			Code: lcm.CodeInternal, Title: "The content of the VNF package is missing",
			Detail: "the content store of this node does not have the content of VNF package " + packageID,
			Hint:   "all nodes must share one content store", Cause: err,
		}
	}
	return err
}

// clip makes what a client sent fit for an error.
func clip(s string) string {
	const keep = 100
	if len(s) > keep {
		s = s[:keep] + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}
