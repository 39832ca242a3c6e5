package sol

import "time"

// VnfSnapshotInfo is an "Individual VNF snapshot" resource (SOL003 §5.5.2.22).
type VnfSnapshotInfo struct {
	ID string `json:"id"`
	// VnfSnapshotPkgID is the NFVO's.
	VnfSnapshotPkgID string `json:"vnfSnapshotPkgId,omitempty"`
	// VnfSnapshot is nil while the resource is empty.
	VnfSnapshot *VnfSnapshot          `json:"vnfSnapshot,omitempty"`
	Links       *VnfSnapshotInfoLinks `json:"_links,omitempty"`
}

// VnfSnapshotInfoLinks (inline in the standard) are the links of a snapshot resource.
type VnfSnapshotInfoLinks struct {
	Self      Link  `json:"self"`
	TakenFrom *Link `json:"takenFrom,omitempty"`
}

// VnfSnapshot is a snapshot of a VNF (SOL003 §5.5.3.18).
type VnfSnapshot struct {
	ID                 string     `json:"id"`
	VnfInstanceID      string     `json:"vnfInstanceId"`
	CreationStartedAt  *time.Time `json:"creationStartedAt,omitempty"`
	CreationFinishedAt *time.Time `json:"creationFinishedAt,omitempty"`
	VnfdID             string     `json:"vnfdId"`
	// VnfInstance is the instance as it was then. Its links name the instance, which may not exist any more.
	VnfInstance     *VnfInstance       `json:"vnfInstance,omitempty"`
	VnfcSnapshots   []VnfcSnapshotInfo `json:"vnfcSnapshots"`
	UserDefinedData KeyValuePairs      `json:"userDefinedData,omitempty"`
}

// VnfcSnapshotInfo is a snapshot of a VNFC (SOL003 §5.5.3.19).
type VnfcSnapshotInfo struct {
	ID                       string                    `json:"id"`
	VnfcInstanceID           string                    `json:"vnfcInstanceId"`
	CreationStartedAt        *time.Time                `json:"creationStartedAt,omitempty"`
	CreationFinishedAt       *time.Time                `json:"creationFinishedAt,omitempty"`
	VnfcResourceInfoID       string                    `json:"vnfcResourceInfoId,omitempty"`
	ComputeSnapshotResource  *ResourceHandle           `json:"computeSnapshotResource,omitempty"`
	StorageSnapshotResources []StorageSnapshotResource `json:"storageSnapshotResources,omitempty"`
}

// StorageSnapshotResource (inline in the standard) is the snapshot of one storage of a VNFC.
type StorageSnapshotResource struct {
	StorageResourceID       string          `json:"storageResourceId"`
	StorageSnapshotResource *ResourceHandle `json:"storageSnapshotResource,omitempty"`
}

// CreateVnfSnapshotInfoRequest is the body of POST on the list of snapshots.
type CreateVnfSnapshotInfoRequest struct {
	VnfSnapshotPkgID string       `json:"vnfSnapshotPkgId,omitempty"`
	VnfSnapshot      *VnfSnapshot `json:"vnfSnapshot,omitempty"`
}

// VnfSnapshotInfoModificationRequest is the body of PATCH on a snapshot.
type VnfSnapshotInfoModificationRequest struct {
	VnfSnapshotPkgID string       `json:"vnfSnapshotPkgId,omitempty"`
	VnfSnapshot      *VnfSnapshot `json:"vnfSnapshot,omitempty"`
}

// VnfSnapshotInfoModifications is what a PATCH on a snapshot has changed.
type VnfSnapshotInfoModifications struct {
	VnfSnapshotPkgID string       `json:"vnfSnapshotPkgId,omitempty"`
	VnfSnapshot      *VnfSnapshot `json:"vnfSnapshot,omitempty"`
}

// CreateVnfSnapshotRequest is the body of the create_snapshot task.
type CreateVnfSnapshotRequest struct {
	VnfSnapshotInfoID string        `json:"vnfSnapshotInfoId"`
	AdditionalParams  KeyValuePairs `json:"additionalParams,omitempty"`
	UserDefinedData   KeyValuePairs `json:"userDefinedData,omitempty"`
}

// RevertToVnfSnapshotRequest is the body of the revert_to_snapshot task.
type RevertToVnfSnapshotRequest struct {
	VnfSnapshotInfoID string `json:"vnfSnapshotInfoId"`
	// VnfcSnapshotInfoID (SOL002) reverts one VNFC only.
	VnfcSnapshotInfoID string        `json:"vnfcSnapshotInfoId,omitempty"`
	AdditionalParams   KeyValuePairs `json:"additionalParams,omitempty"`
}
