package apitest

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tacker"
)

// Infra implements lcm.Infras.
func (v *VIM) Infra(t string) (lcm.Infra, bool) { return v, t == VimType }

// Validate implements lcm.Infra.
func (v *VIM) Validate(_ context.Context, r lcm.Request) error {
	if r.AdditionalParams["refuse"] != nil {
		return lcm.Unprocessable(lcm.InvalidParam{Pointer: "/additionalParams/refuse", Detail: "is not wanted"})
	}
	return nil
}

// Granted implements lcm.Infra.
func (v *VIM) Granted(context.Context, *lcm.Execution) error { return nil }

// Options implements lcm.Infra.
func (v *VIM) Options(r lcm.Request) (lcm.Options, error) { return tacker.Options(r) }

// Replaces implements lcm.Infra: a change of the package replaces the machines in its scope.
func (v *VIM) Replaces(r lcm.Request) ([]string, error) {
	if r.Type == sol.LcmOperationChangeVnfpkg {
		return r.Scope.VNFCs, nil
	}
	return nil, nil
}

// Lasting implements lcm.Infra.
func (v *VIM) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs { return tacker.Lasting(params) }

// Templates implements lcm.Infra.
func (v *VIM) Templates(lcm.Request) lcm.Templates { return nil }

// Instantiate implements lcm.Infra.
func (v *VIM) Instantiate(ctx context.Context, w *lcm.Execution) error {
	if err := w.Hold(ctx); err != nil {
		return err
	}
	return w.Step(ctx, "create stack", "vnf-"+w.Instance.ID, func(ctx context.Context, s *lcm.Step) error {
		s.Logf(ctx, "the first line")
		s.Logf(ctx, "the second line")
		v.mu.Lock()
		defer v.mu.Unlock()
		if err := v.begin("instantiate"); err != nil {
			return err
		}
		added, err := w.Additions()
		if err != nil {
			return err
		}
		counts := map[string]int{}
		for vdu, a := range added {
			counts[vdu] = a.Count
		}
		return v.converge(w, counts, nil)
	})
}

// Change implements lcm.Infra.
func (v *VIM) Change(_ context.Context, w *lcm.Execution) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.begin("change %s with %s", w.Op.Type, w.VNFD.Version); err != nil {
		return err
	}
	if w.Op.Type == sol.LcmOperationCreateSnapshot {
		return v.createSnapshot(w)
	}
	scope, limit := w.Op.Scope, &limit{err: v.fail, left: 1}
	if !v.partly {
		limit = nil
	}
	for _, vnfc := range scope.Remove {
		if err := v.remove(w, vnfc, limit); err != nil {
			return err
		}
	}
	for _, vnfc := range scope.VNFCs {
		if err := v.touch(w, vnfc, limit); err != nil {
			return err
		}
	}
	return v.converge(w, scope.Counts, limit)
}

// limit ends an operation with an error after some VNFCs.
type limit struct {
	err  error
	left int
}

// take counts a VNFC.
func (l *limit) take() error {
	if l == nil {
		return nil
	}
	if l.left == 0 {
		return l.err
	}
	l.left--
	return nil
}

