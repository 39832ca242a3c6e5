package csar

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Container is the zip file of SOL004's security option 2: a package archive with its signature, and perhaps the
// certificate of the signer.
type Container struct {
	// Name is the name of the package archive in the container.
	Name string
	// Signatures and Certificates are the files beside it. At least one is a signature.
	Signatures, Certificates []ContainerFile

	archive *io.SectionReader
	scratch ScratchFile // nil when the archive is read in place
}

// ContainerFile is a file of a container.
type ContainerFile struct {
	Name string
	Data []byte
}

// Scratch stores what r gives in a file until Discard.
type Scratch func(ctx context.Context, r io.Reader) (ScratchFile, error)

// ScratchFile is a temporary file.
type ScratchFile interface {
	io.ReaderAt
	// Bytes is its size.
	Bytes() int64
	Discard() error
}

const (
	containerFiles = 8
	// containerBytes is the size of a signature or certificate in a container.
	containerBytes = 256 << 10
)

var (
	archiveNames     = []string{".csar", ".zip"}
	signatureNames   = []string{".cms", ".p7s", ".p7m"}
	certificateNames = []string{".cert", ".crt", ".cer", ".pem"}
)

// OpenUpload opens an archive like Open, or the archive in a container. An archive that is compressed in its container
// is unpacked to a scratch file. The container is nil for an archive without one; it has to be closed.
func OpenUpload(
	ctx context.Context, r io.ReaderAt, size int64, lim Limits, scratch Scratch,
) (_ *Archive, _ *Container, err error) {
	outer, err := openFiles(r, size, lim)
	if err != nil {
		return nil, nil, err
	}
	c := outer.container()
	if c == nil {
		a, err := outer.withInfo()
		return a, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	for _, files := range [][]ContainerFile{c.Signatures, c.Certificates} {
		for i := range files {
			if files[i].Data, err = outer.readSmall(files[i].Name); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := c.openArchive(ctx, r, outer, scratch); err != nil {
		return nil, nil, err
	}
	a, err := Open(c.archive, c.archive.Size(), lim)
	if rejection, ok := errors.AsType[*Rejection](err); ok {
		inside := *rejection
		inside.Detail = "in " + printable(c.Name) + ": " + inside.Detail
		err = &inside
	}
	if err != nil {
		return nil, nil, err
	}
	return a, c, nil
}

// container returns the container that an archive is, without contents; nil if it is none.
func (a *Archive) container() *Container {
	if len(a.files) > containerFiles {
		return nil
	}
	c := &Container{}
	for _, f := range a.files {
		ext := strings.ToLower(path.Ext(f.name))
		switch {
		case strings.Contains(f.name, "/"):
			return nil
		case slices.Contains(archiveNames, ext) && c.Name == "":
			c.Name = f.name
		case slices.Contains(signatureNames, ext):
			c.Signatures = append(c.Signatures, ContainerFile{Name: f.name})
		case slices.Contains(certificateNames, ext):
			c.Certificates = append(c.Certificates, ContainerFile{Name: f.name})
		default:
			return nil
		}
	}
	if c.Name == "" || len(c.Signatures) == 0 {
		return nil
	}
	return c
}

// readSmall reads a signature or certificate.
func (a *Archive) readSmall(name string) ([]byte, error) {
	small := *a
	small.lim.TextBytes = min(a.lim.TextBytes, containerBytes)
	return small.ReadText(name)
}

// openArchive finds the archive in the container, or unpacks it.
func (c *Container) openArchive(ctx context.Context, r io.ReaderAt, outer *Archive, scratch Scratch) error {
	f := outer.files[outer.index[c.Name]]
	if f.entry.Method == zip.Store && f.packed == f.size {
		offset, err := f.entry.DataOffset()
		if err != nil {
			return readError(f.name, err)
		}
		c.archive = io.NewSectionReader(r, offset, f.size)
		return nil
	}
	rc, err := f.open()
	if err != nil {
		return readError(f.name, err)
	}
	counted := &verifier{a: outer, ctx: ctx, report: &Report{}}
	unpacked, err := scratch(ctx, &meter{v: counted, f: f, r: rc})
	if err == nil {
		c.scratch = unpacked
	}
	if err := errors.Join(err, rc.Close()); err != nil {
		return readError(f.name, err)
	}
	c.archive = io.NewSectionReader(c.scratch, 0, c.scratch.Bytes())
	return nil
}

// Unpacked reports whether the archive is a scratch file, because it is compressed in the container. It may be called
// on nil.
func (c *Container) Unpacked() bool { return c != nil && c.scratch != nil }

// Bytes is the size of the package archive.
func (c *Container) Bytes() int64 { return c.archive.Size() }

// Archive is the package archive.
func (c *Container) Archive() io.ReaderAt { return c.archive }

// Copy writes the bytes of the package archive, which the signatures cover, to w.
func (c *Container) Copy(ctx context.Context, w io.Writer) error {
	_, err := io.Copy(w, readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return c.archive.Read(p)
	}))
	if err == nil {
		_, err = c.archive.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", printable(c.Name), err)
	}
	return nil
}

// Close removes the scratch file. It may be called on nil, and more than once.
func (c *Container) Close() error {
	if c == nil || c.scratch == nil {
		return nil
	}
	s := c.scratch
	c.scratch = nil
	return s.Discard()
}
