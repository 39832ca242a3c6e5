package openstack

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/coordination"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// images is the instance's images in the VIM of the part, in this tick.
func (t *tick) images() *images.Store {
	return &images.Store{
		Cloud: t.cloud, Execution: t.part.whole, Vim: t.part.vim, Uploads: t.uploads, NodeAlive: t.cfg.NodeAlive,
	}
}

// provideImages uploads the images of the package that the grant does not name, and puts their ids into the grant.
func (t *tick) provideImages(ctx context.Context) error {
	return t.images().Provide(ctx, images.Packaged(t.w.Flavour))
}

// changedImages are the images of the new package that its VNFCs get: those of the VDUs that are changed or new, and of
// their storages.
func changedImages(w *lcm.Execution, p coordination.Params) []images.Node {
	after, before := origins(w)
	return slices.DeleteFunc(images.Packaged(after.Flavour), func(n images.Node) bool {
		if p.Targeted(after.Flavour, n.Name) {
			return false
		}
		return slices.ContainsFunc(before.Flavour.VDUs, func(v vnfd.VDU) bool {
			return v.Name == n.Name || slices.Contains(v.Storages, n.Name)
		})
	})
}

// findImages puts the images into the grant of a preview that the instance has already.
func (t *tick) findImages(ctx context.Context) error {
	var nodes []images.Node
	switch t.w.Op.Type {
	case sol.LcmOperationChangeVnfpkg:
		p, err := coordination.ParamsOf(t.w.Op.Params)
		if err != nil {
			return err
		}
		nodes = changedImages(t.w, p)
	case sol.LcmOperationChangeFlavour:
		nodes = images.Packaged(t.w.Flavour)
	case sol.LcmOperationHeal:
		nodes = outdatedImages(t.w)
	default: // VNFCs that are there keep theirs
	}
	return t.images().FindGranted(ctx, nodes)
}
