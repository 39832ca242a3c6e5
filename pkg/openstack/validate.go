package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Validate implements lcm.Infra: it assembles the stack as far as that is possible before the grant, and looks at the
// connection. The VIM is not asked.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	if r.Type == sol.LcmOperationTerminate {
		return nil
	}
	var bad []lcm.InvalidParam
	if key, v, ok := lcm.PrimaryVim(r.Instance.VimConnections); ok {
		bad = append(d.vims.Validate(key, v), badSelection(r, key)...)
	}
	if at, ok := flavourMember[r.Type]; ok {
		bad = append(bad, images.Ambiguous(r.Flavour, at)...)
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

// badSelection rejects VDUs with a connection of their own: one Heat stack holds all VDUs.
func badSelection(r lcm.Request, primary string) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	if r.Flavour == nil {
		return nil
	}
	for _, vdu := range r.Flavour.VDUs {
		key, _, _ := lcm.VimOf(r.Instance.VimConnections, vdu.Name)
		if key != primary {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + "/extra/" + lcm.ExtraVDUs,
				Detail: fmt.Sprintf("the VDU %s cannot use another connection than %s: all VDUs are in one Heat stack",
					vdu.Name, primary),
			})
		}
	}
	return bad
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
	g, err := d.desiredOf(planned(r))
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
func planned(r lcm.Request) *lcm.Execution {
	return &lcm.Execution{
		Op: &lcm.Operation{
			Type: r.Type, State: sol.LcmOperationStateProcessing, InstanceID: r.Instance.ID, Params: r.Params, Scope: r.Scope, Before: r.Instance,
		},
		Instance: r.Instance, VNFD: r.VNFD, Flavour: r.Flavour, Package: r.Package, Previous: r.Previous,
	}
}
