package lcm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// checkInstantiate finds everything in the request that cannot work, and reports all of it at once.
func (s *Service) checkInstantiate(ctx context.Context, i *Instance, req sol.InstantiateVnfRequest, raw json.RawMessage, conns map[string]sol.VimConnectionInfo) error {
	model, err := s.Packages.ModelOf(ctx, i.VnfPkgID)
	if err != nil {
		return err
	}
	f := model.Flavour(req.FlavourID)
	if f == nil {
		ids := make([]string, 0, len(model.Flavours))
		for _, f := range model.Flavours {
			ids = append(ids, f.ID)
		}
		return Unprocessable(InvalidParam{"/flavourId", fmt.Sprintf("the VNFD has no flavour %q; it has %s", req.FlavourID, strings.Join(ids, ", "))})
	}
	bad := checkFlavour(f, req)
	files, err := s.Packages.Files(ctx, i.VnfPkgID)
	if err != nil {
		return err
	}
	params, err := decodeParams(raw)
	if err != nil {
		return err
	}
	with := *i
	with.VimConnections = conns
	r := Request{
		Type: sol.LcmOperationInstantiate, Instance: &with, VNFD: model, Flavour: f,
		Package: files, Params: raw, AdditionalParams: params,
	}
	more, err := s.askDrivers(ctx, r, "instantiate")
	if err != nil {
		return err
	}
	return Unprocessable(append(bad, more...)...)
}

// checkFlavour checks the parts of the request that name things of the flavour.
func checkFlavour(f *vnfd.Flavour, req sol.InstantiateVnfRequest) []InvalidParam {
	var bad []InvalidParam
	if _, ok := f.Counts(req.InstantiationLevelID); !ok {
		bad = append(bad, InvalidParam{"/instantiationLevelId", fmt.Sprintf("flavour %s has no instantiation level %q", f.ID, req.InstantiationLevelID)})
	}
	for n, vl := range req.ExtVirtualLinks {
		for m, cp := range vl.ExtCps {
			if f.CP(cp.CpdID) == nil {
				bad = append(bad, InvalidParam{fmt.Sprintf("/extVirtualLinks/%d/extCps/%d/cpdId", n, m), fmt.Sprintf("flavour %s has no connection point %q", f.ID, cp.CpdID)})
			}
		}
	}
	for n, vl := range req.ExtManagedVirtualLinks {
		if !slices.ContainsFunc(f.VLs, func(v vnfd.VL) bool { return v.Name == vl.VnfVirtualLinkDescID }) {
			bad = append(bad, InvalidParam{fmt.Sprintf("/extManagedVirtualLinks/%d/vnfVirtualLinkDescId", n), fmt.Sprintf("flavour %s has no virtual link %q", f.ID, vl.VnfVirtualLinkDescID)})
		}
	}
	return bad
}

// askDrivers lets the infra driver and the mgmt drivers of the operation's hooks check the request.
func (s *Service) askDrivers(ctx context.Context, r Request, op string) ([]InvalidParam, error) {
	key, vim, ok := PrimaryVim(r.Instance.VimConnections)
	if !ok {
		return nil, Errorf(CodeUnprocessable, "no VIM connection is given and no default VIM is registered").
			WithHint("put vimConnectionInfo into the request, or register a default VIM")
	}
	infra, ok := s.Infras.Infra(vim.VimType)
	if !ok {
		return nil, Unprocessable(InvalidParam{"/vimConnectionInfo/" + Escape(key) + "/vimType", fmt.Sprintf("vimType %q is not supported", vim.VimType)})
	}
	var bad []InvalidParam
	if err := gather(&bad, infra.Validate(ctx, r)); err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, hook := range []string{op + "_start", op + "_end"} {
		impl, ok := r.Flavour.LCM[hook]
		if !ok || asked[impl.Name] {
			continue
		}
		asked[impl.Name] = true
		d, err := s.Mgmt.Driver(impl)
		if err != nil {
			return nil, err
		}
		if err := gather(&bad, d.Validate(ctx, r)); err != nil {
			return nil, err
		}
	}
	return bad, nil
}

// connections completes the request's VIM connections from the registry: an entry that only names a
// registered vimId, and the default VIM when none is given.
func (s *Service) connections(ctx context.Context, given map[string]sol.VimConnectionInfo) (map[string]sol.VimConnectionInfo, error) {
	if len(given) == 0 {
		vims, err := s.Store.Vims(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range vims {
			if v.Default {
				return map[string]sol.VimConnectionInfo{"default": v.Connection}, nil
			}
		}
		return nil, nil
	}
	out := maps.Clone(given)
	for k, c := range given {
		if c.VimID == "" || len(c.AccessInfo) > 0 && len(c.InterfaceInfo) > 0 {
			continue
		}
		v, err := s.Store.Vim(ctx, c.VimID)
		if err != nil {
			e := pointAt(err, "/vimConnectionInfo/"+Escape(k)+"/vimId")
			return nil, e
		}
		out[k] = v.Connection
	}
	return out, nil
}

// gather takes the invalid params out of a validation error; any other error is returned.
func gather(bad *[]InvalidParam, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Params) == 0 {
		return err
	}
	*bad = append(*bad, e.Params...)
	return nil
}

// Unprocessable makes the error of a request whose members are wrong; nil when none is.
func Unprocessable(bad ...InvalidParam) error {
	if len(bad) == 0 {
		return nil
	}
	slices.SortStableFunc(bad, func(a, b InvalidParam) int { return strings.Compare(a.Pointer, b.Pointer) })
	details := make([]string, len(bad))
	for i, b := range bad {
		details[i] = cmp.Or(b.Pointer, "the body") + ": " + b.Detail
	}
	return &Error{Code: CodeUnprocessable, Title: "Invalid parameters", Detail: strings.Join(details, "; "), Params: bad}
}

// Escape makes a member name fit for a JSON pointer (RFC 6901).
func Escape(member string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(member)
}
