package openstack

import (
	"context"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/preview"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Preview implements lcm.Infra: the resources of the stack as it is and as it would be are compared, and what new ones
// need is looked up.
func (d *Driver) Preview(ctx context.Context, r lcm.Request) (*lcm.Preview, error) {
	w := planned(r)
	w.Log, w.Clock = d.log, lcm.SystemClock{}
	var plans []*preview.Plan
	vim, err := d.eachUntil(ctx, w, func(ctx context.Context, t *tick) error {
		own := t.part.request(r)
		if r.Type == sol.LcmOperationCreateSnapshot {
			p, err := t.planSnapshot(ctx, own)
			plans = append(plans, p)
			return err
		}
		if err := t.findImages(ctx); err != nil {
			return err
		}
		p, err := t.compare(ctx, own)
		if err != nil {
			return err
		}
		p.Checks, err = p.Checked(ctx, t.cloud, preview.Stack{Name: t.stack.Name(), New: t.part.begins()}, own)
		for n := range p.Checks {
			if t.part.vim != "" {
				p.Checks[n].Subject += " in " + t.part.vim
			}
		}
		plans = append(plans, p)
		return err
	})
	if err != nil {
		return nil, unprocessable(vim, err)
	}
	return preview.Merge(r.Type, plans), nil
}

// request limits a request to what is about the part.
func (s *part) request(r lcm.Request) lcm.Request {
	if s.away == nil {
		return r
	}
	r.Instance, r.Flavour, r.Scope = s.w.Instance, s.w.Flavour, s.w.Op.Scope
	r.Params, r.Previous = s.w.Op.Params, s.w.Previous
	return r
}

// compare compares the stack before and after a request.
func (t *tick) compare(ctx context.Context, r lcm.Request) (*preview.Plan, error) {
	var before, after *preview.Side
	if r.Type == sol.LcmOperationTerminate || r.Type == sol.LcmOperationOperate { // the stack stays what it is
		return preview.Compare(r, before, after)
	}
	if err := t.planClass(ctx); err != nil {
		return nil, err
	}
	st, err := t.desired(ctx)
	if err != nil {
		return nil, err
	}
	after = &preview.Side{Stack: st, Flavour: t.w.Flavour}
	if r.Type != sol.LcmOperationInstantiate {
		g, err := t.previousAt(&t.part)
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

// planClass has a class of the package make the stack that the operation would lead to.
func (t *tick) planClass(ctx context.Context) error {
	g, err := t.desiredAt(&t.part)
	if err != nil || g.own == nil {
		return err
	}
	if g.made, err = t.runClassNow(ctx, &t.part, g); err != nil {
		return err
	}
	t.assembled = sync.OnceValues(func() (*userdata.Stack, error) { return t.build(g) })
	return nil
}
