package admission

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/adoption"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Adopt takes over a VNF instance of another VNFM: the request is decided as its instantiation would be, and the
// inventory is taken of what is there. Nothing is changed in the VIM. The plan has all reasons against it; without a
// dry run and without reasons, the instance is stored. The error is about a request that cannot be read
// (CodeUnprocessable), or a fault.
func (s *Service) Adopt(ctx context.Context, req adoption.Request) (*adoption.Plan, error) {
	src, err := adoption.Read(req)
	if err != nil {
		return nil, err
	}
	p := &adoption.Plan{}
	a := &adopting{Service: s, req: req, src: src, plan: p}
	if p.Instance, err = src.Instance(req.PackageID); err != nil {
		return nil, err
	}
	present, err := s.Store.Instance(ctx, src.ID())
	if err == nil {
		a.already(present)
		return p, nil
	}
	if lcm.AsError(err).Code != lcm.CodeNotFound {
		return nil, err
	}
	if err := a.examine(ctx); err != nil {
		return nil, err
	}
	if len(p.Refusals) > 0 || req.DryRun {
		return p, nil
	}
	return p, a.store(ctx)
}

// adopting is the adoption of one instance.
type adopting struct {
	*Service
	req   adoption.Request
	src   *adoption.Source
	plan  *adoption.Plan
	w     *lcm.Execution // as if the instance were being instantiated
	infra lcm.Adopter
}

// already is the plan of an instance that is here: it has been adopted before, or another one has its id.
func (a *adopting) already(i *lcm.Instance) {
	p := a.plan
	p.Instance = i
	known := a.src.Known()
	stack, _ := metadataOf(i)["stack_id"].(string)
	switch {
	case i.VnfdID != a.src.VnfdID():
		p.Refuse(
			"/vnfInstance/vnfdId", fmt.Sprintf("VNF instance %s is here with the VNFD %s", i.ID, i.VnfdID),
			"an instance is adopted once; changes are made here from then on",
		)
	case i.State != sol.InstantiationStateInstantiated, known.Primary != "" && stack != known.Primary:
		p.Refuse(
			"/vnfInstance/id", fmt.Sprintf("VNF instance %s is here, %s with other resources", i.ID, i.State),
			"delete it here first, if it is not needed",
		)
	default:
		p.Adopted, p.Already = true, true
		p.Primary = lcm.PrimaryResource{Name: i.PrimaryResource, ID: stack}
		a.compare()
	}
}

func metadataOf(i *lcm.Instance) sol.KeyValuePairs {
	if i.Instantiated == nil {
		return nil
	}
	return i.Instantiated.Metadata
}

// examine finds all reasons against the adoption, as far as they can be found after the ones before.
func (a *adopting) examine(ctx context.Context) error {
	p := a.plan
	a.src.Check(p)
	if err := a.checkPackage(ctx); err != nil || len(p.Refusals) > 0 {
		return err
	}
	if err := a.decide(ctx); err != nil || len(p.Refusals) > 0 {
		return err
	}
	if err := a.observe(ctx); err != nil || p.Instance.Instantiated == nil {
		return err
	}
	a.compare()
	if len(p.Refusals) > 0 {
		return nil
	}
	if err := a.drift(ctx); err != nil {
		return err
	}
	return a.cluster(ctx)
}

func (a *adopting) checkPackage(ctx context.Context) error {
	const hint = "upload the package of the instance's VNFD, and name its id"
	if a.req.PackageID == "" {
		a.plan.Refuse("/vnfPkgId", "is missing", hint)
		return nil
	}
	vnfd, err := a.Packages.VnfdID(ctx, a.principal, a.req.PackageID)
	if err != nil {
		return a.plan.RefuseError(err, "/vnfPkgId", func(string) string { return "/vnfPkgId" })
	}
	if vnfd != a.src.VnfdID() {
		a.plan.Refuse("/vnfPkgId", fmt.Sprintf(
			"the package %s has the VNFD %s, and the instance has %s", a.req.PackageID, vnfd, a.src.VnfdID(),
		), hint)
	}
	return nil
}

