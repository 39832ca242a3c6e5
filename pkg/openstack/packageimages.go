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

// images is the instance's images in this tick.
func (j *job) images() *images.Store {
	return &images.Store{Cloud: j.cloud, Work: j.w, Uploads: j.uploads, NodeAlive: j.cfg.NodeAlive}
}

// provideImages uploads the images of the package that the grant does not name, and puts their ids into the grant.
func (j *job) provideImages(ctx context.Context) error {
	return j.images().Provide(ctx, images.Packaged(j.w.Flavour))
}

// changedImages are the images of the new package that its VNFCs get: those of the VDUs that are changed or new, and of their storages.
func changedImages(w *lcm.Work, p coordination.Params) []images.Node {
	after, before := origins(w)
	return slices.DeleteFunc(images.Packaged(after.Flavour), func(n images.Node) bool {
		if p.Targeted(after.Flavour, n.Name) {
			return false
		}
		return slices.ContainsFunc(before.Flavour.VDUs, func(v vnfd.VDU) bool { return v.Name == n.Name || slices.Contains(v.Storages, n.Name) })
	})
}

// findImages puts the images into the grant of a preview that the instance has already.
func (j *job) findImages(ctx context.Context) error {
	var nodes []images.Node
	switch j.w.Op.Type {
	case sol.LcmOperationChangeVnfpkg:
		p, err := coordination.ParamsOf(j.w.Op.Params)
		if err != nil {
			return err
		}
		nodes = changedImages(j.w, p)
	case sol.LcmOperationChangeFlavour:
		nodes = images.Packaged(j.w.Flavour)
	default: // VNFCs that are there keep theirs
	}
	return j.images().FindGranted(ctx, nodes)
}
