package vnfpkg

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/csar"
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

// Artifact opens a file of a package that is an artifact or a software image (SOL003 clause 10.4.6.3.2), by its path
// from the package's root; CodeNotFound when it is neither, CodeConflict when the package is not ONBOARDED.
func (s *Service) Artifact(ctx context.Context, id, path string) (*File, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	sum, ok := p.Onboarded.serves(path)
	if !ok {
		return nil, lcm.Errorf(lcm.CodeNotFound, "VNF package %s has no artifact %q", p.ID, clip(path)).
			WithHint("the package's additionalArtifacts and softwareImages list the paths")
	}
	fsys, err := s.files(ctx, p.Content.Digest)
	if err != nil {
		return nil, contentLostError(p.ID, err)
	}
	return openFile(fsys, path, sum.Hash)
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

// Document is the VNFD of a package: one file or several.
type Document struct {
	fsys fs.FS
	// files are what an archive of the VNFD holds; main is the VNFD itself when it is one file.
	files []string
	main  string
}

// VNFD returns the VNFD of a package (SOL003 clause 10.4.4.3.2); CodeConflict when it is not ONBOARDED.
func (s *Service) VNFD(ctx context.Context, id string) (*Document, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	fsys, err := s.files(ctx, p.Content.Digest)
	if err != nil {
		return nil, contentLostError(p.ID, err)
	}
	d := &Document{fsys: fsys, files: slices.Clone(p.Onboarded.VnfdFiles)}
	if len(d.files) == 1 {
		d.main = d.files[0]
	}
	if _, err := fs.Stat(fsys, csar.MetaPath); err == nil { // it tells a reader where to begin
		d.files = append(d.files, csar.MetaPath)
	}
	slices.Sort(d.files)
	return d, nil
}

// Single says whether the VNFD is one file, which can be served as text.
func (d *Document) Single() bool { return d.main != "" }

// Text opens the only file of the VNFD; CodeNotAcceptable when there are several.
func (d *Document) Text() (*File, error) {
	if !d.Single() {
		return nil, lcm.Errorf(lcm.CodeNotAcceptable, "the VNFD consists of several files").WithHint(
			"ask for application/zip",
		)
	}
	return openFile(d.fsys, d.main, "")
}

// WriteZip writes an archive of the VNFD's files with their paths in the package. The same VNFD gives the same bytes.
func (d *Document) WriteZip(ctx context.Context, w io.Writer) error {
	z := zip.NewWriter(w)
	for _, name := range d.files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := addFile(z, d.fsys, name); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	return z.Close()
}

func addFile(z *zip.Writer, fsys fs.FS, name string) (err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := z.CreateHeader(
		&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)},
	)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
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
