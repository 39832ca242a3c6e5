package render

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// Operation makes the document of an operation.
func Operation(op *lcm.Operation) (*lcm.OperationDocument, error) {
	brief, err := OperationBrief(op)
	if err != nil {
		return nil, err
	}
	params, err := OperationParams(op)
	if err != nil {
		return nil, err
	}
	details, err := OperationDetails(op)
	if err != nil {
		return nil, err
	}
	return &lcm.OperationDocument{
		Document: lcm.Document{
			ID: op.ID, Version: op.Version, Updated: op.Updated, Brief: brief, Details: Join(params, details),
		},
		InstanceID: op.InstanceID, Events: Events(op), GrantHref: op.GrantHref, SnapshotID: op.SnapshotID(),
	}, nil
}

// OperationBrief makes the attributes that lists contain by default.
func OperationBrief(op *lcm.Operation) ([]byte, error) {
	shown := sol.VnfLcmOpOcc{
		ID: op.ID, OperationState: op.State, StateEnteredTime: op.StateEntered, StartTime: op.Started,
		VnfInstanceID: op.InstanceID, Operation: op.Type, IsAutomaticInvocation: op.Automatic,
		IsCancelPending: op.Cancel != "", CancelMode: op.Cancel, VnfSnapshotInfoID: op.SnapshotID(),
	}
	if op.Grant != nil {
		shown.GrantID = op.Grant.ID
	}
	return json.Marshal(shown)
}

// OperationParams makes the attribute operationParams, which never changes; nil when there are none.
func OperationParams(op *lcm.Operation) ([]byte, error) {
	return optional(struct {
		OperationParams json.RawMessage `json:"operationParams,omitempty"`
	}{redact.New(op.SecretNames...).Params(op.Params)})
}

// operationDetails are the attributes that lists leave out by default, without operationParams. All are optional.
type operationDetails struct {
	Error                                *sol.ProblemDetails                       `json:"error,omitempty"`
	ResourceChanges                      *sol.ResourceChanges                      `json:"resourceChanges,omitempty"`
	ChangedInfo                          *sol.VnfInfoModifications                 `json:"changedInfo,omitempty"`
	ChangedExtConnectivity               []sol.ExtVirtualLinkInfo                  `json:"changedExtConnectivity,omitempty"`
	ModificationsTriggeredByVnfPkgChange *sol.ModificationsTriggeredByVnfPkgChange `json:"modificationsTriggeredByVnfPkgChange,omitempty"`
}

// OperationDetails makes the other attributes; nil when there are none.
func OperationDetails(op *lcm.Operation) ([]byte, error) {
	redactor := redact.New(op.SecretNames...)
	return optional(operationDetails{
		Error: op.Error.Problem(op), ResourceChanges: op.ResourceChanges, ChangedInfo: redactor.Changes(op.ChangedInfo),
		ChangedExtConnectivity:               op.ChangedExtConnectivity,
		ModificationsTriggeredByVnfPkgChange: redactor.PackageChanges(op.Modifications),
	})
}

// Events lists what a user can do with an operation, separated by spaces. Its links depend on it.
func Events(op *lcm.Operation) string {
	var names []string
	for _, e := range lcm.Allowed(op) {
		names = append(names, string(e))
	}
	return strings.Join(names, " ")
}

// Join makes one JSON object of the members of several. Those that are nil have none.
func Join(objects ...[]byte) []byte {
	var out []byte
	for _, o := range objects {
		switch {
		case len(o) <= len("{}"):
		case out == nil:
			out = o
		default:
			out = slices.Concat(out[:len(out)-1], []byte{','}, o[1:])
		}
	}
	return out
}
