package infratest

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Fault is something that goes wrong in a VIM during an operation, and ends later.
type Fault struct {
	// On is the operation: INSTANTIATE if it is empty, SCALE (one step out), HEAL (of one VNFC, or with Whole of all)
	// or TERMINATE.
	On    sol.LcmOperationType
	Whole bool
	// Texts are in the error of the operation, or in the reason for which it waits.
	Texts []string
	// Waits says that the operation waits for the end of the fault, and does not fail. Passes says that the fault ends
	// by itself, and that the operation completes without a retry by the user.
	Waits, Passes bool
	// Begin and End are called with the id of the instance.
	Begin, End func(vim VIM, instanceID string)
}

// admitFor stores the operation of a fault.
func (v *vnf) admitFor(f Fault) {
	v.t.Helper()
	if f.On != "" && f.On != sol.LcmOperationInstantiate {
		v.instantiate()
	}
	switch f.On {
	case "", sol.LcmOperationInstantiate:
		v.admitInstantiate()
	case sol.LcmOperationScale:
		v.admitScale(sol.ScaleTypeOut)
	case sol.LcmOperationHeal:
		var r sol.HealVnfRequest
		if f.Whole {
			r.AdditionalParams = sol.KeyValuePairs{"all": true}
		} else {
			r.VnfcInstanceID = []string{v.instance.Instantiated.VnfcInfo[0].ID}
		}
		v.admit(sol.LcmOperationHeal, r)
	case sol.LcmOperationTerminate:
		v.admitTerminate()
	default:
		v.t.Fatalf("faults of %s cannot be tested", f.On)
	}
}

// Faults tests that an operation tells each fault in the VIM's own words, that it completes after the fault, by itself
// or by a retry, and that the termination leaves nothing.
func Faults(t *testing.T, h Harness, all map[string]Fault) {
	t.Helper()
	for name, f := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVNF(t, h, h.New(t))
			empty := v.vim.Contents()
			v.admitFor(f)
			f.Begin(v.vim, v.instance.ID)
			if !f.Passes {
				told, failed := v.told(f)
				require.Equal(t, f.Waits, !failed, "%v", told)
				for _, text := range f.Texts {
					require.ErrorContains(t, told, text)
				}
				f.End(v.vim, v.instance.ID)
				if failed {
					require.NotEqual(t, lcm.CodeInternal, lcm.AsError(told).Code)
					v.steer(lcm.EventRetry)
				}
			}
			v.complete()
			if f.On != sol.LcmOperationTerminate {
				v.requireInventory()
				v.terminate()
			}
			require.ElementsMatch(t, empty, v.vim.Contents())
		})
	}
}

// telling limits the time until an operation that waits gives the reason.
const telling = 30 * time.Second

// told runs the operation until it fails, or until it waits for a reason that has the texts of the fault.
func (v *vnf) told(f Fault) (told error, failed bool) {
	v.t.Helper()
	limit := time.Now().Add(telling)
	err := v.until(func() (bool, error) {
		done, err := v.tick()
		require.False(v.t, done, "the operation ends in spite of the fault")
		_, why, waiting := lcm.Waiting(v.t.Context(), err)
		for _, text := range f.Texts {
			waiting = waiting && strings.Contains(why, text)
		}
		if waiting {
			told = err
			return true, nil
		}
		require.True(v.t, time.Now().Before(limit), "the operation waits and does not say why: %v", err)
		return false, err
	})
	return cmp.Or(told, err), err != nil
}
