package stack

import (
	"context"
	"errors"
	"os"

	"github.com/gybe-nfv/gybe/pkg/csar"
)

// BuildPackage builds the archive of a package's source tree.
func BuildPackage(ctx context.Context, source, archive string) (err error) {
	root, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = csar.Build(ctx, root, f, csar.DefaultLimits())
	return err
}
