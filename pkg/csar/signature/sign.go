package signature

import (
	"context"
	"crypto"
	"fmt"
	"io"
	"time"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/csar"
)

// SignManifest writes a copy of a package to w that is signed with option 1. metadata are the lines of the metadata
// block of a manifest that has to be created. artifacts also signs the files that the metadata list.
func SignManifest(
	ctx context.Context, a *csar.Archive, w io.Writer, id cms.Identity, at time.Time, metadata []string, artifacts bool,
) error {
	return a.Sign(ctx, w, csar.Signing{
		Metadata: metadata, Hash: id.Hash(), Artifacts: artifacts,
		Sign: func(digest []byte) ([]byte, error) {
			return cms.Sign(func(crypto.Hash) ([]byte, error) { return digest, nil }, at, id)
		},
	})
}

// SignArchive writes a container to w: the archive as it is, with its signature and the signer's certificate (option
// 2). name is that of its files, without extension.
func SignArchive(
	ctx context.Context, archive io.ReadSeeker, w io.Writer, id cms.Identity, at time.Time, name string,
) error {
	message, err := cms.Sign(func(h crypto.Hash) ([]byte, error) {
		sum := h.New()
		if _, err := io.Copy(sum, archive); err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		_, err := archive.Seek(0, io.SeekStart)
		return sum.Sum(nil), err
	}, at, id)
	if err != nil {
		return err
	}
	return csar.PackContainer(ctx, w, name, archive, message, encodeCertificate(id.Certificate))
}
