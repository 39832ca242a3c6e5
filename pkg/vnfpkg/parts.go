package vnfpkg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Document is a text of a package, which can also be served as an archive: its VNFD, its manifest, or an artifact.
type Document struct {
	service *Service
	p       *Package
	name    string   // of the archive
	main    string   // path of the text; "" when there are several
	files   []string // of the archive; those that the package does not have are left out
	// signed says that the archive has to contain signatures.
	signed bool
}

// VNFD returns the VNFD of a package (SOL003 clause 10.4.4.3.2), with signatures its security information, too;
// CodeConflict when it is not ONBOARDED.
func (s *Service) VNFD(ctx context.Context, id string, signatures bool) (*Document, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	d := &Document{
		service: s, p: p, name: "vnfd-" + p.ID + ".zip", files: slices.Clone(p.Onboarded.VnfdFiles), signed: signatures,
	}
	if len(d.files) == 1 {
		d.main = d.files[0]
	}
	if signatures {
		err = s.inspect(ctx, p, func(a *csar.Archive) error {
			info := a.Info()
			d.files = append(d.files, info.SecurityOf(d.files...)...)
			d.files = append(d.files, info.Manifest, info.Certificate)
			return nil
		})
	}
	d.files = append(d.files, csar.MetaPath) // it tells a reader where to begin
	return d, err
}

// Manifest returns the manifest of a package (SOL003 clause 10.4.4a.3.2), with signatures and a certificate of its own
// both; CodeConflict when the package is not ONBOARDED, CodeNotFound when it has no manifest.
func (s *Service) Manifest(ctx context.Context, id string, signatures bool) (*Document, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	d := &Document{service: s, p: p, name: "manifest-" + p.ID + ".zip"}
	return d, s.inspect(ctx, p, func(a *csar.Archive) error {
		info := a.Info()
		if info.Manifest == "" {
			return lcm.Errorf(lcm.CodeNotFound, "VNF package %s has no manifest", p.ID).WithHint(
				"its " + csar.MetaPath + " lists its files; read the package_content",
			)
		}
		d.main, d.files = info.Manifest, []string{info.Manifest}
		if signatures && info.Certificate != "" {
			d.files, d.signed = append(d.files, info.Certificate), true
		}
		return nil
	})
}

// SignedArtifact returns an artifact or a software image with its signature and certificate; errors are those of
// Artifact.
func (s *Service) SignedArtifact(ctx context.Context, id, file string) (*Document, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	if _, ok := p.Onboarded.serves(file); !ok {
		return nil, noArtifact(p, file)
	}
	d := &Document{service: s, p: p, name: path.Base(file) + ".zip", main: file, files: []string{file}, signed: true}
	return d, s.inspect(ctx, p, func(a *csar.Archive) error {
		d.files = append(d.files, a.Info().SecurityOf(file)...)
		return nil
	})
}

// Selection says which artifacts an archive contains.
type Selection struct {
	// NoMano and NoNonMano leave out the artifacts that belong to no set of non-MANO artifacts, and those of all sets.
	NoMano, NoNonMano bool
	// Sets are the sets of non-MANO artifacts that are wanted; nil means all.
	Sets []string
	// Signatures asks for the signatures and certificates of the artifacts.
	Signatures bool
}

func (q Selection) wants(a sol.VnfPackageArtifactInfo) bool {
	if a.NonManoArtifactSetID == "" {
		return !q.NoMano
	}
	return !q.NoNonMano && (q.Sets == nil || slices.ContainsFunc(
		q.Sets, func(set string) bool { return strings.EqualFold(set, a.NonManoArtifactSetID) },
	))
}

// Artifacts returns an archive of the artifacts of a package that are not software images (SOL003 clause
// 10.4.5a.3.2); CodeConflict when the package is not ONBOARDED.
func (s *Service) Artifacts(ctx context.Context, id string, q Selection) (*File, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	d := &Document{service: s, p: p, name: "artifacts-" + p.ID + ".zip"}
	for _, a := range p.Onboarded.Artifacts {
		if a.ArtifactPath != "" && q.wants(a) {
			d.files = append(d.files, a.ArtifactPath)
		}
	}
	if q.Signatures {
		err = s.inspect(ctx, p, func(a *csar.Archive) error {
			d.files = append(d.files, a.Info().SecurityOf(d.files...)...)
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	return d.Archive(ctx)
}

// inspect reads the directory and the metadata of a package.
func (s *Services) inspect(ctx context.Context, p *Package, do func(*csar.Archive) error) error {
	done, err := s.beginOpening(ctx)
	if err != nil {
		return err
	}
	defer done()
	return contentLostError(p.ID, s.withArchive(
		ctx, p.Content.Digest, func(_ content.Digest, a opened) error { return do(a.Archive) },
	))
}

// beginOpening waits for a place to read the directory of an archive; done gives it back.
func (s *Services) beginOpening(ctx context.Context) (done func(), err error) {
	select {
	case s.opening <- struct{}{}:
		return func() { <-s.opening }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Single says whether the document can be served as text: it is one file, and no signature is asked for.
func (d *Document) Single() bool { return d.main != "" && !d.signed }

// Text opens the text; CodeNotAcceptable when the document is not Single.
func (d *Document) Text(ctx context.Context) (*File, error) {
	if !d.Single() {
		return nil, lcm.Errorf(lcm.CodeNotAcceptable, "the answer consists of several files").WithHint(
			"ask for application/zip",
		)
	}
	fsys, err := d.service.files(ctx, d.p.Content.Digest)
	if err != nil {
		return nil, contentLostError(d.p.ID, err)
	}
	return openFile(fsys, d.main, d.hash("text", []string{d.main}))
}

// Archive opens an archive of the document's files, with their paths in the package.
func (d *Document) Archive(ctx context.Context) (_ *File, err error) {
	digest, err := content.ParseDigest(d.p.Content.Digest)
	if err != nil {
		return nil, err
	}
	done, err := d.service.beginOpening(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	a, err := d.service.openArchive(ctx, digest)
	if err != nil {
		return nil, contentLostError(d.p.ID, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	files := slices.DeleteFunc(slices.Clone(d.files), func(name string) bool { return !a.Has(name) })
	part, err := a.Subset(a.bytes, files)
	if err != nil {
		return nil, err
	}
	return &File{
		ReadSeekCloser: struct {
			io.ReadSeeker
			io.Closer
		}{part, a},
		Name: d.name, Size: part.Size(), ModTime: d.p.Updated, Hash: d.hash("zip", files),
	}, nil
}

// hash identifies a part of a package: the same part of the same package has the same bytes.
func (d *Document) hash(format string, files []string) string {
	sum := sha256.Sum256([]byte(d.p.Content.Digest + "\n" + format + "\n" + strings.Join(files, "\n")))
	return hex.EncodeToString(sum[:])
}
