package openstack

import (
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// changedImages are the images of the new package that its VNFCs get: those of the VDUs that are changed or new, and of their storages.
func changedImages(w *lcm.Work, p packageParams) []imageNode {
	after, before := origins(w)
	return slices.DeleteFunc(packaged(after.Flavour), func(n imageNode) bool {
		if p.targeted(after.Flavour, n.node) {
			return false
		}
		return slices.ContainsFunc(before.Flavour.VDUs, func(v vnfd.VDU) bool { return v.Name == n.node || slices.Contains(v.Storages, n.node) })
	})
}

// haveImages puts those of the package's images into the grant that the instance has already: with them nothing is uploaded, and its servers do not
// change because of it.
func (j *job) haveImages(ctx context.Context) error {
	var nodes []imageNode
	switch j.w.Op.Type {
	case sol.LcmOperationChangeVnfpkg:
		p, err := packageParamsOf(j.w.Op.Params)
		if err != nil {
			return err
		}
		nodes = changedImages(j.w, p)
	case sol.LcmOperationChangeFlavour:
		nodes = packaged(j.w.Flavour)
	default: // VNFCs that are there keep theirs
	}
	if len(nodes) == 0 {
		return nil
	}
	all, err := j.taggedImages(ctx)
	if err != nil {
		return err
	}
	granted := map[string]string{}
	for _, n := range nodes {
		if at := slices.IndexFunc(all, func(i image) bool { return i.Status == active && i.is(j.tagOf(n.image)) }); at >= 0 {
			granted[n.node] = all[at].ID
		}
	}
	j.w.Op.Grant = &lcm.Grant{Images: granted}
	return nil
}

// pruned deletes the images of the instance that neither the stack nor the package that holds now has a use for. That one cannot be deleted is no reason
// to fail: it goes with the instance.
func (j *job) pruned(ctx context.Context, holds *userdata.Stack) error {
	return j.w.Step(ctx, "delete images", "that are not used any more", func(ctx context.Context, s *lcm.Step) error {
		used, err := holds.Asked()
		if err != nil {
			return err
		}
		all, err := j.taggedImages(ctx)
		if err != nil {
			return err
		}
		var gone, kept []string
		for _, i := range all {
			if mentions(used, i.ID) || j.ofPackage(i) {
				continue
			}
			err := j.deleteImage(ctx, i.ID)
			switch {
			case conflict(err):
				kept = append(kept, i.Name+" ("+i.ID+")")
			case err != nil:
				return err
			default:
				gone = append(gone, i.Name+" ("+i.ID+")")
			}
		}
		detail := "none"
		if len(gone) > 0 {
			detail = strings.Join(gone, ", ")
		}
		if len(kept) > 0 {
			detail += "; still in use, and deleted with the instance: " + strings.Join(kept, ", ")
		}
		s.Detail(detail)
		return nil
	})
}

// ofPackage says whether an image is one of the package that holds.
func (j *job) ofPackage(i image) bool {
	return slices.ContainsFunc(packaged(j.w.Flavour), func(n imageNode) bool { return i.is(j.tagOf(n.image)) })
}

// mentions says whether a value has this text in it.
func mentions(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case map[string]any:
		for _, e := range v {
			if mentions(e, text) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, text) })
	}
	return false
}
