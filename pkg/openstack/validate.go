package openstack

import (
	"context"
	"errors"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Validate implements lcm.Infra: it assembles the stacks as far as that is possible before the grant, and looks at the
// connections. The VIM is not asked.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	if r.Type == sol.LcmOperationTerminate {
		return nil
	}
	var bad []lcm.InvalidParam
	w := planned(r)
	parts := partsOf(w)
	for _, s := range parts {
		bad = append(bad, d.vims.Validate(s.key, r.Instance.VimConnections[s.key])...)
	}
	if len(parts) == 0 { // the domain reports it
		parts = []part{{w: w, whole: w}}
	}
	if at, ok := flavourMember[r.Type]; ok {
		bad = append(bad, images.Ambiguous(r.Flavour, at)...)
	}
	divided, err := d.badParts(r, parts)
	if err != nil {
		return err
	}
	if len(divided) > 0 {
		return lcm.Unprocessable(append(bad, divided...)...)
	}
	for n := range parts {
		more, err := d.badAt(r, &parts[n])
		if err != nil {
			return err
		}
		for _, p := range more {
			if !slices.Contains(bad, p) {
				bad = append(bad, p)
			}
		}
	}
	if r.Type == sol.LcmOperationChangeVnfpkg {
		more, err := d.badPackage(r)
		if err != nil {
			return err
		}
		bad = append(bad, more...)
	}
	return lcm.Unprocessable(bad...)
}

// badAt finds what is wrong with a request in one part of the instance.
func (d *Driver) badAt(r lcm.Request, s *part) ([]lcm.InvalidParam, error) {
	if r.Type == sol.LcmOperationModifyInfo || r.Type == sol.LcmOperationOperate || s.ends() {
		return nil, nil
	}
	if r.Type == sol.LcmOperationCreateSnapshot {
		return nil, d.requireRevertible(s)
	}
	bad, err := d.assembles(r, s)
	if err != nil || r.Type != sol.LcmOperationChangeExtConn {
		return bad, err
	}
	more, err := d.badConnectivity(r, s)
	return append(bad, more...), err
}

// assembles says what keeps the stack of a part from being assembled.
func (d *Driver) assembles(r lcm.Request, s *part) ([]lcm.InvalidParam, error) {
	g, err := d.desiredAt(s)
	if err == nil && g.own != nil {
		return d.badClass(r, s, g), nil
	}
	if err == nil {
		_, err = d.build(g)
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok && len(e.Params) > 0 {
		if e.Params, err = asGiven(g.ext, r.Params, e.Params); err != nil {
			return nil, err
		}
		// A level that there is not is reported by the domain.
		return slices.DeleteFunc(e.Params, func(p lcm.InvalidParam) bool {
			return p.Pointer == "/instantiationLevelId"
		}), nil
	}
	return nil, err
}

// planned is the work that a request would be, before it has an operation.
func planned(r lcm.Request) *lcm.Execution {
	return &lcm.Execution{
		Op: &lcm.Operation{
			Type: r.Type, State: sol.LcmOperationStateProcessing, InstanceID: r.Instance.ID, Params: r.Params,
			Scope: r.Scope, Before: r.Instance,
		},
		Instance: r.Instance, VNFD: r.VNFD, Flavour: r.Flavour, Package: r.Package, Previous: r.Previous,
	}
}
