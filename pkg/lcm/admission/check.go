package admission

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// askDrivers lets the infra driver and the mgmt drivers of the operation's hooks check the request. It returns what
// they reject in it, and the mgmt drivers that do not exist.
func (s *Service) askDrivers(
	ctx context.Context, a *lcm.Admission,
) (bad []lcm.InvalidParam, missing []*lcm.Error, err error) {
	kind := a.Task.Kind
	if kind.Unchecked {
		return nil, nil, nil
	}
	r, err := s.request(a)
	if err != nil {
		return nil, nil, err
	}
	if kind.VIM && !s.grantBringsVim(kind, r.Instance) {
		infra, err := s.infra(r.Instance)
		if err != nil {
			return nil, nil, err
		}
		if err := takeParams(&bad, infra.Validate(ctx, r)); err != nil {
			return nil, nil, err
		}
	}
	if r.Flavour == nil {
		return bad, nil, nil
	}
	drivers, missing := s.mgmtDrivers(kind, r)
	for _, driver := range drivers {
		if err := takeParams(&bad, driver.Validate(ctx, r)); err != nil {
			return nil, nil, err
		}
	}
	return bad, missing, nil
}

// missing returns the mgmt drivers that a request's operation would call and that do not exist, as far as the request
// says what would be done.
func (s *Service) missing(a *lcm.Admission) []*lcm.Error {
	f := a.Target().Flavour
	if f == nil || a.Task.Kind.Unchecked {
		return nil
	}
	_, missing := s.hooks(a.Task.Kind, lcm.Request{Flavour: f})
	return missing
}

// rejected is the error of a request with these invalid params for whose operation mgmt drivers are missing; nil when
// there is neither.
func rejected(bad []lcm.InvalidParam, missing []*lcm.Error) error {
	if len(missing) == 0 {
		return lcm.Unprocessable(bad...)
	}
	if len(bad) == 0 && len(missing) == 1 {
		return missing[0]
	}
	for _, e := range missing {
		bad = append(bad, lcm.InvalidParam{Detail: e.Detail})
	}
	return lcm.AsError(lcm.Unprocessable(bad...)).WithHint(missing[0].Hint)
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

// hooks returns the hooks at which a request's operation calls mgmt drivers. missing has an error for each driver that
// does not exist, or does not handle its hook.
func (s *Service) hooks(kind *lcm.OperationKind, r lcm.Request) (out []boundHook, missing []*lcm.Error) {
	start, end := kind.Hooks()
	for _, hook := range []lcm.Hook{start, end} {
		impl, ok := lcm.FindHook(s.Mgmt, r.Flavour, hook)
		if !ok {
			continue
		}
		driver, handler, err := lcm.FindHandler(s.Mgmt, impl, hook)
		if err != nil {
			missing = addMissing(missing, err)
			continue
		}
		out = append(out, boundHook{impl.Name, driver, handler})
	}
	return out, missing
}

// addMissing adds an error about a mgmt driver; the start and the end of an operation often name the same one.
func addMissing(missing []*lcm.Error, err error) []*lcm.Error {
	e := lcm.AsError(err)
	if slices.ContainsFunc(missing, func(o *lcm.Error) bool { return o.Detail == e.Detail }) {
		return missing
	}
	return append(missing, e)
}

// mgmtDrivers are the mgmt drivers of the hooks of a request's operation, each once. A new revision concerns all
// drivers of the present one, also those without a hook there: what they have built might not survive it.
func (s *Service) mgmtDrivers(kind *lcm.OperationKind, r lcm.Request) (out []lcm.MgmtDriver, missing []*lcm.Error) {
	found := map[string]bool{}
	add := func(name string, driver lcm.MgmtDriver) {
		if !found[name] {
			found[name] = true
			out = append(out, driver)
		}
	}

	hooks, missing := s.hooks(kind, r)
	for _, h := range hooks {
		add(h.name, h.driver)
	}
	if !kind.NewRevision || r.Previous == nil || r.Previous.Flavour == nil {
		return out, missing
	}

	for _, hook := range slices.Sorted(maps.Keys(r.Previous.Flavour.LCM)) {
		impl := r.Previous.Flavour.LCM[hook]
		if found[impl.Name] {
			continue
		}
		driver, err := s.Mgmt.Driver(impl)
		if err != nil {
			missing = addMissing(missing, err)
			continue
		}
		add(impl.Name, driver)
	}
	return out, missing
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
		hooks, _ := s.hooks(a.Task.Kind, r) // no driver is missing: the request was checked
		a.Scope.Fresh = slices.ContainsFunc(hooks, func(h boundHook) bool { return h.handler.Installs })
		return nil
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
	hooks, _ := s.hooks(a.Task.Kind, r)
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
