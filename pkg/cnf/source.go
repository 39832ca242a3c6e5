package cnf

import (
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// rolledBack says that the operation is on its way back.
func rolledBack(w *lcm.Execution) bool { return w.Op.State == sol.LcmOperationStateRollingBack }

// desired makes what the operation leads to: at a rollback that is what Op.Before says.
func (t *tick) desired() (*desired, error) {
	params, err := t.w.Params()
	if rolledBack(t.w) && t.w.Op.Before != nil {
		params, err = t.w.Op.Before.Params.Decode()
	}
	if err != nil {
		return nil, err
	}
	read, bad := readParameters(params, t.conn, t.w.Flavour)
	counts, err := t.counts()
	if err != nil {
		return nil, err
	}
	d, more, err := source{
		pkg: t.w.Package, flavour: t.w.Flavour, params: read, instance: t.w.Instance.ID, counts: counts,
	}.load()
	if err != nil {
		return nil, err
	}
	return d, lcm.Unprocessable(append(bad, more...)...)
}

// previous makes what the instance had before a change of its package or flavour; at a rollback, what the operation
// would have led to. nil when the operation keeps both, or when it cannot be made any more.
func (t *tick) previous() *desired {
	p := t.w.Previous
	if p == nil || p.Flavour == nil || p.Package == nil || t.w.Op.Before == nil {
		return nil
	}
	params, err := t.w.Op.Before.Params.Decode()
	if rolledBack(t.w) {
		params, err = t.w.Params()
	}
	if err != nil {
		return nil
	}
	read, _ := readParameters(params, t.conn, p.Flavour)
	d, _, err := source{
		pkg: p.Package, flavour: p.Flavour, params: read, instance: t.w.Instance.ID, counts: countsOf(t.w.Op.Before),
	}.load()
	if err != nil {
		return nil
	}
	return d
}

// counts is the number of pods of every VDU that the operation leads to.
func (t *tick) counts() (map[string]int, error) {
	op := t.w.Op
	switch {
	case op.Type == sol.LcmOperationInstantiate:
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(op.Params, &req); err != nil {
			return nil, err
		}
		counts, ok := t.w.Flavour.Counts(req.InstantiationLevelID)
		if !ok {
			return nil, lcm.Unprocessable(lcm.InvalidParam{
				Pointer: "/instantiationLevelId", Detail: "the flavour has no such level",
			})
		}
		return counts, nil
	case rolledBack(t.w):
		return runningCounts(op.Before), nil
	case op.Type == sol.LcmOperationOperate:
		to, err := operateTo(op.Params)
		if err != nil || to == sol.VnfOperationalStateStopped {
			return map[string]int{}, err
		}
		return countsOf(op.Before), nil
	case op.Scope != nil:
		if stopped(op.Before) {
			return map[string]int{}, nil
		}
		return op.Scope.Counts, nil
	}
	return runningCounts(t.w.Instance), nil
}

// operateTo is the state that an OPERATE leads to.
func operateTo(params json.RawMessage) (sol.VnfOperationalState, error) {
	var req sol.OperateVnfRequest
	err := json.Unmarshal(params, &req)
	return req.ChangeStateTo, err
}

// countsOf is the number of VNFCs of an instance by VDU.
func countsOf(i *lcm.Instance) map[string]int {
	out := map[string]int{}
	if i != nil && i.Instantiated != nil {
		for _, c := range i.Instantiated.VnfcInfo {
			out[c.VduID]++
		}
	}
	return out
}

// runningCounts is countsOf for an instance that runs, and 0 for a stopped one.
func runningCounts(i *lcm.Instance) map[string]int {
	if stopped(i) {
		return map[string]int{}
	}
	return countsOf(i)
}

// stopped says that the pods of an instance are taken away.
func stopped(i *lcm.Instance) bool {
	return i != nil && i.Instantiated != nil && i.Instantiated.VnfState == sol.VnfOperationalStateStopped
}

// stops says that the instance has no pods after the operation.
func (t *tick) stops() bool {
	op := t.w.Op
	if op.Type == sol.LcmOperationOperate && !rolledBack(t.w) {
		to, err := operateTo(op.Params)
		return err == nil && to == sol.VnfOperationalStateStopped
	}
	return op.Type != sol.LcmOperationInstantiate && stopped(op.Before)
}
