package sol

// CreateVnfRequest creates a VNF instance resource.
type CreateVnfRequest struct {
	VnfdID                 string        `json:"vnfdId"`
	VnfInstanceName        string        `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription string        `json:"vnfInstanceDescription,omitempty"`
	Metadata               KeyValuePairs `json:"metadata,omitempty"`
}

// InstantiateVnfRequest is the body of the instantiate task.
type InstantiateVnfRequest struct {
	FlavourID                 string                       `json:"flavourId"`
	InstantiationLevelID      string                       `json:"instantiationLevelId,omitempty"`
	ExtVirtualLinks           []ExtVirtualLinkData         `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks    []ExtManagedVirtualLinkData  `json:"extManagedVirtualLinks,omitempty"`
	VimConnectionInfo         map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	LocalizationLanguage      string                       `json:"localizationLanguage,omitempty"`
	AdditionalParams          KeyValuePairs                `json:"additionalParams,omitempty"`
	Extensions                KeyValuePairs                `json:"extensions,omitempty"`
	VnfConfigurableProperties KeyValuePairs                `json:"vnfConfigurableProperties,omitempty"`
}

// TerminateVnfRequest is the body of the terminate task.
type TerminateVnfRequest struct {
	TerminationType TerminationType `json:"terminationType"`
	// GracefulTerminationTimeout is in seconds; 0 means not given.
	GracefulTerminationTimeout int           `json:"gracefulTerminationTimeout,omitempty"`
	AdditionalParams           KeyValuePairs `json:"additionalParams,omitempty"`
}

// ScaleVnfRequest is the body of the scale task.
type ScaleVnfRequest struct {
	Type     ScaleType `json:"type"`
	AspectID string    `json:"aspectId"`
	// NumberOfSteps is at least 1; 0 means not given, that is 1.
	NumberOfSteps    int           `json:"numberOfSteps,omitempty"`
	AdditionalParams KeyValuePairs `json:"additionalParams,omitempty"`
}

// ScaleVnfToLevelRequest is the body of the scale_to_level task. Exactly one of
// InstantiationLevelID and ScaleInfo is set.
type ScaleVnfToLevelRequest struct {
	InstantiationLevelID string        `json:"instantiationLevelId,omitempty"`
	ScaleInfo            []ScaleInfo   `json:"scaleInfo,omitempty"`
	AdditionalParams     KeyValuePairs `json:"additionalParams,omitempty"`
}

// ChangeVnfFlavourRequest is the body of the change_flavour task.
type ChangeVnfFlavourRequest struct {
	NewFlavourID              string                       `json:"newFlavourId"`
	InstantiationLevelID      string                       `json:"instantiationLevelId,omitempty"`
	ExtVirtualLinks           []ExtVirtualLinkData         `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks    []ExtManagedVirtualLinkData  `json:"extManagedVirtualLinks,omitempty"`
	VimConnectionInfo         map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	AdditionalParams          KeyValuePairs                `json:"additionalParams,omitempty"`
	Extensions                KeyValuePairs                `json:"extensions,omitempty"`
	VnfConfigurableProperties KeyValuePairs                `json:"vnfConfigurableProperties,omitempty"`
}

// HealVnfRequest is the body of the heal task: SOL003's, with the members that
// SOL002 adds.
type HealVnfRequest struct {
	// VnfcInstanceID (SOL002) lists the VNFCs to heal; empty means the whole VNF.
	VnfcInstanceID   []string      `json:"vnfcInstanceId,omitempty"`
	Cause            string        `json:"cause,omitempty"`
	AdditionalParams KeyValuePairs `json:"additionalParams,omitempty"`
	// HealScript (SOL002) is accepted and not used.
	HealScript string `json:"healScript,omitempty"`
}

// OperateVnfRequest is the body of the operate task.
type OperateVnfRequest struct {
	ChangeStateTo VnfOperationalState `json:"changeStateTo"`
	StopType      StopType            `json:"stopType,omitempty"`
	// GracefulStopTimeout is in seconds; 0 means not given.
	GracefulStopTimeout int           `json:"gracefulStopTimeout,omitempty"`
	AdditionalParams    KeyValuePairs `json:"additionalParams,omitempty"`
}

// ChangeExtVnfConnectivityRequest is the body of the change_ext_conn task.
type ChangeExtVnfConnectivityRequest struct {
	ExtVirtualLinks   []ExtVirtualLinkData         `json:"extVirtualLinks"`
	VimConnectionInfo map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	AdditionalParams  KeyValuePairs                `json:"additionalParams,omitempty"`
}

// ChangeCurrentVnfPkgRequest is the body of the change_vnfpkg task.
type ChangeCurrentVnfPkgRequest struct {
	VnfdID                    string                       `json:"vnfdId"`
	ExtVirtualLinks           []ExtVirtualLinkData         `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks    []ExtManagedVirtualLinkData  `json:"extManagedVirtualLinks,omitempty"`
	VimConnectionInfo         map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	AdditionalParams          KeyValuePairs                `json:"additionalParams,omitempty"`
	Extensions                KeyValuePairs                `json:"extensions,omitempty"`
	VnfConfigurableProperties KeyValuePairs                `json:"vnfConfigurableProperties,omitempty"`
}

// VnfInfoModificationRequest is the body of PATCH on a VNF instance, a JSON
// merge patch (RFC 7396). The typed form is for reading. Code that applies the
// patch MUST use the raw body, because this type does not distinguish a member
// that is null (delete) from an absent one.
type VnfInfoModificationRequest struct {
	VnfInstanceName           *string                      `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription    *string                      `json:"vnfInstanceDescription,omitempty"`
	VnfdID                    string                       `json:"vnfdId,omitempty"`
	VnfPkgID                  string                       `json:"vnfPkgId,omitempty"`
	VnfConfigurableProperties KeyValuePairs                `json:"vnfConfigurableProperties,omitempty"`
	Metadata                  KeyValuePairs                `json:"metadata,omitempty"`
	Extensions                KeyValuePairs                `json:"extensions,omitempty"`
	VimConnectionInfo         map[string]VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	VnfcInfoModifications     []VnfcInfoModifications      `json:"vnfcInfoModifications,omitempty"`
}

// VnfcInfoModifications (SOL002) changes properties of one VNFC.
type VnfcInfoModifications struct {
	ID                         string        `json:"id"`
	VnfcConfigurableProperties KeyValuePairs `json:"vnfcConfigurableProperties"`
}

// CancelMode is the body of the cancel task.
type CancelMode struct {
	CancelMode CancelModeType `json:"cancelMode"`
}
