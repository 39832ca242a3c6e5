package sol

// VnfInstance is the individual VNF instance resource (SOL003 §5.5.2.2).
type VnfInstance struct {
	ID                        string        `json:"id"`
	VnfInstanceName           string        `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription    string        `json:"vnfInstanceDescription,omitempty"`
	VnfdID                    string        `json:"vnfdId"`
	VnfProvider               string        `json:"vnfProvider"`
	VnfProductName            string        `json:"vnfProductName"`
	VnfSoftwareVersion        string        `json:"vnfSoftwareVersion"`
	VnfdVersion               string        `json:"vnfdVersion"`
	VnfConfigurableProperties KeyValuePairs `json:"vnfConfigurableProperties,omitempty"`
	// VimConnectionInfo maps connection ids, which resource handles refer to,
	// to connections.
	VimConnectionInfo   map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	InstantiationState  InstantiationState           `json:"instantiationState"`
	InstantiatedVnfInfo *InstantiatedVnfInfo         `json:"instantiatedVnfInfo,omitempty"`
	Metadata            KeyValuePairs                `json:"metadata,omitempty"`
	Extensions          KeyValuePairs                `json:"extensions,omitempty"`
	Links               *VnfInstanceLinks            `json:"_links,omitempty"`
}

// VnfInstanceLinks (inline in the standard) names the resources and tasks that
// are available in the instance's present state; the others are nil.
type VnfInstanceLinks struct {
	Self          Link  `json:"self"`
	Indicators    *Link `json:"indicators,omitempty"`
	Instantiate   *Link `json:"instantiate,omitempty"`
	Terminate     *Link `json:"terminate,omitempty"`
	Scale         *Link `json:"scale,omitempty"`
	ScaleToLevel  *Link `json:"scaleToLevel,omitempty"`
	ChangeFlavour *Link `json:"changeFlavour,omitempty"`
	Heal          *Link `json:"heal,omitempty"`
	Operate       *Link `json:"operate,omitempty"`
	ChangeExtConn *Link `json:"changeExtConn,omitempty"`
	// ChangeCurrentVnfPkg is of API version 2.3.0.
	ChangeCurrentVnfPkg *Link `json:"changeCurrentVnfPkg,omitempty"`
	CreateSnapshot      *Link `json:"createSnapshot,omitempty"`
	RevertToSnapshot    *Link `json:"revertToSnapshot,omitempty"`
	// Protection is ours: it is present while the instance is protected against tasks that delete machines.
	Protection *Link `json:"protection,omitempty"`
}

// InstantiatedVnfInfo (inline in the standard) describes the resources of an
// instantiated VNF.
type InstantiatedVnfInfo struct {
	FlavourID                  string                       `json:"flavourId"`
	VnfState                   VnfOperationalState          `json:"vnfState"`
	ScaleStatus                []ScaleInfo                  `json:"scaleStatus,omitempty"`
	MaxScaleLevels             []ScaleInfo                  `json:"maxScaleLevels,omitempty"`
	ExtCpInfo                  []VnfExtCpInfo               `json:"extCpInfo,omitempty"`
	ExtVirtualLinkInfo         []ExtVirtualLinkInfo         `json:"extVirtualLinkInfo,omitempty"`
	ExtManagedVirtualLinkInfo  []ExtManagedVirtualLinkInfo  `json:"extManagedVirtualLinkInfo,omitempty"`
	MonitoringParameters       []MonitoringParameter        `json:"monitoringParameters,omitempty"`
	LocalizationLanguage       string                       `json:"localizationLanguage,omitempty"`
	VnfcResourceInfo           []VnfcResourceInfo           `json:"vnfcResourceInfo,omitempty"`
	VnfVirtualLinkResourceInfo []VnfVirtualLinkResourceInfo `json:"vnfVirtualLinkResourceInfo,omitempty"`
	VirtualStorageResourceInfo []VirtualStorageResourceInfo `json:"virtualStorageResourceInfo,omitempty"`
	// VnfcInfo belongs to SOL002; managers in the field expect it here as well.
	VnfcInfo []VnfcInfo `json:"vnfcInfo,omitempty"`
	// Metadata is an extension: driver data such as stack_id, nfv and tenant.
	Metadata KeyValuePairs `json:"metadata,omitempty"`
}

// VnfExtCpInfo is an external connection point of the VNF.
// Exactly one of the Associated ids is set.
type VnfExtCpInfo struct {
	ID                         string           `json:"id"`
	CpdID                      string           `json:"cpdId"`
	CpConfigID                 string           `json:"cpConfigId"`
	VnfdID                     string           `json:"vnfdId,omitempty"`
	CpProtocolInfo             []CpProtocolInfo `json:"cpProtocolInfo"`
	ExtLinkPortID              string           `json:"extLinkPortId,omitempty"`
	Metadata                   KeyValuePairs    `json:"metadata,omitempty"`
	AssociatedVnfcCpID         string           `json:"associatedVnfcCpId,omitempty"`
	AssociatedVnfVirtualLinkID string           `json:"associatedVnfVirtualLinkId,omitempty"`
}

// ExtVirtualLinkInfo is an external virtual link the VNF is connected to.
type ExtVirtualLinkInfo struct {
	ID                  string            `json:"id"`
	ResourceHandle      ResourceHandle    `json:"resourceHandle"`
	ExtLinkPorts        []ExtLinkPortInfo `json:"extLinkPorts,omitempty"`
	CurrentVnfExtCpData []VnfExtCpData    `json:"currentVnfExtCpData"`
}

// ExtLinkPortInfo is a port of an external virtual link. CpInstanceID refers to
// VnfExtCpInfo.
type ExtLinkPortInfo struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
	CpInstanceID   string         `json:"cpInstanceId,omitempty"`
	// SecondaryCpInstanceID and TrunkResourceID are of API version 2.3.0.
	SecondaryCpInstanceID string `json:"secondaryCpInstanceId,omitempty"`
	TrunkResourceID       string `json:"trunkResourceId,omitempty"`
}

// ExtManagedVirtualLinkInfo is an internal virtual link managed by others.
type ExtManagedVirtualLinkInfo struct {
	ID                               string            `json:"id"`
	VnfVirtualLinkDescID             string            `json:"vnfVirtualLinkDescId"`
	VnfdID                           string            `json:"vnfdId,omitempty"`
	NetworkResource                  ResourceHandle    `json:"networkResource"`
	VnfLinkPorts                     []VnfLinkPortInfo `json:"vnfLinkPorts,omitempty"`
	ExtManagedMultisiteVirtualLinkID string            `json:"extManagedMultisiteVirtualLinkId,omitempty"`
}

// VnfLinkPortInfo is a port of an internal virtual link. CpInstanceID refers to
// a VnfcCpInfo or a VnfExtCpInfo, as CpInstanceType says.
type VnfLinkPortInfo struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
	CpInstanceID   string         `json:"cpInstanceId,omitempty"`
	CpInstanceType CpInstanceType `json:"cpInstanceType,omitempty"`
}

// MonitoringParameter is a performance metric that the VNFM watches.
type MonitoringParameter struct {
	ID                string `json:"id"`
	VnfdID            string `json:"vnfdId,omitempty"`
	Name              string `json:"name,omitempty"`
	PerformanceMetric string `json:"performanceMetric"`
}

// VnfcResourceInfo is the compute resource of one VNFC with its connection
// points and storages.
type VnfcResourceInfo struct {
	ID                 string         `json:"id"`
	VduID              string         `json:"vduId"`
	VnfdID             string         `json:"vnfdId,omitempty"`
	ComputeResource    ResourceHandle `json:"computeResource"`
	ZoneID             string         `json:"zoneId,omitempty"`
	StorageResourceIds []string       `json:"storageResourceIds,omitempty"`
	ReservationID      string         `json:"reservationId,omitempty"`
	VnfcCpInfo         []VnfcCpInfo   `json:"vnfcCpInfo,omitempty"`
	Metadata           KeyValuePairs  `json:"metadata,omitempty"`
}

// VnfcCpInfo (inline in the standard) is a connection point of a VNFC. At most
// one of VnfExtCpID and VnfLinkPortID is set.
type VnfcCpInfo struct {
	ID             string           `json:"id"`
	CpdID          string           `json:"cpdId"`
	VnfExtCpID     string           `json:"vnfExtCpId,omitempty"`
	CpProtocolInfo []CpProtocolInfo `json:"cpProtocolInfo,omitempty"`
	VnfLinkPortID  string           `json:"vnfLinkPortId,omitempty"`
	Metadata       KeyValuePairs    `json:"metadata,omitempty"`
}

// VnfcInfo is a VNFC instance as SOL002 describes it.
type VnfcInfo struct {
	ID                         string              `json:"id"`
	VduID                      string              `json:"vduId"`
	VnfcResourceInfoID         string              `json:"vnfcResourceInfoId,omitempty"`
	VnfcState                  VnfOperationalState `json:"vnfcState"`
	VnfcConfigurableProperties KeyValuePairs       `json:"vnfcConfigurableProperties,omitempty"`
}

// VnfVirtualLinkResourceInfo is the network of an internal virtual link.
type VnfVirtualLinkResourceInfo struct {
	ID                   string            `json:"id"`
	VnfVirtualLinkDescID string            `json:"vnfVirtualLinkDescId"`
	VnfdID               string            `json:"vnfdId,omitempty"`
	NetworkResource      ResourceHandle    `json:"networkResource"`
	ZoneID               string            `json:"zoneId,omitempty"`
	ReservationID        string            `json:"reservationId,omitempty"`
	VnfLinkPorts         []VnfLinkPortInfo `json:"vnfLinkPorts,omitempty"`
	Metadata             KeyValuePairs     `json:"metadata,omitempty"`
}

// VirtualStorageResourceInfo is a storage resource, e.g. a volume.
type VirtualStorageResourceInfo struct {
	ID                   string         `json:"id"`
	VirtualStorageDescID string         `json:"virtualStorageDescId"`
	VnfdID               string         `json:"vnfdId,omitempty"`
	StorageResource      ResourceHandle `json:"storageResource"`
	ZoneID               string         `json:"zoneId,omitempty"`
	ReservationID        string         `json:"reservationId,omitempty"`
	Metadata             KeyValuePairs  `json:"metadata,omitempty"`
}
