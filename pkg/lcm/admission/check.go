package admission

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// askDrivers lets the infra driver and the mgmt drivers of the operation's hooks check the request.
func (s *Service) askDrivers(ctx context.Context, a *lcm.Admission) ([]lcm.InvalidParam, error) {
	kind := a.Task.Kind
	if kind.Unchecked {
		return nil, nil
	}
	r, err := s.request(a)
	if err != nil {
		return nil, err
	}
	var bad []lcm.InvalidParam
	if kind.VIM {
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
	drivers, err := s.mgmtDrivers(kind, r)
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

// request is the admission as drivers see it, with the infra driver's answers about its templates.
func (s *Service) request(a *lcm.Admission) (lcm.Request, error) {
	r, err := a.Request()
	if err != nil || r.Flavour == nil {
		return r, err
	}
	infra, err := s.infra(r.Instance)
	if err != nil {
		return r, nil //nolint:nilerr // reported where the driver is needed
	}
	if reader, ok := infra.(lcm.TemplateReader); ok {
		r.Templates = reader.Templates(r)
	}
	return r, nil
}

// mgmtDrivers are the mgmt drivers of the hooks of a request's operation, each once. A new revision concerns all drivers of the present one,
// also those without a hook there: what they have built might not survive it.
func (s *Service) mgmtDrivers(kind *lcm.OperationKind, r lcm.Request) ([]lcm.MgmtDriver, error) {
	var impls []vnfd.Implementation
	for _, hook := range kind.Hooks() {
		if impl, ok := lcm.FindHook(s.Mgmt, r.Flavour, hook); ok {
			impls = append(impls, impl)
		}
	}
	if kind.NewRevision && r.Former != nil && r.Former.Flavour != nil {
		for _, hook := range slices.Sorted(maps.Keys(r.Former.Flavour.LCM)) {
			impls = append(impls, r.Former.Flavour.LCM[hook])
		}
	}
	var out []lcm.MgmtDriver
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

// infra finds the driver of the instance's VIM.
func (s *Service) infra(i *lcm.Instance) (lcm.Infra, error) {
	key, vim, ok := lcm.PrimaryVim(i.VimConnections)
	if !ok {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "no VIM connection is given and no default VIM is registered").
			WithHint("put vimConnectionInfo into the request, or register a default VIM")
	}
	infra, ok := s.Infras.Infra(vim.VimType)
	if !ok {
		return nil, lcm.Unprocessable(lcm.InvalidParam{Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + "/vimType", Detail: lcm.UnsupportedVim(vim.VimType)})
	}
	return infra, nil
}

// makeKey gives an instance the key pair that its mgmt drivers need. It is stored with the admission of the instantiation, so there is none
// without the operation and none twice, and it is valid until the instance is terminated.
func (s *Service) makeKey(a *lcm.Admission) error {
	if !a.Task.Kind.Instantiates() || a.Instance.SSHKey != nil {
		return nil
	}
	r, err := s.request(a)
	if err != nil {
		return err
	}
	drivers, err := s.mgmtDrivers(a.Task.Kind, r)
	if err != nil {
		return err
	}
	for _, driver := range drivers {
		maker, ok := driver.(lcm.KeyMaker)
		if !ok {
			continue
		}
		if a.Instance.SSHKey, err = maker.NewKey(r); err != nil || a.Instance.SSHKey != nil {
			return err
		}
	}
	return nil
}

// takeParams takes the invalid params out of a validation error; any other error is returned.
func takeParams(bad *[]lcm.InvalidParam, err error) error {
	e, ok := errors.AsType[*lcm.Error](err)
	if !ok || len(e.Params) == 0 {
		return err
	}
	*bad = append(*bad, e.Params...)
	return nil
}