// decide decides on the request that would make the instance.
func (a *adopting) decide(ctx context.Context) error {
	p := a.plan
	raw, err := a.src.Request()
	if err != nil {
		return p.RefuseError(err, "/operations", nil)
	}
	t, err := lcm.ParseTask(sol.LcmOperationInstantiate, raw)
	if err != nil {
		return p.RefuseError(err, "/operations", nil)
	}
	model, err := a.Packages.ModelOf(ctx, a.req.PackageID)
	if err != nil {
		return err
	}
	i := p.Instance
	i.Provider, i.ProductName, i.SoftwareVersion = model.Provider, model.ProductName, model.SoftwareVersion
	i.VnfdVersion, i.SecretNames = model.Version, model.Secrets
	if err := lcm.Unprocessable(lcm.CheckMetadata(i.Metadata)...); err != nil {
		return p.RefuseError(err, "/vnfInstance/metadata", func(at string) string { return "/vnfInstance" + at })
	}
	c, err := a.decideOn(ctx, i, t)
	if err != nil {
		return p.RefuseError(err, "/vnfInstance", a.src.Pointer)
	}
	decided := c.decision.Instance
	if decided.SSHKey != nil { // it was created just now, and no machine has it
		p.Refuse(
			"/additionalParams", "the logins of the machines are not known: the other VNFM does not show them",
			"give them in additionalParams, as in the request of the instantiation",
		)
		return nil
	}
	_, conn, _ := lcm.PrimaryVim(decided.VimConnections)
	a.src.CheckProject(p, conn)
	infra, err := a.Service.infra(decided)
	if err != nil {
		return p.RefuseError(err, "/vimConnections", a.src.Pointer)
	}
	var ok bool
	if a.infra, ok = infra.(lcm.Adopter); !ok {
		p.Refuse("/vimConnections", "instances cannot be adopted in VIMs of the type "+conn.VimType, "")
		return nil
	}
	now := a.Clock.Now()
	decided.Created, decided.Updated = now, now
	a.w, err = lcm.NewExecution(ctx, lcm.ExecutionInput{
		Op: &lcm.Operation{
			Type: sol.LcmOperationInstantiate, State: sol.LcmOperationStateProcessing, InstanceID: i.ID, Params: raw,
			Phase: lcm.PhaseInventory,
		},
		Instance: decided, Packages: a.Packages, Clock: a.Clock, Log: slog.New(slog.DiscardHandler),
	})
	return err
}

// observe reads what the instance has in its VIM.
func (a *adopting) observe(ctx context.Context) error {
	p, i := a.plan, a.w.Instance
	const at = "/vnfInstance/id"
	found, err := a.infra.Locate(ctx, a.w, a.src.Known())
	if found != nil {
		p.Primary = *found
	}
	if err != nil {
		return p.RefuseError(err, at, a.src.Pointer)
	}
	i.Instantiated = &sol.InstantiatedVnfInfo{VnfcInfo: a.src.VNFCs()} // VNFCs keep these ids
	levels := a.src.Levels()
	if err := lcm.AdoptInventory(ctx, a.infra, a.w, levels); err != nil {
		return p.RefuseError(err, at, a.src.Pointer)
	}
	now := lcm.CountVNFCs(i.Instantiated)
	if levels == nil {
		levels = lcm.LevelsOf(a.w.Flavour, now)
	}
	for n, status := range i.Instantiated.ScaleStatus {
		i.Instantiated.ScaleStatus[n].ScaleLevel = levels[status.AspectID]
	}
	p.Instance = i
	wanted := lcm.CountsAt(a.w.Flavour, levels, now)
	for _, vdu := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[vdu] != now[vdu] {
			p.Refuse("/vnfInstance/instantiatedVnfInfo/scaleStatus", fmt.Sprintf(
				"at these levels the VNF has %d VNFCs of %s, and the VIM has %d", wanted[vdu], vdu, now[vdu],
			), "heal or scale the instance with the other VNFM, so that both agree")
		}
	}
	return nil
}

// store stores the instance, in one transaction.
func (a *adopting) store(ctx context.Context) error {
	p := a.plan
	i := p.Instance
	i.State, i.HoldsResources = sol.InstantiationStateInstantiated, true
	m, err := lcm.IdentifierMessage(lcm.KindCreation, i.ID, a.Clock)
	if err != nil {
		return err
	}
	stored := lcm.Adoption{Instance: i, Messages: []lcm.Message{m}}
	if c := p.Cluster; c != nil {
		stored.HostKeys = c.HostKeys
		if c.Vim != nil {
			now := a.Clock.Now()
			c.Vim.Created, c.Vim.Updated = now, now
			stored.Vim = c.Vim
			conns := maps.Clone(i.VimConnections)
			conns[c.Key] = c.Vim.Connection
			i.VimConnections = conns
		}
	}
	if err := a.Store.AdoptInstance(ctx, stored); err != nil {
		return err
	}
	p.Adopted = true
	return nil
}
