package sol

// GrantRequest asks the NFVO for permission to run an operation
// (SOL003 §9.5.2.2, grant API 1.4.0).
type GrantRequest struct {
	VnfInstanceID         string                `json:"vnfInstanceId"`
	VnfLcmOpOccID         string                `json:"vnfLcmOpOccId"`
	VnfdID                string                `json:"vnfdId"`
	DstVnfdID             string                `json:"dstVnfdId,omitempty"`
	FlavourID             string                `json:"flavourId,omitempty"`
	Operation             LcmOperationType      `json:"operation"`
	IsAutomaticInvocation bool                  `json:"isAutomaticInvocation"`
	InstantiationLevelID  string                `json:"instantiationLevelId,omitempty"`
	AddResources          []ResourceDefinition  `json:"addResources,omitempty"`
	TempResources         []ResourceDefinition  `json:"tempResources,omitempty"`
	RemoveResources       []ResourceDefinition  `json:"removeResources,omitempty"`
	UpdateResources       []ResourceDefinition  `json:"updateResources,omitempty"`
	PlacementConstraints  []PlacementConstraint `json:"placementConstraints,omitempty"`
	VimConstraints        []VimConstraint       `json:"vimConstraints,omitempty"`
	AdditionalParams      KeyValuePairs         `json:"additionalParams,omitempty"`
	Links                 GrantRequestLinks     `json:"_links"`
}

// GrantRequestLinks (inline in the standard).
type GrantRequestLinks struct {
	VnfLcmOpOcc Link `json:"vnfLcmOpOcc"`
	VnfInstance Link `json:"vnfInstance"`
}

// ResourceType is the kind of resource in a ResourceDefinition.
type ResourceType string

// Values of ResourceType.
const (
	ResourceTypeCompute  ResourceType = "COMPUTE"
	ResourceTypeVl       ResourceType = "VL"
	ResourceTypeStorage  ResourceType = "STORAGE"
	ResourceTypeLinkport ResourceType = "LINKPORT"
)

// ResourceDefinition is one resource the operation wants to add, change or
// remove.
type ResourceDefinition struct {
	ID                 string                      `json:"id"`
	Type               ResourceType                `json:"type"`
	VduID              string                      `json:"vduId,omitempty"`
	VnfdID             string                      `json:"vnfdId,omitempty"`
	ResourceTemplateID string                      `json:"resourceTemplateId,omitempty"`
	Resource           *ResourceHandle             `json:"resource,omitempty"`
	SnapshotResDef     *SnapshotResourceDefinition `json:"snapshotResDef,omitempty"`
}

// SnapshotResourceDefinition refers to the snapshot a resource is made from.
type SnapshotResourceDefinition struct {
	VnfSnapshotID     string          `json:"vnfSnapshotId"`
	VnfcSnapshotID    string          `json:"vnfcSnapshotId,omitempty"`
	StorageSnapshotID string          `json:"storageSnapshotId,omitempty"`
	SnapshotResource  *ResourceHandle `json:"snapshotResource,omitempty"`
}

// AffinityOrAntiAffinity is the sense of a placement constraint.
type AffinityOrAntiAffinity string

// Values of AffinityOrAntiAffinity.
const (
	Affinity     AffinityOrAntiAffinity = "AFFINITY"
	AntiAffinity AffinityOrAntiAffinity = "ANTI_AFFINITY"
)

// PlacementScope is the scope of a placement constraint.
type PlacementScope string

// Values of PlacementScope.
const (
	PlacementScopeNfviPop   PlacementScope = "NFVI_POP"
	PlacementScopeZone      PlacementScope = "ZONE"
	PlacementScopeZoneGroup PlacementScope = "ZONE_GROUP"
	PlacementScopeNfviNode  PlacementScope = "NFVI_NODE"
)

// PlacementConstraint asks to place two or more resources together or apart.
type PlacementConstraint struct {
	AffinityOrAntiAffinity AffinityOrAntiAffinity  `json:"affinityOrAntiAffinity"`
	Scope                  PlacementScope          `json:"scope"`
	Resource               []ConstraintResourceRef `json:"resource"`
	FallbackBestEffort     bool                    `json:"fallbackBestEffort,omitempty"`
}

// VimConstraint asks to use one VIM connection for two or more resources.
type VimConstraint struct {
	SameResourceGroup bool                    `json:"sameResourceGroup,omitempty"`
	Resource          []ConstraintResourceRef `json:"resource"`
}

// ResourceIDType says what a ConstraintResourceRef refers to.
type ResourceIDType string

// Values of ResourceIDType.
const (
	// ResourceIDTypeResMgmt marks an id of the VIM.
	ResourceIDTypeResMgmt ResourceIDType = "RES_MGMT"
	// ResourceIDTypeGrant marks an id of a ResourceDefinition of the request.
	ResourceIDTypeGrant ResourceIDType = "GRANT"
)

