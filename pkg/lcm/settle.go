package lcm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// settle completes what an infra driver's inventory has seen with what only the domain knows: scale levels, and which
// VNFCs are started. had is the record from before this inventory.
func (w *Execution) settle(had *sol.InstantiatedVnfInfo) error {
	i := w.Instance.Instantiated
	if i == nil {
		return nil
	}
	levels, err := w.scaleLevels()
	if err != nil {
		return err
	}
	i.ScaleStatus, i.MaxScaleLevels = nil, nil
	for _, a := range w.Flavour.Aspects {
		i.ScaleStatus = append(i.ScaleStatus, sol.ScaleInfo{AspectID: a.ID, ScaleLevel: levels[a.ID]})
		i.MaxScaleLevels = append(i.MaxScaleLevels, sol.ScaleInfo{AspectID: a.ID, ScaleLevel: a.MaxScaleLevel})
	}
	w.settleStates()
	w.forgetReplaced(had)
	return nil
}

// scaleLevels is the scale level of every aspect for the VNFCs that the inventory found.
func (w *Execution) scaleLevels() (map[string]int, error) {
	if w.Op.Kind().Instantiates() {
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(w.Op.Params, &req); err != nil {
			return nil, fmt.Errorf("decode the operation's request: %w", err)
		}
		return levelOf(w.Flavour, w.Flavour.Level(req.InstantiationLevelID)), nil
	}
	now := countVNFCs(w.Instance.Instantiated)
	levels := w.knownLevels(now)
	// While an operation is not done, an old VNFC can be there beside its replacement.
	if w.phase == PhaseInventory || w.phase == PhaseRollbackInventory {
		levels = raisedLevels(w.Flavour, levels, now)
	}
	return levels, nil
}

// knownLevels is the scale levels that the operation leads to, or has reached.
func (w *Execution) knownLevels(now map[string]int) map[string]int {
	switch {
	case w.Op.Before == nil:
		return scaleLevels(w.Instance.Instantiated)
	case w.Op.Scope == nil:
		return scaleLevels(w.Op.Before.Instantiated)
	}
	from, to := stay(w.Op.Before.Instantiated, ""), w.Op.Scope
	if w.Op.State == sol.LcmOperationStateRollingBack {
		from, to = to, from
	}
	if !w.Op.Kind().Scales {
		return to.ScaleLevels
	}
	return reached(w.Flavour, from, to, now)
}

// settleStates sets which VNFCs are started. What the driver has seen holds; where it has not looked, a machine is what
// it was, and a new one is started.
func (w *Execution) settleStates() {
	i := w.Instance.Instantiated
	stopped := len(i.VnfcInfo) > 0
	for n := range i.VnfcInfo {
		c := &i.VnfcInfo[n]
		if w.Op.Before != nil && c.VnfcState == "" {
			if old, _, ok := w.Op.Before.VNFC(c.ID); ok && old.VnfcResourceInfoID == c.VnfcResourceInfoID {
				c.VnfcState = old.VnfcState
			}
		}
		if c.VnfcState == "" {
			c.VnfcState = sol.VnfOperationalStateStarted
		}
		stopped = stopped && c.VnfcState == sol.VnfOperationalStateStopped
	}
	i.VnfState = sol.VnfOperationalStateStarted
	if stopped {
		i.VnfState = sol.VnfOperationalStateStopped
	}
}

// forgetReplaced lets go of the machines that are not those of their VNFCs any more.
func (w *Execution) forgetReplaced(had *sol.InstantiatedVnfInfo) {
	if had == nil {
		return
	}
	for _, old := range had.VnfcInfo {
		same := func(c sol.VnfcInfo) bool { return c.ID == old.ID && c.VnfcResourceInfoID == old.VnfcResourceInfoID }
		if !slices.ContainsFunc(w.Instance.Instantiated.VnfcInfo, same) {
			w.ForgetVNFCs(old.ID)
		}
	}
}
