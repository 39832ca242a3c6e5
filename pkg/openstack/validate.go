package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Validate implements lcm.Infra: it assembles the stack as far as that is possible before the grant, and looks at the
// connection. The VIM is not asked.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	if r.Type != sol.LcmOperationInstantiate {
		return nil
	}
	var req sol.InstantiateVnfRequest
	if err := json.Unmarshal(r.Params, &req); err != nil {
		return lcm.Errorf(lcm.CodeInvalid, "the request cannot be decoded: %w", err)
	}
	var bad []lcm.InvalidParam
	if key, v, ok := lcm.PrimaryVim(r.Instance.VimConnections); ok {
		_, bad = parseConnection(key, v)
	}
	class, wrong := userdata.Select(req.AdditionalParams)
	bad = append(bad, wrong...)
	bad = append(bad, images(r.Flavour)...)
	counts, ok := r.Flavour.Counts(req.InstantiationLevelID)
	if len(wrong) > 0 || !ok { // the level is reported by the domain
		return lcm.Unprocessable(bad...)
	}
	b, err := d.templates.Load(r.Package, req.FlavourID)
	if err == nil {
		_, wrong, err = userdata.Assemble(userdata.Input{
			Class: class, Flavour: r.Flavour, Counts: counts, HOT: b, Ext: req.ExtVirtualLinks, Managed: req.ExtManagedVirtualLinks,
			Patches: []sol.KeyValuePairs{req.AdditionalParams},
		})
		bad = append(bad, wrong...)
	}
	if err != nil {
		e, ok := errors.AsType[*lcm.Error](packageFault(err))
		if !ok {
			return fmt.Errorf("read the package's templates: %w", err)
		}
		bad = append(bad, e.Params...)
	}
	return lcm.Unprocessable(bad...)
}

// images checks that an image name stands for one file only, because images are found again by name.
func images(f *vnfd.Flavour) []lcm.InvalidParam {
	files := map[string]string{}
	var bad []lcm.InvalidParam
	for _, n := range packaged(f) {
		if other, ok := files[n.image.Name]; ok && other != n.image.File {
			bad = append(bad, lcm.InvalidParam{Pointer: "/flavourId", Detail: fmt.Sprintf(
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