// ConstraintResourceRef refers to a resource in a constraint.
type ConstraintResourceRef struct {
	IDType             ResourceIDType `json:"idType"`
	ResourceID         string         `json:"resourceId"`
	VimConnectionID    string         `json:"vimConnectionId,omitempty"`
	ResourceProviderID string         `json:"resourceProviderId,omitempty"`
}

// Grant is the NFVO's permission, with what it chose for the operation.
type Grant struct {
	ID                     string                       `json:"id"`
	VnfInstanceID          string                       `json:"vnfInstanceId"`
	VnfLcmOpOccID          string                       `json:"vnfLcmOpOccId"`
	VimConnectionInfo      map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	Zones                  []ZoneInfo                   `json:"zones,omitempty"`
	ZoneGroups             []ZoneGroupInfo              `json:"zoneGroups,omitempty"`
	AddResources           []GrantInfo                  `json:"addResources,omitempty"`
	TempResources          []GrantInfo                  `json:"tempResources,omitempty"`
	RemoveResources        []GrantInfo                  `json:"removeResources,omitempty"`
	UpdateResources        []GrantInfo                  `json:"updateResources,omitempty"`
	VimAssets              *VimAssets                   `json:"vimAssets,omitempty"`
	ExtVirtualLinks        []ExtVirtualLinkData         `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks []ExtManagedVirtualLinkData  `json:"extManagedVirtualLinks,omitempty"`
	AdditionalParams       KeyValuePairs                `json:"additionalParams,omitempty"`
	Links                  GrantLinks                   `json:"_links"`
}

// GrantLinks (inline in the standard).
type GrantLinks struct {
	Self        Link `json:"self"`
	VnfLcmOpOcc Link `json:"vnfLcmOpOcc"`
	VnfInstance Link `json:"vnfInstance"`
}

// GrantInfo is the NFVO's decision about one ResourceDefinition. ZoneID is an
// id of Grant.Zones, not of the VIM.
type GrantInfo struct {
	ResourceDefinitionID string `json:"resourceDefinitionId"`
	ReservationID        string `json:"reservationId,omitempty"`
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ZoneID               string `json:"zoneId,omitempty"`
	ResourceGroupID      string `json:"resourceGroupId,omitempty"`
}

// ZoneInfo maps an id of the grant to a zone of the VIM.
type ZoneInfo struct {
	ID                 string `json:"id"`
	ZoneID             string `json:"zoneId"`
	VimConnectionID    string `json:"vimConnectionId,omitempty"`
	ResourceProviderID string `json:"resourceProviderId,omitempty"`
}

// ZoneGroupInfo lists zones that belong together. ZoneID is singular in the
// standard, although it is a list.
type ZoneGroupInfo struct {
	ZoneID []string `json:"zoneId"`
}

// VimAssets (inline in the standard) maps names of the VNFD to assets of VIMs.
type VimAssets struct {
	ComputeResourceFlavours []VimComputeResourceFlavour `json:"computeResourceFlavours,omitempty"`
	SoftwareImages          []VimSoftwareImage          `json:"softwareImages,omitempty"`
	SnapshotResources       []VimSnapshotResource       `json:"snapshotResources,omitempty"`
}

// VimComputeResourceFlavour maps a virtual compute descriptor to a VIM flavour.
type VimComputeResourceFlavour struct {
	VimConnectionID          string `json:"vimConnectionId,omitempty"`
	ResourceProviderID       string `json:"resourceProviderId,omitempty"`
	VnfdVirtualComputeDescID string `json:"vnfdVirtualComputeDescId"`
	VimFlavourID             string `json:"vimFlavourId"`
}

// VimSoftwareImage maps a software image descriptor to a VIM image.
type VimSoftwareImage struct {
	VimConnectionID     string `json:"vimConnectionId,omitempty"`
	ResourceProviderID  string `json:"resourceProviderId,omitempty"`
	VnfdSoftwareImageID string `json:"vnfdSoftwareImageId"`
	VimSoftwareImageID  string `json:"vimSoftwareImageId"`
}

// VimSnapshotResource maps a snapshot to a VIM resource.
type VimSnapshotResource struct {
	VimConnectionID       string `json:"vimConnectionId,omitempty"`
	ResourceProviderID    string `json:"resourceProviderId,omitempty"`
	VnfSnapshotID         string `json:"vnfSnapshotId"`
	VnfcSnapshotID        string `json:"vnfcSnapshotId"`
	StorageSnapshotID     string `json:"storageSnapshotId,omitempty"`
	VimSnapshotResourceID string `json:"vimSnapshotResourceId"`
}
