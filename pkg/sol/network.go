package sol

// IpAddressRange is an inclusive range of addresses of one family.
type IpAddressRange struct {
	MinAddress string `json:"minAddress"`
	MaxAddress string `json:"maxAddress"`
}

// CpProtocolInfo is the protocol information of an existing connection point.
type CpProtocolInfo struct {
	LayerProtocol  LayerProtocol              `json:"layerProtocol"`
	IpOverEthernet *IpOverEthernetAddressInfo `json:"ipOverEthernet,omitempty"`
}

// IpOverEthernetAddressInfo is the addressing of an existing connection point.
type IpOverEthernetAddressInfo struct {
	MacAddress     string          `json:"macAddress,omitempty"`
	SegmentationID string          `json:"segmentationId,omitempty"`
	IpAddresses    []IpAddressInfo `json:"ipAddresses,omitempty"`
}

// IpAddressInfo (inline in the standard) is a set of assigned addresses.
// Exactly one of Addresses and AddressRange is set.
type IpAddressInfo struct {
	Type      IPAddressType `json:"type"`
	Addresses []string      `json:"addresses,omitempty"`
	// IsDynamic is present exactly when Addresses is: true for addresses that
	// the VIM chose.
	IsDynamic    *bool           `json:"isDynamic,omitempty"`
	AddressRange *IpAddressRange `json:"addressRange,omitempty"`
	SubnetID     string          `json:"subnetId,omitempty"`
}

// CpProtocolData is the requested protocol configuration of a connection point.
type CpProtocolData struct {
	LayerProtocol  LayerProtocol              `json:"layerProtocol"`
	IpOverEthernet *IpOverEthernetAddressData `json:"ipOverEthernet,omitempty"`
}

// IpOverEthernetAddressData is the requested addressing of a connection point: a
// MAC address, IP addresses, or both.
type IpOverEthernetAddressData struct {
	MacAddress     string `json:"macAddress,omitempty"`
	SegmentationID string `json:"segmentationId,omitempty"`
	// SegmentationType is of API version 2.3.0.
	SegmentationType string          `json:"segmentationType,omitempty"`
	IpAddresses      []IpAddressData `json:"ipAddresses,omitempty"`
}

// IpAddressData (inline in the standard) asks for addresses. Exactly one of
// FixedAddresses, NumDynamicAddresses and AddressRange is set.
type IpAddressData struct {
	Type                IPAddressType   `json:"type"`
	FixedAddresses      []string        `json:"fixedAddresses,omitempty"`
	NumDynamicAddresses int             `json:"numDynamicAddresses,omitempty"`
	AddressRange        *IpAddressRange `json:"addressRange,omitempty"`
	SubnetID            string          `json:"subnetId,omitempty"`
}

// ExtVirtualLinkData is an external virtual link given by the consumer.
type ExtVirtualLinkData struct {
	ID                 string            `json:"id"`
	VimConnectionID    string            `json:"vimConnectionId,omitempty"`
	ResourceProviderID string            `json:"resourceProviderId,omitempty"`
	ResourceID         string            `json:"resourceId"`
	ExtCps             []VnfExtCpData    `json:"extCps"`
	ExtLinkPorts       []ExtLinkPortData `json:"extLinkPorts,omitempty"`
}

// VnfExtCpData configures the external connection points of one CPD. The keys
// of CpConfig are chosen by the consumer. A JSON null as value of a key asks to
// delete that configuration and decodes to the zero VnfExtCpConfig.
type VnfExtCpData struct {
	CpdID    string                    `json:"cpdId"`
	CpConfig map[string]VnfExtCpConfig `json:"cpConfig,omitempty"`
}

// VnfExtCpConfig configures one external connection point instance.
type VnfExtCpConfig struct {
	ParentCpConfigID string `json:"parentCpConfigId,omitempty"`
	LinkPortID       string `json:"linkPortId,omitempty"`
	// CreateExtLinkPort is of API version 2.3.0. Gybe creates a port if none is given, as without it.
	CreateExtLinkPort *bool            `json:"createExtLinkPort,omitempty"`
	CpProtocolData    []CpProtocolData `json:"cpProtocolData,omitempty"`
}

// ExtLinkPortData is an existing port of an external virtual link.
type ExtLinkPortData struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
	// TrunkResourceID is of API version 2.3.0.
	TrunkResourceID string `json:"trunkResourceId,omitempty"`
}

// ExtManagedVirtualLinkData is an internal virtual link that is created and
// managed outside of the VNFM.
type ExtManagedVirtualLinkData struct {
	ID                   string `json:"id"`
	VnfVirtualLinkDescID string `json:"vnfVirtualLinkDescId"`
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ResourceID           string `json:"resourceId"`
	// VnfLinkPort is singular in the standard, although it is a list.
	VnfLinkPort                      []VnfLinkPortData `json:"vnfLinkPort,omitempty"`
	ExtManagedMultisiteVirtualLinkID string            `json:"extManagedMultisiteVirtualLinkId,omitempty"`
}

// VnfLinkPortData is an existing port of an externally managed virtual link.
type VnfLinkPortData struct {
	VnfLinkPortID  string         `json:"vnfLinkPortId"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
}
