package v1

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// VnfLcmOpOcc is a lifecycle operation occurrence (SOL003 v2.6.1 clause 5.5.2.13). Operations that version 1 does not
// have are shown with the operation and the attributes that they have in version 2.
type VnfLcmOpOcc struct {
	ID                                   string                                    `json:"id"`
	OperationState                       sol.LcmOperationStateType                 `json:"operationState"`
	StateEnteredTime                     time.Time                                 `json:"stateEnteredTime"`
	StartTime                            time.Time                                 `json:"startTime"`
	VnfInstanceID                        string                                    `json:"vnfInstanceId"`
	GrantID                              string                                    `json:"grantId,omitempty"`
	Operation                            sol.LcmOperationType                      `json:"operation"`
	IsAutomaticInvocation                bool                                      `json:"isAutomaticInvocation"`
	OperationParams                      json.RawMessage                           `json:"operationParams,omitempty"`
	IsCancelPending                      bool                                      `json:"isCancelPending"`
	CancelMode                           sol.CancelModeType                        `json:"cancelMode,omitempty"`
	Error                                *sol.ProblemDetails                       `json:"error,omitempty"`
	ResourceChanges                      *sol.ResourceChanges                      `json:"resourceChanges,omitempty"`
	ChangedInfo                          *VnfInfoModifications                     `json:"changedInfo,omitempty"`
	ChangedExtConnectivity               []ExtVirtualLinkInfo                      `json:"changedExtConnectivity,omitempty"`
	ModificationsTriggeredByVnfPkgChange *sol.ModificationsTriggeredByVnfPkgChange `json:"modificationsTriggeredByVnfPkgChange,omitempty"`
	VnfSnapshotInfoID                    string                                    `json:"vnfSnapshotInfoId,omitempty"`
	Links                                *sol.VnfLcmOpOccLinks                     `json:"_links,omitempty"`
}

// VnfInfoModifications lists the attributes of an instance that an operation changed, with their new values.
type VnfInfoModifications struct {
	VnfInstanceName           string                      `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription    string                      `json:"vnfInstanceDescription,omitempty"`
	VnfConfigurableProperties sol.KeyValuePairs           `json:"vnfConfigurableProperties,omitempty"`
	Metadata                  sol.KeyValuePairs           `json:"metadata,omitempty"`
	Extensions                sol.KeyValuePairs           `json:"extensions,omitempty"`
	VimConnectionInfo         []VimConnectionInfo         `json:"vimConnectionInfo,omitempty"`
	VnfdID                    string                      `json:"vnfdId,omitempty"`
	VnfProvider               string                      `json:"vnfProvider,omitempty"`
	VnfProductName            string                      `json:"vnfProductName,omitempty"`
	VnfSoftwareVersion        string                      `json:"vnfSoftwareVersion,omitempty"`
	VnfdVersion               string                      `json:"vnfdVersion,omitempty"`
	VnfcInfoModifications     []sol.VnfcInfoModifications `json:"vnfcInfoModifications,omitempty"`
}
