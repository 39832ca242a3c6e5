package vnfpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Limits limit the work for a package.
type Limits struct {
	// ArchiveBytes is the size of an archive as it is uploaded.
	ArchiveBytes int64
	// UserDefinedData is the size of userDefinedData in bytes of JSON, after a PATCH.
	UserDefinedData int
	Archive         csar.Limits
	VNFD            tosca.Limits
}

// DefaultLimits returns limits for packages with disk images.
func DefaultLimits() Limits {
	return Limits{
		ArchiveBytes: 10 << 30, UserDefinedData: 64 << 10, Archive: csar.DefaultLimits(), VNFD: tosca.DefaultLimits(),
	}
}

// Contents is the content of a valid package.
type Contents struct {
	VNFD *vnfd.VNFD
	// VnfdFiles are the paths of the files that make up the VNFD, the main file first.
	VnfdFiles []string
	// External are the addresses of artifacts on other servers that only the VNFD names.
	External []string
	// Info is the content of the package's metadata.
	Info csar.Info
	// Report is the result of reading all files.
	Report *csar.Report
	// Warnings are defects that concern only operations that may never be requested, or none.
	Warnings []vnfd.Warning
	// Signature is the result of checking the signatures.
	Signature *signature.Result
}

// parsed is a package whose VNFD has been read and whose files have not.
type parsed struct {
	archive *csar.Archive
	vnfd    *tosca.Result
	// checker is nil if signatures are not read.
	checker    *signature.Checker
	signatures Signatures
	container  bool // the package came in a container
}

// parse reads the VNFD of an archive. A defect of the package is a *csar.Rejection or tosca.Errors.
func parse(a *csar.Archive, lim tosca.Limits) (*parsed, error) {
	info := a.Info()
	result, err := tosca.Parse(
		a.FS(), tosca.Options{Entry: info.Entry, Others: info.OtherDefinitions, Names: a.Names(), Limits: lim},
	)
	if err != nil {
		return nil, err
	}
	return &parsed{archive: a, vnfd: result}, nil
}

// verify reads all files, and extracts them unless dst is nil.
func (p *parsed) verify(ctx context.Context, dst *os.Root) (*Contents, error) {
	images := p.images()
	sums := make([]csar.Sum, len(images))
	for i, img := range images {
		sums[i] = csar.Sum{Path: img.File, Algorithm: imageAlgorithm(img)}
	}
	if p.checker != nil {
		sums = append(sums, p.checker.Sums()...)
	}
	report, err := p.archive.Verify(ctx, dst, sums...)
	if err != nil {
		return nil, err
	}
	c := &Contents{
		VNFD: p.vnfd.VNFD, VnfdFiles: p.vnfd.Files, External: p.vnfd.External, Info: p.archive.Info(), Report: report,
		Warnings: slices.Clone(p.vnfd.Warnings), Signature: p.unchecked(),
	}
	if p.checker != nil {
		c.Signature = p.checker.Finish(report)
		if err := p.signatures.decide(c.Signature); err != nil {
			return nil, err
		}
	}
	for _, e := range c.Info.External {
		c.Warnings = append(c.Warnings, vnfd.Warning{
			Code: string(csar.ExternalArtifact), Location: e.File, Text: e.Error(),
			Remedy: "put the file in the package, or remove the entry",
		})
	}
	for _, img := range images {
		// Only a warning: images are prepared for a site after the VNFD was written, and the archive's own
		// checksums, which must hold, say whether the file is the one that was packed.
		if found := report.Sums[csar.Sum{Path: img.File, Algorithm: imageAlgorithm(img)}]; img.ChecksumHash != "" &&
			found != img.ChecksumHash {
			c.Warnings = append(c.Warnings, vnfd.Warning{
				Code: "image_checksum", Subject: img.Name, Location: img.File,
				Text: fmt.Sprintf("%s: the VNFD gives the image %q the checksum %s %s, the file has %s", img.File,
					img.Name, cmp.Or(img.ChecksumAlgorithm, "of unknown algorithm"), img.ChecksumHash, found),
				Remedy: "correct the checksum in the VNFD, or replace the file",
			})
		}
	}
	return c, nil
}

// unchecked is the result if signatures are not read.
func (p *parsed) unchecked() *signature.Result {
	option := signature.Option1
	if p.container {
		option = signature.Option2
	}
	return &signature.Result{State: signature.NotChecked, Option: option}
}

// images are the software images that the package carries, each file once.
func (p *parsed) images() []vnfd.SwImage {
	var all []vnfd.SwImage
	add := func(img *vnfd.SwImage) {
		if img != nil && img.File != "" && !slices.ContainsFunc(
			all, func(o vnfd.SwImage) bool { return o.File == img.File },
		) {
			all = append(all, *img)
		}
	}
	for _, f := range p.vnfd.VNFD.Flavours {
		for i := range f.VDUs {
			add(f.VDUs[i].Image)
			for _, container := range f.VDUs[i].Containers {
				add(container.Image)
			}
		}
		for i := range f.Storages {
			add(f.Storages[i].Image)
		}
	}
	return all
}

// imageAlgorithm is the algorithm of an image's checksum, or SHA-256 where the VNFD names none that we know.
func imageAlgorithm(img vnfd.SwImage) string {
	if name, ok := csar.Algorithm(img.ChecksumAlgorithm); ok {
		return name
	}
	return csar.SHA256
}

// Validate reads a package, an archive or a source folder, without storing anything. What is wrong with it is a
// *csar.Rejection or tosca.Errors; other errors are of the machine.
func Validate(ctx context.Context, path string, lim Limits) (*Contents, error) {
	return Check(ctx, path, lim, Signatures{})
}

// Check is Validate with a check of the signatures of an archive.
func Check(ctx context.Context, path string, lim Limits, signatures Signatures) (*Contents, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open package: %w", err)
	}
	if info.IsDir() {
		return validateDir(ctx, path, lim)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open package: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	return read(ctx, f, info.Size(), lim, signatures)
}

// Read reads an archive that has size bytes like Validate.
func Read(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (*Contents, error) {
	return read(ctx, r, size, lim, Signatures{})
}

func read(
	ctx context.Context, r io.ReaderAt, size int64, lim Limits, signatures Signatures,
) (_ *Contents, err error) {
	a, container, err := csar.OpenUpload(ctx, r, size, lim.Archive, scratchInTemp)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, container.Close()) }()
	return readAll(ctx, opened{Archive: a, container: container}, lim, signatures)
}

func validateDir(ctx context.Context, path string, lim Limits) (*Contents, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open package folder: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	a, err := csar.OpenDir(root, lim.Archive)
	if err != nil {
		return nil, err
	}
	return readAll(ctx, opened{Archive: a}, lim, Signatures{})
}

func readAll(ctx context.Context, a opened, lim Limits, signatures Signatures) (*Contents, error) {
	checker, err := signatures.checker(ctx, a)
	if err != nil {
		return nil, err
	}
	p, err := parse(a.Archive, lim.VNFD)
	if err != nil {
		return nil, err
	}
	p.checker, p.signatures, p.container = checker, signatures, a.container != nil
	return p.verify(ctx, nil)
}
