package sol

// KeyValuePairs is an open JSON object of names and values. Values are what
// encoding/json produces: string, float64, bool, nil, map[string]any, []any.
type KeyValuePairs map[string]any

// Link is a reference to a resource. Href is an absolute URI.
type Link struct {
	Href string `json:"href"`
}

// ResourceHandle refers to a resource in a VIM. VimConnectionID is a key of
// the instance's vimConnectionInfo.
type ResourceHandle struct {
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ResourceID           string `json:"resourceId"`
	VimLevelResourceType string `json:"vimLevelResourceType,omitempty"`
}

// VimConnectionInfo says how to reach and log in to a VIM. AccessInfo carries
// credentials: a value that leaves the product goes through Redacted first.
type VimConnectionInfo struct {
	// VimID refers to a VIM of the registry; absent for a connection that is
	// described here completely.
	VimID string `json:"vimId,omitempty"`
	// VimType is e.g. ETSINFV.OPENSTACK_KEYSTONE.V_3.
	VimType       string        `json:"vimType"`
	InterfaceInfo KeyValuePairs `json:"interfaceInfo,omitempty"`
	AccessInfo    KeyValuePairs `json:"accessInfo,omitempty"`
	Extra         KeyValuePairs `json:"extra,omitempty"`
}

// ScaleInfo is the scale level of one scaling aspect.
type ScaleInfo struct {
	AspectID   string `json:"aspectId"`
	VnfdID     string `json:"vnfdId,omitempty"`
	ScaleLevel int    `json:"scaleLevel"`
}

// Checksum of a package, image or artifact. Algorithm is written as in SOL004
// (e.g. SHA-256), Hash is hexadecimal.
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Hash      string `json:"hash"`
}