// converge creates machines until each VDU has its number, and waits for them.
func (v *VIM) converge(w *lcm.Execution, counts map[string]int, limit *limit) error {
	id := w.Instance.ID
	for _, o := range slices.Clone(v.machines[id]) {
		if !o.broken {
			continue
		}
		if err := v.remove(w, o.vnfc(), nil); err != nil {
			return err
		}
	}
	for _, vdu := range w.Flavour.VDUs {
		for v.count(id, vdu.Name) < counts[vdu.Name] {
			if err := v.create(w, vdu.Name, limit); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(v.machines[id], machine.starting) {
		return lcm.Wait(10*time.Millisecond, "machines are being created")
	}
	if limit != nil {
		return limit.err
	}
	return nil
}

// create creates a machine of a VDU at the lowest free index.
func (v *VIM) create(w *lcm.Execution, vdu string, limit *limit) error {
	if err := limit.take(); err != nil {
		return err
	}
	vim, _, _ := lcm.VimOf(w.Instance.VimConnections, vdu)
	o := machine{
		id: uuid.NewString(), vdu: vdu, vim: vim, index: v.free(w.Instance.ID, vdu),
		state: sol.VnfOperationalStateStarted, ready: time.Now().Add(v.slow),
	}
	if v.refusal != "" {
		return lcm.Errorf(lcm.CodeUpstream, "create machine %s: %s", o.name(), v.refusal)
	}
	return v.call(true, func() error {
		v.machines[w.Instance.ID] = append(v.machines[w.Instance.ID], o)
		return nil
	})
}

// remove deletes the machine of a VNFC, if the VIM has it.
func (v *VIM) remove(w *lcm.Execution, vnfc string, limit *limit) error {
	if v.find(w.Instance.ID, vnfc) == nil {
		return nil
	}
	if err := limit.take(); err != nil {
		return err
	}
	return v.call(true, func() error {
		v.deleteIf(w.Instance.ID, func(o machine) bool { return o.vnfc() == vnfc })
		return nil
	})
}

// touch does to a VNFC what an operation does that keeps the numbers of VNFCs.
func (v *VIM) touch(w *lcm.Execution, vnfc string, limit *limit) error {
	switch w.Op.Type {
	case sol.LcmOperationHeal:
		o := v.find(w.Instance.ID, vnfc)
		if o == nil {
			return nil // converge creates its successor
		}
		vdu := o.vdu
		if err := v.remove(w, vnfc, limit); err != nil {
			return err
		}
		return v.create(w, vdu, nil)
	case sol.LcmOperationChangeVnfpkg:
		return v.replace(w, vnfc, limit)
	case sol.LcmOperationRevertToSnapshot:
		o := v.find(w.Instance.ID, vnfc)
		if o == nil {
			return nil
		}
		if err := limit.take(); err != nil {
			return err
		}
		return v.call(true, func() error { o.from = w.Op.SnapshotID(); return nil })
	case sol.LcmOperationOperate:
		to := sol.VnfOperationalStateStopped
		if w.Op.Before.Instantiated.VnfState == to {
			to = sol.VnfOperationalStateStarted
		}
		return v.operate(w, vnfc, to, limit)
	default:
		return nil
	}
}

// replace gives a VNFC a new machine. The VIM keeps the old one for a rollback.
func (v *VIM) replace(w *lcm.Execution, vnfc string, limit *limit) error {
	o := v.find(w.Instance.ID, vnfc)
	if o == nil {
		return nil
	}
	if err := limit.take(); err != nil {
		return err
	}
	return v.call(true, func() error {
		was := *o
		o.id = uuid.NewString()
		v.replaced[o.id] = was
		return nil
	})
}

// operate starts or stops a machine.
func (v *VIM) operate(w *lcm.Execution, vnfc string, to sol.VnfOperationalState, limit *limit) error {
	o := v.find(w.Instance.ID, vnfc)
	if o == nil || o.state == to {
		return nil
	}
	if err := limit.take(); err != nil {
		return err
	}
	return v.call(true, func() error { o.state = to; return nil })
}

// Restore implements lcm.Infra: machines that the operation added go, those that it replaced come back, and VNFCs that
// it removed get new machines.
func (v *VIM) Restore(_ context.Context, w *lcm.Execution) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.begin("restore %s with %s", w.Op.Type, w.VNFD.Version); err != nil {
		return err
	}
	if w.Op.Type == sol.LcmOperationCreateSnapshot {
		return v.deleteDisks(w.Op.SnapshotID())
	}
	counts := map[string]int{}
	for _, c := range w.Op.Before.Instantiated.VnfcInfo {
		counts[c.VduID]++
	}
	for n := range v.machines[w.Instance.ID] {
		o := &v.machines[w.Instance.ID][n]
		was, ok := v.replaced[o.id]
		if !ok {
			continue
		}
		if err := v.call(true, func() error { *o = was; return nil }); err != nil {
			return err
		}
	}
	for _, o := range slices.Clone(v.machines[w.Instance.ID]) {
		if v.count(w.Instance.ID, o.vdu) <= counts[o.vdu] {
			continue
		}
		if _, _, had := w.Op.Before.VNFC(o.vnfc()); had {
			continue
		}
		if err := v.remove(w, o.vnfc(), nil); err != nil {
			return err
		}
	}
	for _, c := range w.Op.Before.Instantiated.VnfcInfo {
		if err := v.operate(w, c.ID, c.VnfcState, nil); err != nil {
			return err
		}
	}
	return v.converge(w, counts, nil)
}

// Terminate implements lcm.Infra.
func (v *VIM) Terminate(_ context.Context, w *lcm.Execution) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.begin("terminate"); err != nil {
		return err
	}
	for _, o := range slices.Clone(v.machines[w.Instance.ID]) {
		if err := v.remove(w, o.vnfc(), nil); err != nil {
			return err
		}
	}
	return nil
}

// Halt implements lcm.Infra.
func (v *VIM) Halt(_ context.Context, w *lcm.Execution, mode sol.CancelModeType) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, "halt "+string(mode))
	if v.halting {
		return lcm.Wait(0, "the VIM finishes what it is doing")
	}
	for n := range v.machines[w.Instance.ID] {
		o := &v.machines[w.Instance.ID][n]
		switch {
		case !o.starting():
		case mode == sol.CancelModeGraceful:
			return lcm.Wait(10*time.Millisecond, "machine "+o.name()+" is being created")
		default:
			if err := v.call(true, func() error { o.broken = true; return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}
