package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Validate implements lcm.Infra: it assembles the stack as far as that is possible before the grant, and looks at the
// connection. The VIM is not asked.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	if r.Type == sol.LcmOperationTerminate {
		return nil
	}
	var bad []lcm.InvalidParam
	if key, v, ok := lcm.PrimaryVim(r.Instance.VimConnections); ok {
		_, bad = d.connection(key, v)
	}
	if at, ok := flavourMember[r.Type]; ok {
		bad = append(bad, images(r.Flavour, at)...)
	}
	if r.Type != sol.LcmOperationModifyInfo && r.Type != sol.LcmOperationOperate {
		more, err := d.assembles(r)
		if err != nil {
			return err
		}
		bad = append(bad, more...)
	}
	more, err := d.badChange(r)
	if err != nil {
		return err
	}
	return lcm.Unprocessable(append(bad, more...)...)
}

// badChange finds what is wrong with a request beside the stack that it leads to.
func (d *Driver) badChange(r lcm.Request) ([]lcm.InvalidParam, error) {
	switch r.Type {
	case sol.LcmOperationChangeExtConn:
		return d.badConnectivity(r)
	case sol.LcmOperationChangeVnfpkg:
		return d.badPackage(r)
	default:
		return nil, nil
	}
}

// assembles says what keeps the stack of a request from being assembled.
func (d *Driver) assembles(r lcm.Request) ([]lcm.InvalidParam, error) {
	g, err := d.goalOf(planned(r))
	if err == nil {
		_, err = d.build(g)
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok && len(e.Params) > 0 {
		if e.Params, err = asGiven(g.ext, r.Params, e.Params); err != nil {
			return nil, err
		}
		// A level that there is not is reported by the domain.
		return slices.DeleteFunc(e.Params, func(p lcm.InvalidParam) bool { return p.Pointer == "/instantiationLevelId" }), nil
	}
	return nil, err
}

// planned is the work that a request would be, before it has an operation.
func planned(r lcm.Request) *lcm.Work {
	return &lcm.Work{
		Op: &lcm.Operation{
			Type: r.Type, State: sol.LcmOperationStateProcessing, InstanceID: r.Instance.ID, Params: r.Params, Scope: r.Scope, Before: r.Instance,
		},
		Instance: r.Instance, VNFD: r.VNFD, Flavour: r.Flavour, Package: r.Package, Former: r.Former,
	}
}

// images checks that an image name stands for one file only, because images are found again by name.
func images(f *vnfd.Flavour, at string) []lcm.InvalidParam {
	files := map[string]string{}
	var bad []lcm.InvalidParam
	for _, n := range packaged(f) {
		if other, ok := files[n.image.Name]; ok && other != n.image.File {
			bad = append(bad, lcm.InvalidParam{Pointer: at, Detail: fmt.Sprintf(
				"the package cannot be used with this flavour: the software image %q stands for %s and for %s", n.image.Name, other, n.image.File,
			)})
		}
		files[n.image.Name] = n.image.File
	}
	return bad
}

// imageNode is a node of the VNFD whose image is in the package.
type imageNode struct {
	node  string
	image *vnfd.SwImage
}

// packaged lists the images that have to be uploaded, in the order of the VNFD.
func packaged(f *vnfd.Flavour) []imageNode {
	var out []imageNode
	for _, v := range f.VDUs {
		if v.Image != nil && v.Image.File != "" {
			out = append(out, imageNode{v.Name, v.Image})
		}
	}
	for _, s := range f.Storages {
		if s.Image != nil && s.Image.File != "" {
			out = append(out, imageNode{s.Name, s.Image})
		}
	}
	return out
}
