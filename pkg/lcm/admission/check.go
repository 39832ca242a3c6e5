package admission

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
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
	if kind.VIM && !s.grantBringsVim(kind, r.Instance) {
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
	r.Templates = infra.Templates(r)
	return r, nil
}

// boundHook is a hook of an operation with the mgmt driver that handles it.
type boundHook struct {
	name    string // of the driver in the VNFD
	driver  lcm.MgmtDriver
	handler lcm.HookHandler
}

// hooks returns the hooks at which a request's operation calls mgmt drivers. The error is about a hook without a driver
// that handles it.
func (s *Service) hooks(kind *lcm.OperationKind, r lcm.Request) (out []boundHook, failure error) {
	start, end := kind.Hooks()
	for _, hook := range []lcm.Hook{start, end} {
		impl, ok := lcm.FindHook(s.Mgmt, r.Flavour, hook)
		if !ok {
			continue
		}
		driver, handler, err := lcm.FindHandler(s.Mgmt, impl, hook)
		if err != nil {
			failure = cmp.Or(failure, err)
			continue
		}
		out = append(out, boundHook{impl.Name, driver, handler})
	}
	return out, failure
}

// mgmtDrivers are the mgmt drivers of the hooks of a request's operation, each once. A new revision concerns all
// drivers of the present one, also those without a hook there: what they have built might not survive it.
func (s *Service) mgmtDrivers(kind *lcm.OperationKind, r lcm.Request) ([]lcm.MgmtDriver, error) {
	var out []lcm.MgmtDriver
	found := map[string]bool{}
	add := func(name string, driver lcm.MgmtDriver) {
		if !found[name] {
			found[name] = true
			out = append(out, driver)
		}
	}

	hooks, err := s.hooks(kind, r)
	if err != nil {
		return nil, err
	}
	for _, h := range hooks {
		add(h.name, h.driver)
	}
	if !kind.NewRevision || r.Previous == nil || r.Previous.Flavour == nil {
		return out, nil
	}

	for _, hook := range slices.Sorted(maps.Keys(r.Previous.Flavour.LCM)) {
		impl := r.Previous.Flavour.LCM[hook]
		if found[impl.Name] {
			continue
		}
		driver, err := s.Mgmt.Driver(impl)
		if err != nil {
			return nil, err
		}
		add(impl.Name, driver)
	}
	return out, nil
}

// findReplacements completes the scope of an operation: with the VNFCs whose machines one that leads to another
// revision may replace, and with how a HEAL makes their disks.
func (s *Service) findReplacements(a *lcm.Admission) error {
	heals := a.Task.Kind.Type == sol.LcmOperationHeal
	if a.Scope == nil || !heals && !a.Task.Kind.NewRevision {
		return nil
	}
	r, err := s.request(a)
	if err != nil {
		return err
	}
	if heals {
		hooks, err := s.hooks(a.Task.Kind, r)
		a.Scope.Fresh = slices.ContainsFunc(hooks, func(h boundHook) bool { return h.handler.Installs })
		return err
	}
	infra, err := s.infra(r.Instance)
	if err != nil {
		return err
	}
	a.Scope.Replace, err = infra.Replaces(r)
	return err
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
		return nil, lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + "/vimType", Detail: lcm.UnsupportedVim(vim.VimType),
		})
	}
	return infra, nil
}

// grantBringsVim says whether the VIM of an operation is not known before the grant: the NFVO selects it.
func (s *Service) grantBringsVim(kind *lcm.OperationKind, i *lcm.Instance) bool {
	_, _, known := lcm.PrimaryVim(i.VimConnections)
	return s.NFVO != "" && kind.Instantiates() && !known
}

// makeKey gives an instance the key pair that its mgmt drivers need. It is stored with the admission of the
// instantiation, so there is none without the operation and none twice, and it is valid until the instance is
// terminated.
func (s *Service) makeKey(a *lcm.Admission) error {
	if !a.Task.Kind.Instantiates() || a.Instance.SSHKey != nil {
		return nil
	}
	r, err := s.request(a)
	if err != nil {
		return err
	}
	hooks, err := s.hooks(a.Task.Kind, r)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if h.handler.NewKey == nil {
			continue
		}
		if a.Instance.SSHKey, err = h.handler.NewKey(r); err != nil || a.Instance.SSHKey != nil {
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
