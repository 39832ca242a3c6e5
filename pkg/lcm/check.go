package lcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// badLinks checks that the external and the externally managed links of a request name things of the flavour.
func badLinks(f *vnfd.Flavour, ext []sol.ExtVirtualLinkData, managed []sol.ExtManagedVirtualLinkData) []InvalidParam {
	var bad []InvalidParam
	for n, vl := range ext {
		for m, cp := range vl.ExtCps {
			if f.CP(cp.CpdID) == nil {
				bad = append(bad, InvalidParam{fmt.Sprintf("/extVirtualLinks/%d/extCps/%d/cpdId", n, m), fmt.Sprintf("flavour %s has no connection point %q", f.ID, cp.CpdID)})
			}
		}
	}
	for n, vl := range managed {
		if !slices.ContainsFunc(f.VLs, func(v vnfd.VL) bool { return v.Name == vl.VnfVirtualLinkDescID }) {
			bad = append(bad, InvalidParam{fmt.Sprintf("/extManagedVirtualLinks/%d/vnfVirtualLinkDescId", n), fmt.Sprintf("flavour %s has no virtual link %q", f.ID, vl.VnfVirtualLinkDescID)})
		}
	}
	return bad
}

// request is the draft as drivers see it.
func (d *draft) request() (Request, error) {
	own, err := decodeParams(d.raw)
	if err != nil {
		return Request{}, err
	}
	to := d.target()
	r := Request{
		Type: d.kind, Instance: d.instance, VNFD: to.VNFD, Flavour: to.Flavour, Package: to.Package,
		Params: d.raw, AdditionalParams: mergePairs(d.instance.Params, own), Scope: d.scope,
	}
	if d.next != nil {
		r.Former = &d.present
	}
	return r, nil
}

// askDrivers lets the infra driver and the mgmt drivers of the operation's hooks check the request. Nobody is asked whether something may be
// terminated, and the VIM has nothing to do with MODIFY_INFO.
func (s *Service) askDrivers(ctx context.Context, d *draft) ([]InvalidParam, error) {
	if d.kind == sol.LcmOperationTerminate {
		return nil, nil
	}
	r, err := d.request()
	if err != nil {
		return nil, err
	}
	var bad []InvalidParam
	if d.kind != sol.LcmOperationModifyInfo {
		infra, err := s.infra(r.Instance)
		if err != nil {
			return nil, err
		}
		if err := takeParams(&bad, infra.Validate(ctx, r)); err != nil {
			return nil, err
		}
	}
	if r.Flavour == nil {
		return bad, nil
	}
	drivers, err := s.mgmtDrivers(r)
	if err != nil {
		return nil, err
	}
	for _, driver := range drivers {
		if err := takeParams(&bad, driver.Validate(ctx, r)); err != nil {
			return nil, err
		}
	}
	return bad, nil
}

// mgmtDrivers are the mgmt drivers of the hooks of a request's operation, each once. Another flavour or package concerns all that work for the
// present one, also those without a hook there: what they have built might not outlive it.
func (s *Service) mgmtDrivers(r Request) ([]MgmtDriver, error) {
	var impls []vnfd.Implementation
	for _, hook := range []string{hooks[r.Type] + "_start", hooks[r.Type] + "_end"} {
		if impl, ok := implementation(s.Mgmt, r.Flavour, hook); ok {
			impls = append(impls, impl)
		}
	}
	if (r.Type == sol.LcmOperationChangeFlavour || r.Type == sol.LcmOperationChangeVnfpkg) && r.Former != nil && r.Former.Flavour != nil {
		for _, hook := range slices.Sorted(maps.Keys(r.Former.Flavour.LCM)) {
			impls = append(impls, r.Former.Flavour.LCM[hook])
		}
	}
	var out []MgmtDriver
	found := map[string]bool{}
	for _, impl := range impls {
		if found[impl.Name] {
			continue
		}
		found[impl.Name] = true
		driver, err := s.Mgmt.Driver(impl)
		if err != nil {
			return nil, err
		}
		out = append(out, driver)
	}
	return out, nil
}

// badVimType says what requests for another interface, which has it as "openstack", have to say here.
const badVimType = "vimType %q is not supported; that of OpenStack is ETSINFV.OPENSTACK_KEYSTONE.V_3"

// infra finds the driver of the instance's VIM.
func (s *Service) infra(i *Instance) (Infra, error) {
	key, vim, ok := PrimaryVim(i.VimConnections)
	if !ok {
		return nil, Errorf(CodeUnprocessable, "no VIM connection is given and no default VIM is registered").
			WithHint("put vimConnectionInfo into the request, or register a default VIM")
	}
	infra, ok := s.Infras.Infra(vim.VimType)
	if !ok {
		return nil, Unprocessable(InvalidParam{"/vimConnectionInfo/" + Escape(key) + "/vimType", fmt.Sprintf(badVimType, vim.VimType)})
	}
	return infra, nil
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

// mergeConnections puts a request's VIM connections over those of the instance (RFC 7396). A connection of the registry replaces the whole one
// of the same key.
func mergeConnections(have, given map[string]sol.VimConnectionInfo) (map[string]sol.VimConnectionInfo, error) {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]sol.VimConnectionInfo{}
	}
	for key, c := range given {
		old, ok := have[key]
		c.VimType = cmp.Or(c.VimType, old.VimType) // a merge patch names only what changes
		if c.VimType == "" {
			return nil, Unprocessable(InvalidParam{"/vimConnectionInfo/" + Escape(key) + "/vimType", "is needed for a new connection"})
		}
		if !ok || c.VimID != "" {
			out[key] = c
			continue
		}
		merged, err := mergeTyped(old, c)
		if err != nil {
			return nil, err
		}
		out[key] = merged
	}
	return out, nil
}

// takeParams takes the invalid params out of a validation error; any other error is returned.
func takeParams(bad *[]InvalidParam, err error) error {
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
