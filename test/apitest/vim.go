package apitest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// VIM is an lcm.Infra that keeps servers in memory and does what a test says. The zero value is ready.
type VIM struct {
	mu      sync.Mutex
	fail    error
	blind   error // of Inventory
	partly  bool
	held    bool
	halting bool
	calls   []string
	servers map[string][]server // by instance
}

// server is one VNFC's.
type server struct {
	id, vdu string
	index   int
	state   sol.VnfOperationalState
}

// Fail makes all work but the inventory fail from now on; nil lets it succeed.
func (v *VIM) Fail(err error) { v.set(func() { v.fail, v.partly = err, false }) }

// FailHalfway makes changes fail after the first VNFC.
func (v *VIM) FailHalfway(err error) { v.set(func() { v.fail, v.partly = err, true }) }

// FailInventory makes the inventory fail.
func (v *VIM) FailInventory(err error) { v.set(func() { v.blind = err }) }

// Hold makes all work wait, until it is called with false.
func (v *VIM) Hold(on bool) { v.set(func() { v.held = on }) }

// HoldHalt makes Halt wait.
func (v *VIM) HoldHalt(on bool) { v.set(func() { v.halting = on }) }

// Calls lists the calls of the VIM: the method, the operation and its phase.
func (v *VIM) Calls() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.calls)
}

func (v *VIM) set(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
}

// work notes a call and says whether it may go on.
func (v *VIM) work(format string, args ...any) error {
	v.calls = append(v.calls, fmt.Sprintf(format, args...))
	if v.held {
		return lcm.Wait(0, "the VIM is busy")
	}
	if v.partly {
		return nil
	}
	return v.fail
}

// Infra implements lcm.Infras.
func (v *VIM) Infra(t string) (lcm.Infra, bool) { return v, t == VimType }

// Validate implements lcm.Infra.
func (v *VIM) Validate(_ context.Context, r lcm.Request) error {
	if r.AdditionalParams["refuse"] != nil {
		return lcm.Unprocessable(lcm.InvalidParam{Pointer: "/additionalParams/refuse", Detail: "is not wanted"})
	}
	return nil
}

// Instantiate implements lcm.Infra.
func (v *VIM) Instantiate(ctx context.Context, w *lcm.Work) error {
	if err := w.Hold(ctx); err != nil {
		return err
	}
	return w.Step(ctx, "create stack", "vnf-"+w.Instance.ID, func(ctx context.Context, s *lcm.Step) error {
		s.Logf(ctx, "the first line")
		s.Logf(ctx, "the second line")
		v.mu.Lock()
		defer v.mu.Unlock()
		if err := v.work("instantiate"); err != nil {
			return err
		}
		added, err := w.Additions()
		if err != nil {
			return err
		}
		delete(v.servers, w.Instance.ID)
		for _, vdu := range w.Flavour.VDUs {
			for range added[vdu.Name].Count {
				v.add(w.Instance.ID, vdu.Name)
			}
		}
		return nil
	})
}

func (v *VIM) add(instance, vdu string) {
	if v.servers == nil {
		v.servers = map[string][]server{}
	}
	n := 0
	for _, s := range v.servers[instance] {
		if s.vdu == vdu {
			n++
		}
	}
	v.servers[instance] = append(v.servers[instance], server{uuid.NewString(), vdu, n, sol.VnfOperationalStateStarted})
}

// Change implements lcm.Infra.
func (v *VIM) Change(_ context.Context, w *lcm.Work) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.work("change %s with %s", w.Op.Type, w.VNFD.Version); err != nil {
		return err
	}
	scope, id := w.Op.Scope, w.Instance.ID
	left := len(w.Flavour.VDUs) * 1000
	if v.partly {
		left = 1
	}
	do := func(f func()) {
		if left > 0 {
			left--
			f()
		}
	}
	for _, vnfc := range scope.Remove {
		do(func() {
			v.servers[id] = slices.DeleteFunc(v.servers[id], func(s server) bool { return vnfcID(s) == vnfc })
		})
	}
	for _, vdu := range w.Flavour.VDUs {
		for range scope.Add[vdu.Name] {
			do(func() { v.add(id, vdu.Name) })
		}
	}
	for n := range v.servers[id] {
		if s := &v.servers[id][n]; slices.Contains(scope.VNFCs, vnfcID(*s)) {
			do(func() { v.touch(w, s) })
		}
	}
	if v.partly {
		return v.fail
	}
	return nil
}

func (v *VIM) touch(w *lcm.Work, s *server) {
	switch w.Op.Type {
	case sol.LcmOperationHeal, sol.LcmOperationChangeVnfpkg:
		s.id = uuid.NewString()
	case sol.LcmOperationOperate:
		if s.state = sol.VnfOperationalStateStopped; w.Op.Before.Instantiated.VnfState == sol.VnfOperationalStateStopped {
			s.state = sol.VnfOperationalStateStarted
		}
	default:
	}
}

// Restore implements lcm.Infra.
func (v *VIM) Restore(_ context.Context, w *lcm.Work) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.work("restore %s with %s", w.Op.Type, w.VNFD.Version); err != nil {
		return err
	}
	id := w.Instance.ID
	v.servers[id] = nil
	for _, c := range slices.Backward(w.Op.Before.Instantiated.VnfcInfo) {
		v.add(id, c.VduID)
		s := &v.servers[id][len(v.servers[id])-1]
		s.id, s.state = c.VnfcResourceInfoID, c.VnfcState
	}
	return nil
}

