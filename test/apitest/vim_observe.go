package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Inventory implements lcm.Infra. It looks whether machines run only for OPERATE.
func (v *VIM) Inventory(_ context.Context, w *lcm.Execution) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, "inventory")
	if v.blind != nil {
		w.Instance.Instantiated, w.Instance.Inventory = &sol.InstantiatedVnfInfo{}, nil // it had begun
		return v.blind
	}
	info := &sol.InstantiatedVnfInfo{FlavourID: w.Flavour.ID}
	w.Instance.Inventory = nil
	primary, _, _ := lcm.PrimaryVim(w.Instance.VimConnections)
	for _, vdu := range vdusOf(w) {
		machines := slices.Clone(v.machines[w.Instance.ID])
		slices.SortStableFunc(machines, func(a, b machine) int { return cmp.Compare(b.index, a.index) })
		for _, o := range machines {
			if o.vdu != vdu {
				continue
			}
			res := sol.VnfcResourceInfo{ID: o.id, VduID: o.vdu, ComputeResource: handle(o.vim, o.id)}
			info.VnfcResourceInfo = append(info.VnfcResourceInfo, res)
			c := sol.VnfcInfo{ID: o.vnfc(), VduID: o.vdu, VnfcResourceInfoID: o.id}
			if w.Op.Type == sol.LcmOperationOperate {
				c.VnfcState = o.state
			}
			info.VnfcInfo = append(info.VnfcInfo, c)
			r := lcm.Resource{
				Name: o.vdu, Kind: lcm.KindCompute, Type: machineType, ID: o.id,
				VNFC: o.vnfc(), VDU: o.vdu, Index: o.index,
			}
			if o.vim != primary {
				r.Vim = o.vim
			}
			w.Instance.Inventory = append(w.Instance.Inventory, r)
		}
	}
	w.Instance.Instantiated = info
	w.Op.ResourceChanges = differences(w.Op.Before, info)
	return nil
}

// vdusOf lists the VDUs of both revisions, whose machines may still be there.
func vdusOf(w *lcm.Execution) []string {
	var out []string
	add := func(f *vnfd.Flavour) {
		for _, vdu := range f.VDUs {
			if !slices.Contains(out, vdu.Name) {
				out = append(out, vdu.Name)
			}
		}
	}
	add(w.Flavour)
	if w.Previous != nil && w.Previous.Flavour != nil {
		add(w.Previous.Flavour)
	}
	return out
}

func handle(vim, id string) sol.ResourceHandle {
	return sol.ResourceHandle{VimConnectionID: vim, ResourceID: id, VimLevelResourceType: machineType}
}

// differences are the machines that came and went.
func differences(before *lcm.Instance, now *sol.InstantiatedVnfInfo) *sol.ResourceChanges {
	out := &sol.ResourceChanges{}
	had := &sol.InstantiatedVnfInfo{}
	if before != nil && before.Instantiated != nil {
		had = before.Instantiated
	}
	list := func(t sol.ChangeType, of, without []sol.VnfcResourceInfo) {
		for _, r := range of {
			if !slices.ContainsFunc(without, func(o sol.VnfcResourceInfo) bool { return o.ID == r.ID }) {
				out.AffectedVnfcs = append(out.AffectedVnfcs, sol.AffectedVnfc{
					ID: r.ID, VduID: r.VduID, ChangeType: t, ComputeResource: r.ComputeResource,
				})
			}
		}
	}
	list(sol.ChangeTypeAdded, now.VnfcResourceInfo, had.VnfcResourceInfo)
	list(sol.ChangeTypeRemoved, had.VnfcResourceInfo, now.VnfcResourceInfo)
	if len(out.AffectedVnfcs) == 0 {
		return nil
	}
	return out
}

// Preview implements lcm.Infra.
func (v *VIM) Preview(_ context.Context, r lcm.Request) (*lcm.Preview, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := &lcm.Preview{Operation: r.Type, Possible: true, Checks: []lcm.Check{}}
	scope := cmp.Or(r.Scope, &lcm.Scope{})
	if r.Type == sol.LcmOperationInstantiate {
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(r.Params, &req); err != nil {
			return nil, err
		}
		scope.Add, _ = r.Flavour.Counts(req.InstantiationLevelID)
	}
	for _, vdu := range r.Flavour.VDUs {
		for range scope.Add[vdu.Name] {
			p.Add = append(p.Add, lcm.PlannedResource{Type: machineType, Name: vdu.Name, VDU: vdu.Name})
		}
	}
	gone := func(id string) lcm.PlannedResource {
		return lcm.PlannedResource{Type: machineType, Name: id, VNFC: id, Kind: lcm.KindCompute}
	}
	for _, id := range scope.Remove {
		p.Remove = append(p.Remove, gone(id))
	}
	switch r.Type { //nolint:exhaustive // the others keep machines
	case sol.LcmOperationHeal, sol.LcmOperationChangeVnfpkg:
		for _, id := range scope.VNFCs {
			p.Replace = append(p.Replace, gone(id))
		}
	case sol.LcmOperationCreateSnapshot:
		v.previewSnapshot(r, &p.Add, nil)
	case sol.LcmOperationRevertToSnapshot:
		v.previewSnapshot(r, nil, &p.Change)
	case sol.LcmOperationTerminate:
		for _, o := range v.machines[r.Instance.ID] {
			p.Remove = append(p.Remove, gone(o.vnfc()))
		}
	}
	return p, v.fail
}

// Leftovers implements lcm.Infra.
func (v *VIM) Leftovers(
	_ context.Context, i *lcm.Instance, snapshots []*lcm.Snapshot,
) (*lcm.Leftovers, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := &lcm.Leftovers{Extra: []lcm.Leftover{}, Missing: []lcm.Leftover{}}
	for _, o := range v.machines[i.ID] {
		if !slices.ContainsFunc(i.Inventory, func(r lcm.Resource) bool { return r.ID == o.id }) {
			out.Extra = append(out.Extra, lcm.Leftover{
				Type: machineType, ID: o.id, Name: o.vdu, Why: "it carries the name of " + i.ID,
			})
		}
	}
	out.Extra = append(out.Extra, v.strayDisks(i, snapshots)...)
	for _, r := range i.Inventory {
		if !slices.ContainsFunc(v.machines[i.ID], func(o machine) bool { return o.id == r.ID }) {
			out.Missing = append(out.Missing, lcm.Leftover{Type: r.Type, ID: r.ID, Name: r.Name})
		}
	}
	return out, v.fail
}

// RemoveLeftovers implements lcm.Infra.
func (v *VIM) RemoveLeftovers(
	_ context.Context, i *lcm.Instance, _ []*lcm.Snapshot, extra []lcm.Leftover,
) ([]lcm.Leftover, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fail != nil {
		return extra, nil
	}
	err := v.call(true, func() error {
		v.deleteIf(i.ID, func(o machine) bool {
			return slices.ContainsFunc(extra, func(l lcm.Leftover) bool { return l.ID == o.id })
		})
		return nil
	})
	return nil, err
}
