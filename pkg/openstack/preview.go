package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
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
	if err := j.haveImages(ctx); err != nil {
		return nil, j.settle(err)
	}
	p, err := j.planOf(r)
	if err != nil {
		return nil, err
	}
	checks, err := j.checks(ctx, p)
	if err != nil {
		return nil, j.settle(err)
	}
	p.Checks = checks
	p.Possible = !slices.ContainsFunc(checks, func(c lcm.Check) bool { return c.State == lcm.CheckFailed })
	return &p.Preview, nil
}

// plan is a preview under way.
type plan struct {
	lcm.Preview
	// made are the resources that would be created, remade those of them that take the place of others; changed have other properties afterwards.
	made, remade []element
	changed      []pair[element]
	// after is the whole stack as it would be.
	after []element
	nfv   map[string]any // what it is made from
	// freed says that what is replaced goes before its successor comes.
	freed bool
	own   map[string]bool // ids of what the instance has
}

// planOf compares what is with what would be.
func (j *job) planOf(r lcm.Request) (*plan, error) {
	p := &plan{Preview: lcm.Preview{
		Operation: r.Type, Add: []lcm.PlannedResource{}, Remove: []lcm.PlannedResource{}, Replace: []lcm.PlannedResource{}, Change: []lcm.PlannedResource{},
	}, own: map[string]bool{}}
	inv := inventoryOf(r.Instance)
	for _, rec := range r.Instance.Inventory {
		p.own[rec.ID] = true
	}
	switch r.Type {
	case sol.LcmOperationTerminate:
		for _, rec := range r.Instance.Inventory {
			if !(resource{Type: rec.Type}).container() {
				p.Remove = append(p.Remove, described(rec, ""))
			}
		}
		return p, nil
	case sol.LcmOperationOperate:
		return p, p.operate(r)
	default: // the others change the stack
	}
	after, nfv, err := j.elements(j.goalOf)
	if err != nil {
		return nil, err
	}
	p.after, p.nfv = after, nfv
	var before []element
	if r.Type != sol.LcmOperationInstantiate {
		if before, _, err = j.elements(j.formerGoal); err != nil {
			return nil, err
		}
	}
	if r.Scope != nil {
		after = renumbered(before, after, inv, r.Scope.Remove)
	}
	if r.Type == sol.LcmOperationHeal {
		p.freed = true
		p.heal(r, before, after, inv)
		return p, nil
	}
	p.compare(before, after, inv)
	return p, nil
}

// described is one resource that exists.
func described(rec lcm.Resource, detail string) lcm.PlannedResource {
	name := rec.Name
	if rec.VDU != "" {
		name = fmt.Sprintf("%s-%d", strings.TrimSuffix(name, fmt.Sprintf("-%d", rec.Index)), rec.Index)
	}
	return lcm.PlannedResource{Type: rec.Type, Name: name, VDU: rec.VDU, VNFC: rec.VNFC, ID: rec.ID, Detail: detail}
}

// operate plans the servers that are not in the wanted state.
func (p *plan) operate(r lcm.Request) error {
	var req sol.OperateVnfRequest
	if err := json.Unmarshal(r.Params, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	for _, rec := range r.Instance.Inventory {
		c, _, ok := r.Instance.VNFC(rec.VNFC)
		if rec.Type == typeServer && ok && c.VnfcState != req.ChangeStateTo && (r.Scope == nil || slices.Contains(r.Scope.VNFCs, rec.VNFC)) {
			p.Change = append(p.Change, described(rec, fmt.Sprintf("%s becomes %s", c.VnfcState, req.ChangeStateTo)))
		}
	}
	return nil
}

// heal plans the servers of the VNFCs anew, with their volumes when additionalParams.all says so; of the whole VNF, everything.
func (p *plan) heal(r lcm.Request, before, after []element, inv inventory) {
	all, _ := r.AdditionalParams["all"].(bool)
	for _, e := range after {
		rec, ok := inv.find(e)
		switch {
		case r.Scope == nil:
		case r.Scope.Whole:
			p.replace(e, rec, ok, "everything is deleted and made anew")
		case ok && slices.Contains(r.Scope.VNFCs, rec.VNFC) && (e.typ == typeServer || all && e.typ == typeVolume):
			p.replace(e, rec, ok, "healed")
		default:
			if old := find(before, e.key()); old != nil {
				p.update(*old, e, rec, ok)
			}
		}
	}
}

// compare plans what differs.
func (p *plan) compare(before, after []element, inv inventory) {
	for _, c := range matched(before, after, func(e element) string { return e.key() }) {
		switch {
		case c.old == nil:
			p.made = append(p.made, *c.new)
			p.Add = append(p.Add, c.new.planned(""))
		case c.new == nil:
			out := c.old.planned("")
			if rec, ok := inv.find(*c.old); ok {
				out = described(rec, "")
			}
			p.Remove = append(p.Remove, out)
		default:
			rec, ok := inv.find(*c.new)
			p.update(*c.old, *c.new, rec, ok)
		}
	}
	p.follow(after, inv)
}

func (p *plan) replace(e element, rec lcm.Resource, known bool, detail string) {
	out := e.planned(detail)
	if known {
		out.ID, out.VNFC = rec.ID, rec.VNFC
	}
	p.made, p.remade = append(p.made, e), append(p.remade, e)
	p.Replace = append(p.Replace, out)
}

// update plans a resource that has other properties afterwards.
func (p *plan) update(old, now element, rec lcm.Resource, known bool) {
	detail, replaced := changesOf(old, now)
	if detail == "" {
		return
	}
	if replaced {
		p.replace(now, rec, known, detail)
		return
	}
	out := now.planned(detail)
	if known {
		out.ID, out.VNFC = rec.ID, rec.VNFC
	}
	p.changed = append(p.changed, pair[element]{&old, &now})
	p.Change = append(p.Change, out)
}

// follow plans the servers whose volumes are replaced: Heat makes them anew, because they are made from the ids of the volumes.
func (p *plan) follow(after []element, inv inventory) {
	for _, e := range after {
		if e.typ != typeServer || find(p.made, e.key()) != nil {
			continue
		}
		for _, v := range p.remade {
			if v.typ != typeVolume || v.in != e.in || !e.refers(v.name) {
				continue
			}
			rec, known := inv.find(e)
			p.Change = slices.DeleteFunc(p.Change, func(c lcm.PlannedResource) bool { return c.Type == typeServer && c.Name == e.label() })
			p.replace(e, rec, known, "its volume "+v.label()+" is replaced")
			break
		}
	}
}
