package admission

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Preview says what an operation with this request would do, and whether the VIM can do it. It rejects what Submit
// would reject, in the same words, and changes nothing in the VIM.
func (s *Service) Preview(ctx context.Context, id string, t lcm.Task) (*lcm.Preview, error) {
	c, err := s.check(ctx, id, t)
	if err != nil {
		return nil, err
	}
	if err := s.busy(ctx, id); err != nil {
		return nil, err
	}
	r, err := s.request(c.decision)
	if err != nil {
		return nil, err
	}
	if !t.Kind.VIM {
		return &lcm.Preview{
			Operation: t.Kind.Type, Possible: true,
			Add: []lcm.PlannedResource{}, Remove: []lcm.PlannedResource{}, Replace: []lcm.PlannedResource{},
			Change: []lcm.PlannedResource{}, Work: []lcm.PlannedWork{}, Checks: []lcm.Check{},
		}, nil
	}
	if s.grantBringsVim(t.Kind, r.Instance) {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the NFVO %s selects the VIM when it grants the operation, "+
			"so there is nothing to compare with", s.NFVO).WithHint("name a VIM connection to see a plan for it")
	}
	infra, err := s.infra(r.Instance)
	if err != nil {
		return nil, err
	}
	p, err := infra.Preview(ctx, r)
	if err == nil {
		p.Work = s.previewWork(t.Kind, r)
		if s.NFVO != "" && t.Kind.NeedsGrant {
			p.Checks = append(p.Checks, lcm.Check{
				State: lcm.CheckWarning, Subject: "grant",
				Detail: "the NFVO " + s.NFVO + " decides on the operation; it may reject it, or select other " +
					"zones, flavours, images and links than this plan has",
			})
		}
		p.Complete()
	}
	return p, err
}

// previewWork lists what the mgmt drivers say that they would do.
func (s *Service) previewWork(kind *lcm.OperationKind, r lcm.Request) []lcm.PlannedWork {
	var out []lcm.PlannedWork
	hooks, _ := s.hooks(kind, r) // the admission has rejected a hook without a driver
	for _, h := range hooks {
		if h.handler.Preview == nil {
			continue
		}
		for _, detail := range h.handler.Preview(r) {
			out = append(out, lcm.PlannedWork{Hook: h.handler.Hook, Driver: h.name, Detail: detail})
		}
	}
	return out
}
