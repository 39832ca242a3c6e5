package lcm

import (
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Addition says which VNFCs of a VDU are new: Count of them, with the indexes from First on.
type Addition struct{ First, Count int }

// Additions lists the VNFCs that the operation makes, by VDU.
func (w *Execution) Additions() (map[string]Addition, error) {
	out := map[string]Addition{}
	if w.Op.Kind().Instantiates() {
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(w.Op.Params, &req); err != nil {
			return nil, fmt.Errorf("decode the operation's request: %w", err)
		}
		counts, _ := w.Flavour.Counts(req.InstantiationLevelID)
		for vdu, n := range counts {
			out[vdu] = Addition{Count: n}
		}
		return out, nil
	}
	if w.Op.Scope != nil {
		for vdu, n := range w.Op.Scope.Add {
			out[vdu] = Addition{First: w.Op.Scope.Counts[vdu] - n, Count: n}
		}
	}
	return out, nil
}