func vnfcID(s server) string { return s.vdu + "-" + s.id }

// Inventory implements lcm.Infra. It looks whether servers run only for OPERATE.
func (v *VIM) Inventory(_ context.Context, w *lcm.Work) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, "inventory")
	if v.blind != nil {
		w.Instance.Instantiated, w.Instance.Inventory = &sol.InstantiatedVnfInfo{}, nil // it had begun
		return v.blind
	}
	info := &sol.InstantiatedVnfInfo{FlavourID: w.Flavour.ID}
	w.Instance.Inventory = nil
	for _, vdu := range slices.Concat(w.Flavour.VDUs, former(w)) {
		for _, s := range slices.Backward(v.servers[w.Instance.ID]) {
			if s.vdu != vdu.Name || slices.ContainsFunc(info.VnfcInfo, func(c sol.VnfcInfo) bool { return c.ID == vnfcID(s) }) {
				continue
			}
			info.VnfcResourceInfo = append(info.VnfcResourceInfo, sol.VnfcResourceInfo{ID: s.id, VduID: s.vdu, ComputeResource: handle(s.id)})
			c := sol.VnfcInfo{ID: vnfcID(s), VduID: s.vdu, VnfcResourceInfoID: s.id}
			if w.Op.Type == sol.LcmOperationOperate {
				c.VnfcState = s.state
			}
			info.VnfcInfo = append(info.VnfcInfo, c)
			w.Instance.Inventory = append(w.Instance.Inventory, lcm.Resource{Name: s.vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", ID: s.id, VNFC: vnfcID(s), VDU: s.vdu, Index: s.index})
		}
	}
	w.Instance.Instantiated = info
	w.Op.ResourceChanges = differences(w.Op.Before, info)
	return nil
}

// former lists the VDUs of the other side, whose servers may still be there.
func former(w *lcm.Work) []vnfd.VDU {
	if w.Former == nil || w.Former.Flavour == nil {
		return nil
	}
	return w.Former.Flavour.VDUs
}

func handle(id string) sol.ResourceHandle {
	return sol.ResourceHandle{VimConnectionID: "vim1", ResourceID: id, VimLevelResourceType: "OS::Nova::Server"}
}

// differences are the servers that came and went.
func differences(before *lcm.Instance, now *sol.InstantiatedVnfInfo) *sol.ResourceChanges {
	out := &sol.ResourceChanges{}
	had := &sol.InstantiatedVnfInfo{}
	if before != nil && before.Instantiated != nil {
		had = before.Instantiated
	}
	list := func(t sol.ChangeType, of, without []sol.VnfcResourceInfo) {
		for _, r := range of {
			if !slices.ContainsFunc(without, func(o sol.VnfcResourceInfo) bool { return o.ID == r.ID }) {
				out.AffectedVnfcs = append(out.AffectedVnfcs, sol.AffectedVnfc{ID: r.ID, VduID: r.VduID, ChangeType: t, ComputeResource: r.ComputeResource})
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

// Terminate implements lcm.Infra.
func (v *VIM) Terminate(_ context.Context, w *lcm.Work) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.work("terminate"); err != nil {
		return err
	}
	delete(v.servers, w.Instance.ID)
	return nil
}

// Halt implements lcm.Infra.
func (v *VIM) Halt(_ context.Context, _ *lcm.Work, mode sol.CancelModeType) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, "halt "+string(mode))
	if v.halting {
		return lcm.Wait(0, "the VIM finishes what it is doing")
	}
	return nil
}

// Preview implements lcm.Infra.
func (v *VIM) Preview(_ context.Context, r lcm.Request) (*lcm.Preview, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := &lcm.Preview{Operation: r.Type, Possible: true, Checks: []lcm.Check{}}
	if r.Scope != nil {
		for _, vdu := range r.Flavour.VDUs {
			for range r.Scope.Add[vdu.Name] {
				p.Add = append(p.Add, lcm.PlannedResource{Type: "OS::Nova::Server", Name: vdu.Name, VDU: vdu.Name})
			}
		}
		for _, id := range r.Scope.Remove {
			p.Remove = append(p.Remove, lcm.PlannedResource{Type: "OS::Nova::Server", VNFC: id})
		}
	}
	return p, v.fail
}

// Leftovers implements lcm.Infra: servers that the inventory has not.
func (v *VIM) Leftovers(_ context.Context, i *lcm.Instance) (*lcm.Leftovers, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := &lcm.Leftovers{Extra: []lcm.Leftover{}, Missing: []lcm.Leftover{}}
	for _, s := range v.servers[i.ID] {
		if !slices.ContainsFunc(i.Inventory, func(r lcm.Resource) bool { return r.ID == s.id }) {
			out.Extra = append(out.Extra, lcm.Leftover{Type: "OS::Nova::Server", ID: s.id, Name: s.vdu})
		}
	}
	return out, v.fail
}

// RemoveLeftovers implements lcm.Infra.
func (v *VIM) RemoveLeftovers(_ context.Context, i *lcm.Instance, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fail != nil {
		return extra, nil
	}
	v.servers[i.ID] = slices.DeleteFunc(v.servers[i.ID], func(s server) bool {
		return slices.ContainsFunc(extra, func(l lcm.Leftover) bool { return l.ID == s.id })
	})
	return nil, nil
}

// Templates implements lcm.Infra.
func (*VIM) Templates(lcm.Request) lcm.Templates { return nil }
