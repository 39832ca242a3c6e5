package helm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// An OPERATE is an upgrade of the releases: the values with the numbers of VNFCs become 0 for a stop, and those of
// before for a start. VNFCs keep their ids while they have no pods.

// stops says that an OPERATE request leads to a stopped CNF.
func stops(params []byte) (bool, error) {
	var req sol.OperateVnfRequest
	if err := json.Unmarshal(params, &req); err != nil {
		return false, fmt.Errorf("decode the operation's request: %w", err)
	}
	return req.ChangeStateTo == sol.VnfOperationalStateStopped, nil
}

// stopped says that the pods of an instance are taken away.
func stopped(i *lcm.Instance) bool {
	return i != nil && i.Instantiated != nil && i.Instantiated.VnfState == sol.VnfOperationalStateStopped
}

// stops says that the instance has no pods after the operation.
func (k *work) stops() bool {
	if k.Op.Type == sol.LcmOperationOperate && k.Op.State != sol.LcmOperationStateRollingBack {
		to, err := stops(k.Op.Params)
		return err == nil && to
	}
	return k.Op.Type != sol.LcmOperationInstantiate && stopped(k.Op.Before)
}

// pods are the numbers of pods for numbers of VNFCs: a stopped CNF has none.
func (k *work) pods(counts map[string]int) map[string]int {
	if k.stops() {
		return noPods(k.Flavour)
	}
	return counts
}

func noPods(f *vnfd.Flavour) map[string]int {
	out := map[string]int{}
	for n := range f.VDUs {
		out[f.VDUs[n].Name] = 0
	}
	return out
}

// plannedPods are the numbers of pods that a request leads to.
func plannedPods(r lcm.Request) map[string]int {
	halts := stopped(r.Instance)
	if r.Type == sol.LcmOperationOperate {
		halts, _ = stops(r.Params) // the request was decoded before
	}
	switch {
	case r.Type == sol.LcmOperationInstantiate:
		level, _ := instantiationLevel(r.Params)
		counts, _ := r.Flavour.Counts(level)
		return counts
	case halts:
		return noPods(r.Flavour)
	case r.Scope != nil:
		return r.Scope.Counts
	}
	return map[string]int{}
}

// unstoppable rejects an OPERATE when the number of VNFCs of a VDU is not a value of the chart, and another number of
// VNFCs for a stopped CNF.
func (s *settings) unstoppable(r lcm.Request) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	switch {
	case r.Type == sol.LcmOperationOperate:
		for n := range r.Flavour.VDUs {
			vdu := r.Flavour.VDUs[n].Name
			if !slices.ContainsFunc(s.releases, func(r spec) bool { return r.replicas[vdu] != "" }) {
				bad = append(bad, lcm.InvalidParam{
					Pointer: "/changeStateTo",
					Detail: fmt.Sprintf("the VDU %s cannot be stopped and started: %s does not have the "+
						"value with the number of its VNFCs", vdu, paramValueNames),
				})
			}
		}
	case !stopped(r.Instance) || r.Scope == nil:
	case len(r.Scope.Add) > 0 || len(r.Scope.Remove) > 0:
		at := map[sol.LcmOperationType]string{
			sol.LcmOperationScale: "/aspectId", sol.LcmOperationChangeFlavour: "/newFlavourId",
		}
		bad = append(bad, lcm.InvalidParam{
			Pointer: at[r.Type], Detail: "the CNF is stopped; start it before its number of VNFCs changes",
		})
	}
	return bad
}
