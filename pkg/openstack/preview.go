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
	j, err := d.begin(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := j.findImages(ctx); err != nil {
		return nil, j.settle(err)
	}
	p, err := j.compare(ctx, r)
	if err != nil {
		return nil, err
	}
	checks, err := p.Checked(ctx, j.cloud, r)
	if err != nil {
		return nil, j.settle(err)
	}
	p.Checks = checks
	p.Possible = !slices.ContainsFunc(checks, func(c lcm.Check) bool { return c.State == lcm.CheckFailed })
	return &p.Preview, nil
}

// compare compares the stack before and after a request.
func (j *job) compare(ctx context.Context, r lcm.Request) (*preview.Plan, error) {
	var before, after *preview.Side
	if r.Type == sol.LcmOperationTerminate || r.Type == sol.LcmOperationOperate { // the stack stays what it is
		return preview.Compare(r, before, after)
	}
	st, err := j.desired(ctx)
	if err != nil {
		return nil, err
	}
	after = &preview.Side{Stack: st, Flavour: j.w.Flavour}
	if r.Type != sol.LcmOperationInstantiate {
		g, err := j.previousOf(j.w)
		if err != nil {
			return nil, err
		}
		if st, err = j.build(g); err != nil {
			return nil, err
		}
		before = &preview.Side{Stack: st, Flavour: g.flavour}
	}
	return preview.Compare(r, before, after)
}
