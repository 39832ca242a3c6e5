package sol

import (
	"encoding/json"
	"time"
)

// VnfLcmOpOcc is a lifecycle operation occurrence (SOL003 §5.5.2.13).
type VnfLcmOpOcc struct {
	ID                    string                `json:"id"`
	OperationState        LcmOperationStateType `json:"operationState"`
	StateEnteredTime      time.Time             `json:"stateEnteredTime"`
	StartTime             time.Time             `json:"startTime"`
	VnfInstanceID         string                `json:"vnfInstanceId"`
	GrantID               string                `json:"grantId,omitempty"`
	Operation             LcmOperationType      `json:"operation"`
	IsAutomaticInvocation bool                  `json:"isAutomaticInvocation"`
	// OperationParams is the request body of the operation's task. It may hold
	// secrets: RedactOperationParams before it leaves the product.
	OperationParams                      json.RawMessage                       `json:"operationParams,omitempty"`
	IsCancelPending                      bool                                  `json:"isCancelPending"`
	CancelMode                           CancelModeType                        `json:"cancelMode,omitempty"`
	Error                                *ProblemDetails                       `json:"error,omitempty"`
	ResourceChanges                      *ResourceChanges                      `json:"resourceChanges,omitempty"`
	ChangedInfo                          *VnfInfoModifications                 `json:"changedInfo,omitempty"`
	ChangedExtConnectivity               []ExtVirtualLinkInfo                  `json:"changedExtConnectivity,omitempty"`
	ModificationsTriggeredByVnfPkgChange *ModificationsTriggeredByVnfPkgChange `json:"modificationsTriggeredByVnfPkgChange,omitempty"`
	VnfSnapshotInfoID                    string                                `json:"vnfSnapshotInfoId,omitempty"`
	Links                                *VnfLcmOpOccLinks                     `json:"_links,omitempty"`
}

// VnfLcmOpOccLinks (inline in the standard) names the tasks that are available
// in the operation's present state; the others are nil.
type VnfLcmOpOccLinks struct {
	Self        Link  `json:"self"`
	VnfInstance Link  `json:"vnfInstance"`
	Grant       *Link `json:"grant,omitempty"`
	Cancel      *Link `json:"cancel,omitempty"`
	Retry       *Link `json:"retry,omitempty"`
	Rollback    *Link `json:"rollback,omitempty"`
	Fail        *Link `json:"fail,omitempty"`
	VnfSnapshot *Link `json:"vnfSnapshot,omitempty"`
}

// ResourceChanges (inline in the standard) lists what an operation did to
// virtualised resources.
type ResourceChanges struct {
	AffectedVnfcs           []AffectedVnfc           `json:"affectedVnfcs,omitempty"`
	AffectedVirtualLinks    []AffectedVirtualLink    `json:"affectedVirtualLinks,omitempty"`
	AffectedExtLinkPorts    []AffectedExtLinkPort    `json:"affectedExtLinkPorts,omitempty"`
	AffectedVirtualStorages []AffectedVirtualStorage `json:"affectedVirtualStorages,omitempty"`
}

// AffectedVnfc is a VNFC that was added, removed or changed.
type AffectedVnfc struct {
	ID                        string         `json:"id"`
	VduID                     string         `json:"vduId"`
	VnfdID                    string         `json:"vnfdId,omitempty"`
	ChangeType                ChangeType     `json:"changeType"`
	ComputeResource           ResourceHandle `json:"computeResource"`
	ResourceDefinitionID      string         `json:"resourceDefinitionId,omitempty"`
	ZoneID                    string         `json:"zoneId,omitempty"`
	Metadata                  KeyValuePairs  `json:"metadata,omitempty"`
	AffectedVnfcCpIds         []string       `json:"affectedVnfcCpIds,omitempty"`
	AddedStorageResourceIds   []string       `json:"addedStorageResourceIds,omitempty"`
	RemovedStorageResourceIds []string       `json:"removedStorageResourceIds,omitempty"`
}

// AffectedVirtualLink is a virtual link, or a set of its ports, that was added,
// removed or changed.
type AffectedVirtualLink struct {
	ID                   string         `json:"id"`
	VnfVirtualLinkDescID string         `json:"vnfVirtualLinkDescId"`
	VnfdID               string         `json:"vnfdId,omitempty"`
	ChangeType           ChangeType     `json:"changeType"`
	NetworkResource      ResourceHandle `json:"networkResource"`
	VnfLinkPortIds       []string       `json:"vnfLinkPortIds,omitempty"`
	ResourceDefinitionID string         `json:"resourceDefinitionId,omitempty"`
	ZoneID               string         `json:"zoneId,omitempty"`
	Metadata             KeyValuePairs  `json:"metadata,omitempty"`
}

// AffectedExtLinkPort is a port of an external link that was added or removed.
type AffectedExtLinkPort struct {
	ID                   string         `json:"id"`
	ChangeType           ChangeType     `json:"changeType"`
	ExtCpInstanceID      string         `json:"extCpInstanceId"`
	ResourceHandle       ResourceHandle `json:"resourceHandle"`
	ResourceDefinitionID string         `json:"resourceDefinitionId,omitempty"`
}

// AffectedVirtualStorage is a storage that was added, removed or changed.
type AffectedVirtualStorage struct {
	ID                   string         `json:"id"`
	VirtualStorageDescID string         `json:"virtualStorageDescId"`
	VnfdID               string         `json:"vnfdId,omitempty"`
	ChangeType           ChangeType     `json:"changeType"`
	StorageResource      ResourceHandle `json:"storageResource"`
	ResourceDefinitionID string         `json:"resourceDefinitionId,omitempty"`
	ZoneID               string         `json:"zoneId,omitempty"`
	Metadata             KeyValuePairs  `json:"metadata,omitempty"`
}

// VnfInfoModifications lists the attributes of an instance that an operation
// changed, with their new values.
type VnfInfoModifications struct {
	VnfInstanceName           string                       `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription    string                       `json:"vnfInstanceDescription,omitempty"`
	VnfConfigurableProperties KeyValuePairs                `json:"vnfConfigurableProperties,omitempty"`
	Metadata                  KeyValuePairs                `json:"metadata,omitempty"`
	Extensions                KeyValuePairs                `json:"extensions,omitempty"`
	VimConnectionInfo         map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	VnfdID                    string                       `json:"vnfdId,omitempty"`
	VnfProvider               string                       `json:"vnfProvider,omitempty"`
	VnfProductName            string                       `json:"vnfProductName,omitempty"`
	VnfSoftwareVersion        string                       `json:"vnfSoftwareVersion,omitempty"`
	VnfdVersion               string                       `json:"vnfdVersion,omitempty"`
	// VnfcInfoModifications belongs to SOL002.
	VnfcInfoModifications []VnfcInfoModifications `json:"vnfcInfoModifications,omitempty"`
}

// ModificationsTriggeredByVnfPkgChange lists the attributes of an instance that
// changed together with its package.
type ModificationsTriggeredByVnfPkgChange struct {
	VnfConfigurableProperties KeyValuePairs `json:"vnfConfigurableProperties,omitempty"`
	Metadata                  KeyValuePairs `json:"metadata,omitempty"`
	Extensions                KeyValuePairs `json:"extensions,omitempty"`
	VnfdID                    string        `json:"vnfdId,omitempty"`
	VnfProvider               string        `json:"vnfProvider,omitempty"`
	VnfProductName            string        `json:"vnfProductName,omitempty"`
	VnfSoftwareVersion        string        `json:"vnfSoftwareVersion,omitempty"`
	VnfdVersion               string        `json:"vnfdVersion,omitempty"`
}
