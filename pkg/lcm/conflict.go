package lcm

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ActiveConflict returns the CodeConflict error of a request that an active operation of the instance forbids.
func ActiveConflict(opID string, t sol.LcmOperationType, state sol.LcmOperationStateType) *Error {
	hint := "wait until it has ended, or cancel it"
	if state == sol.LcmOperationStateFailedTemp {
		hint = WaysOut(&Operation{Type: t, State: sol.LcmOperationStateProcessing}) + " first"
	}
	return &Error{
		Code: CodeConflict, Title: "Another operation is active", Hint: hint,
		Detail: fmt.Sprintf("operation %s (%s) of this VNF instance is %s", opID, t, state),
	}
}
