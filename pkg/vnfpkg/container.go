package vnfpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/csar"
)

// containedArchive is the file beside the extracted files of a package that holds the archive of its container, if the
// archive is compressed there. So only the onboarding unpacks it, and not each request. No file of a package has this
// name: a backslash is not allowed.
const containedArchive = `.container\archive`

// scratch returns the archive that was unpacked from a container before, or unpacks it to a temporary file of the
// content store, which keeps some disk space free and removes the files of nodes that died.
func (s *Services) scratch(d content.Digest) csar.Scratch {
	return func(ctx context.Context, r io.Reader) (csar.ScratchFile, error) {
		tree, err := s.content.Tree(d)
		if err != nil {
			return s.content.Stage(ctx, r, 0)
		}
		f, err := tree.Root().Open(containedArchive)
		if err := errors.Join(err, tree.Close()); err != nil {
			return s.content.Stage(ctx, r, 0)
		}
		info, err := f.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open unpacked archive: %w", err), f.Close())
		}
		return keptFile{f, info.Size()}, nil
	}
}

// keptFile is an archive that stays when it is closed.
type keptFile struct {
	*os.File
	size int64
}

// Bytes implements csar.ScratchFile.
func (f keptFile) Bytes() int64 { return f.size }

// Discard implements csar.ScratchFile.
func (f keptFile) Discard() error { return f.Close() }

// keepArchive writes the archive that was unpacked from a container beside the extracted files.
func (s *Services) keepArchive(ctx context.Context, dst *os.Root, c *csar.Container) error {
	if !c.Unpacked() {
		return nil
	}
	if err := s.content.CheckSpace(c.Bytes()); err != nil {
		return err
	}
	f, err := dst.OpenFile(containedArchive, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return fmt.Errorf("keep unpacked archive: %w", err)
	}
	return errors.Join(c.Copy(ctx, f), f.Close())
}

// scratchFile is a temporary file of a command.
type scratchFile struct {
	*os.File
	size int64
}

// Bytes implements csar.ScratchFile.
func (f scratchFile) Bytes() int64 { return f.size }

// Discard implements csar.ScratchFile.
func (f scratchFile) Discard() error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// scratchInTemp unpacks to the directory for temporary files.
func scratchInTemp(_ context.Context, r io.Reader) (csar.ScratchFile, error) {
	f, err := os.CreateTemp("", "gybe-package-")
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, r)
	s := scratchFile{f, n}
	if err != nil {
		return nil, errors.Join(err, s.Discard())
	}
	return s, nil
}
