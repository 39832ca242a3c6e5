package v1

import "github.com/gybe-nfv/gybe/pkg/sol"

// VnfInstance is the individual VNF instance resource (SOL003 v2.6.1 clause 5.5.2.2).
type VnfInstance struct {
	ID                        string                 `json:"id"`
	VnfInstanceName           string                 `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription    string                 `json:"vnfInstanceDescription,omitempty"`
	VnfdID                    string                 `json:"vnfdId"`
	VnfProvider               string                 `json:"vnfProvider"`
	VnfProductName            string                 `json:"vnfProductName"`
	VnfSoftwareVersion        string                 `json:"vnfSoftwareVersion"`
	VnfdVersion               string                 `json:"vnfdVersion"`
	VnfConfigurableProperties sol.KeyValuePairs      `json:"vnfConfigurableProperties,omitempty"`
	VimConnectionInfo         []VimConnectionInfo    `json:"vimConnectionInfo,omitempty"`
	InstantiationState        sol.InstantiationState `json:"instantiationState"`
	InstantiatedVnfInfo       *InstantiatedVnfInfo   `json:"instantiatedVnfInfo,omitempty"`
	Metadata                  sol.KeyValuePairs      `json:"metadata,omitempty"`
	Extensions                sol.KeyValuePairs      `json:"extensions,omitempty"`
	// VnfPkgID is the id of the VNF package, which clients of Tacker show.
	VnfPkgID string                `json:"vnfPkgId"`
	Links    *sol.VnfInstanceLinks `json:"_links,omitempty"`
}

// VimConnectionInfo says how to reach and log in to a VIM (clause 4.4.1.6).
type VimConnectionInfo struct {
	// ID is the key of the connection in version 2.
	ID    string `json:"id"`
	VimID string `json:"vimId,omitempty"`
	// VimType is "openstack", "kubernetes", or a type of version 2.
	VimType       string            `json:"vimType"`
	InterfaceInfo sol.KeyValuePairs `json:"interfaceInfo,omitempty"`
	AccessInfo    sol.KeyValuePairs `json:"accessInfo,omitempty"`
	Extra         sol.KeyValuePairs `json:"extra,omitempty"`
}

// InstantiatedVnfInfo (inline in the standard) describes the resources of an instantiated VNF.
type InstantiatedVnfInfo struct {
	FlavourID                  string                           `json:"flavourId"`
	VnfState                   sol.VnfOperationalState          `json:"vnfState"`
	ScaleStatus                []sol.ScaleInfo                  `json:"scaleStatus,omitempty"`
	MaxScaleLevels             []sol.ScaleInfo                  `json:"maxScaleLevels,omitempty"`
	ExtCpInfo                  []sol.VnfExtCpInfo               `json:"extCpInfo,omitempty"`
	ExtVirtualLinkInfo         []ExtVirtualLinkInfo             `json:"extVirtualLinkInfo,omitempty"`
	ExtManagedVirtualLinkInfo  []sol.ExtManagedVirtualLinkInfo  `json:"extManagedVirtualLinkInfo,omitempty"`
	MonitoringParameters       []sol.MonitoringParameter        `json:"monitoringParameters,omitempty"`
	LocalizationLanguage       string                           `json:"localizationLanguage,omitempty"`
	VnfcResourceInfo           []sol.VnfcResourceInfo           `json:"vnfcResourceInfo,omitempty"`
	VnfVirtualLinkResourceInfo []sol.VnfVirtualLinkResourceInfo `json:"vnfVirtualLinkResourceInfo,omitempty"`
	VirtualStorageResourceInfo []sol.VirtualStorageResourceInfo `json:"virtualStorageResourceInfo,omitempty"`
	VnfcInfo                   []sol.VnfcInfo                   `json:"vnfcInfo,omitempty"`
	Metadata                   sol.KeyValuePairs                `json:"metadata,omitempty"`
	// AdditionalParams are those of the instantiation without secrets and with names in camel case. Clients of
	// OpenStack Tacker show them.
	AdditionalParams sol.KeyValuePairs `json:"additionalParams,omitempty"`
}

// ExtVirtualLinkInfo is an external virtual link the VNF is connected to. CurrentVnfExtCpData is of later versions.
type ExtVirtualLinkInfo struct {
	ID                  string                `json:"id"`
	ResourceHandle      sol.ResourceHandle    `json:"resourceHandle"`
	ExtLinkPorts        []sol.ExtLinkPortInfo `json:"extLinkPorts,omitempty"`
	CurrentVnfExtCpData []VnfExtCpData        `json:"currentVnfExtCpData"`
}

// VnfExtCpData configures the external connection points of one CPD (clause 4.4.1.10).
type VnfExtCpData struct {
	CpdID    string           `json:"cpdId"`
	CpConfig []VnfExtCpConfig `json:"cpConfig,omitempty"`
}

// VnfExtCpConfig configures one external connection point instance (clause 4.4.1.10a).
type VnfExtCpConfig struct {
	// CpInstanceID is the key of the configuration in version 2. In a request it can also be the id of a VnfExtCpInfo.
	CpInstanceID     string               `json:"cpInstanceId,omitempty"`
	ParentCpConfigID string               `json:"parentCpConfigId,omitempty"`
	LinkPortID       string               `json:"linkPortId,omitempty"`
	CpProtocolData   []sol.CpProtocolData `json:"cpProtocolData,omitempty"`
}
