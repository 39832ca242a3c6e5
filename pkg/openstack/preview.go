package openstack

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/preview"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Preview implements lcm.Infra: the resources of the stack as it is and as it would be are compared, and what new ones need is looked up.
func (d *Driver) Preview(ctx context.Context, r lcm.Request) (*lcm.Preview, error) {
	w := planned(r)
	w.Log, w.Clock = d.log, lcm.SystemClock{}
	t, err := d.begin(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := t.findImages(ctx); err != nil {
		return nil, t.settle(err)
	}
	p, err := t.compare(ctx, r)
	if err != nil {
		return nil, err
	}
	checks, err := p.Checked(ctx, t.cloud, r)
	if err != nil {
		return nil, t.settle(err)
	}
	p.Checks = checks
	p.Possible = !slices.ContainsFunc(checks, func(c lcm.Check) bool { return c.State == lcm.CheckFailed })
	return &p.Preview, nil
}

// compare compares the stack before and after a request.
func (t *tick) compare(ctx context.Context, r lcm.Request) (*preview.Plan, error) {
	var before, after *preview.Side
	if r.Type == sol.LcmOperationTerminate || r.Type == sol.LcmOperationOperate { // the stack stays what it is
		return preview.Compare(r, before, after)
	}
	st, err := t.desired(ctx)
	if err != nil {
		return nil, err
	}
	after = &preview.Side{Stack: st, Flavour: t.w.Flavour}
	if r.Type != sol.LcmOperationInstantiate {
		g, err := t.previousOf(t.w)
		if err != nil {
			return nil, err
		}
		if st, err = t.build(g); err != nil {
			return nil, err
		}
		before = &preview.Side{Stack: st, Flavour: g.flavour}
	}
	return preview.Compare(r, before, after)
}
