package preview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Side is a stack before or after an operation, and the flavour that it follows.
type Side struct {
	Stack   *userdata.Stack
	Flavour *vnfd.Flavour
}

// Plan is a preview with what its checks need to know.
type Plan struct {
	lcm.Preview
	// made are the resources that would be created, remade those of them that take the place of others; changed have
	// other properties afterwards.
	created, recreated []element
	changed            []inventory.Pair[element]
	// after is the whole stack as it would be.
	after []element
	nfv   map[string]any // what it is made from
	// freed says that what is replaced goes before its successor comes.
	replacedFirst bool
	own           map[string]bool // ids of what the instance has
}

// Compare compares the resources that exist with those that would exist. before is nil for an instantiation; both are
// nil for an operation that does not change the stack.
func Compare(r lcm.Request, before, after *Side) (*Plan, error) {
	p := &Plan{Preview: lcm.Preview{
		Operation: r.Type, Add: []lcm.PlannedResource{}, Remove: []lcm.PlannedResource{},
		Replace: []lcm.PlannedResource{}, Change: []lcm.PlannedResource{},
	}, own: map[string]bool{}}
	inv := recordsOf(r.Instance)
	for _, rec := range r.Instance.Inventory {
		p.own[rec.ID] = true
	}
	switch r.Type {
	case sol.LcmOperationTerminate:
		for _, rec := range r.Instance.Inventory {
			if !(cloud.Resource{Type: rec.Type}).IsStack() {
				p.Remove = append(p.Remove, described(rec, ""))
			}
		}
		return p, nil
	case sol.LcmOperationOperate:
		return p, p.operate(r)
	default: // the others change the stack
	}
	now, nfv, err := after.elements()
	if err != nil {
		return nil, err
	}
	p.after, p.nfv = now, nfv
	var was []element
	if before != nil {
		if was, _, err = before.elements(); err != nil {
			return nil, err
		}
	}
	if r.Scope != nil {
		now = renumbered(was, now, inv, r.Scope.Remove)
	}
	if r.Type == sol.LcmOperationHeal {
		p.replacedFirst = true
		p.heal(r, was, now, inv)
		return p, nil
	}
	if r.Type == sol.LcmOperationRevertToSnapshot && r.Scope != nil && r.Scope.Snapshot != nil {
		p.revert(r.Scope, was, now, inv)
		return p, nil
	}
	p.compare(was, now, inv)
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
func (p *Plan) operate(r lcm.Request) error {
	var req sol.OperateVnfRequest
	if err := json.Unmarshal(r.Params, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	for _, rec := range r.Instance.Inventory {
		c, _, ok := r.Instance.VNFC(rec.VNFC)
		if rec.Type == cloud.TypeServer && ok && c.VnfcState != req.ChangeStateTo && (r.Scope == nil ||
			slices.Contains(r.Scope.VNFCs, rec.VNFC)) {
			p.Change = append(p.Change, described(rec, fmt.Sprintf("%s becomes %s", c.VnfcState, req.ChangeStateTo)))
		}
	}
	return nil
}

// heal plans the replacement of the VNFCs' servers, with their volumes when additionalParams.all says so; of the whole
// VNF, everything.
func (p *Plan) heal(r lcm.Request, before, after []element, inv records) {
	all, _ := r.AdditionalParams["all"].(bool)
	old := keyed(before)
	for _, e := range after {
		rec, ok := inv.find(e)
		switch {
		case r.Scope == nil:
		case r.Scope.Whole:
			p.replace(e, rec, ok, "everything is deleted and created again")
		case ok && slices.Contains(r.Scope.VNFCs, rec.VNFC) && (e.typ == cloud.TypeServer ||
			all && e.typ == cloud.TypeVolume):
			detail := "healed"
			if was := old[e.key()]; was != nil {
				if changes, _ := changesOf(*was, e); changes != "" {
					detail += "; " + changes
				}
			}
			p.replace(e, rec, ok, detail)
		default:
			if was := old[e.key()]; was != nil {
				p.update(*was, e, rec, ok)
			}
		}
	}
}

// revert plans the servers that get another image in place, and those that are replaced with their volumes: because of
// the volumes, or because the image is the one that they have already.
func (p *Plan) revert(s *lcm.Scope, before, after []element, inv records) {
	old, of := keyed(before), map[string]lcm.VNFCSnapshot{}
	for n, c := range s.Snapshot.VNFCs {
		of[s.VNFCs[n]] = c
	}
	const why = "its content becomes that of the snapshot"
	for _, e := range after {
		rec, ok := inv.find(e)
		taken, reverted := of[rec.VNFC]
		volume := slices.ContainsFunc(taken.Storages, func(v lcm.SnapshotStorage) bool { return v.Name == e.name })
		was := old[e.key()]
		switch {
		case ok && reverted && e.typ == cloud.TypeVolume && volume:
			p.replace(e, rec, ok, why)
		case ok && reverted && e.typ == cloud.TypeServer &&
			(len(taken.Storages) > 0 || was == nil || inventory.SameJSON(was.props["image"], e.props["image"])):
			p.replace(e, rec, ok, "its disks become those of the snapshot")
		case was != nil:
			p.update(*was, e, rec, ok)
		}
	}
}

// compare plans what differs.
func (p *Plan) compare(before, after []element, inv records) {
	for _, c := range inventory.Match(before, after, func(e element) string { return e.key() }) {
		switch {
		case c.Old == nil:
			p.created = append(p.created, *c.New)
			p.Add = append(p.Add, c.New.planned(""))
		case c.New == nil:
			out := c.Old.planned("")
			if rec, ok := inv.find(*c.Old); ok {
				out = described(rec, "")
			}
			p.Remove = append(p.Remove, out)
		default:
			rec, ok := inv.find(*c.New)
			p.update(*c.Old, *c.New, rec, ok)
		}
	}
	p.follow(after, inv)
}

func (p *Plan) replace(e element, rec lcm.Resource, known bool, detail string) {
	out := e.planned(detail)
	if known {
		out.ID, out.VNFC = rec.ID, rec.VNFC
	}
	p.created, p.recreated = append(p.created, e), append(p.recreated, e)
	p.Replace = append(p.Replace, out)
}

// update plans a resource that has other properties afterwards.
func (p *Plan) update(old, now element, rec lcm.Resource, known bool) {
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
	// Nova gives a server with another image a new disk.
	out.LosesData = now.typ == cloud.TypeServer && !inventory.SameJSON(old.props["image"], now.props["image"])
	p.changed = append(p.changed, inventory.Pair[element]{Old: &old, New: &now})
	p.Change = append(p.Change, out)
}

// follow plans the servers whose volumes are replaced: Heat replaces them, because they are made from the ids of the
// volumes.
func (p *Plan) follow(after []element, inv records) {
	created := keyed(p.created)
	volumes := map[string][]element{} // by place
	for _, v := range p.recreated {
		if v.typ == cloud.TypeVolume {
			volumes[v.in] = append(volumes[v.in], v)
		}
	}
	for _, e := range after {
		if e.typ != cloud.TypeServer || created[e.key()] != nil {
			continue
		}
		for _, v := range volumes[e.in] {
			if !e.refers(v.name) {
				continue
			}
			rec, known := inv.find(e)
			p.Change = slices.DeleteFunc(
				p.Change, func(c lcm.PlannedResource) bool { return c.Type == cloud.TypeServer && c.Name == e.label() },
			)
			p.replace(e, rec, known, "its volume "+v.label()+" is replaced")
			break
		}
	}
}
