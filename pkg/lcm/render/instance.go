package render

import (
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// Instance makes the document of an instance.
func Instance(i *lcm.Instance) (*lcm.InstanceDocument, error) {
	brief, err := InstanceBrief(i)
	if err != nil {
		return nil, err
	}
	details, err := InstanceDetails(i)
	if err != nil {
		return nil, err
	}
	return &lcm.InstanceDocument{
		Document: lcm.Document{ID: i.ID, Version: i.Version, Updated: i.Updated, Brief: brief, Details: details},
		VnfPkgID: i.VnfPkgID, State: i.State, FlavourID: Flavour(i), Protected: i.Protection != nil,
	}, nil
}

// InstanceBrief makes the attributes that lists contain by default.
func InstanceBrief(i *lcm.Instance) ([]byte, error) {
	return json.Marshal(sol.VnfInstance{
		ID: i.ID, VnfInstanceName: i.Name, VnfInstanceDescription: i.Description,
		VnfdID: i.VnfdID, VnfProvider: i.Provider, VnfProductName: i.ProductName,
		VnfSoftwareVersion: i.SoftwareVersion, VnfdVersion: i.VnfdVersion, InstantiationState: i.State,
	})
}

// instanceDetails are the attributes that lists leave out by default. All are optional.
type instanceDetails struct {
	VnfConfigurableProperties sol.KeyValuePairs                `json:"vnfConfigurableProperties,omitempty"`
	VimConnectionInfo         map[string]sol.VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	InstantiatedVnfInfo       *sol.InstantiatedVnfInfo         `json:"instantiatedVnfInfo,omitempty"`
	Metadata                  sol.KeyValuePairs                `json:"metadata,omitempty"`
	Extensions                sol.KeyValuePairs                `json:"extensions,omitempty"`
}

// InstanceDetails makes the other attributes; nil when there are none.
func InstanceDetails(i *lcm.Instance) ([]byte, error) {
	shown := sol.VnfInstance{
		VimConnectionInfo: i.VimConnections, VnfConfigurableProperties: i.ConfigurableProperties, Metadata: i.Metadata,
		Extensions: i.Extensions,
	}
	if i.State == sol.InstantiationStateInstantiated {
		shown.InstantiatedVnfInfo = i.Instantiated
	}
	shown = redact.New(i.SecretNames...).Instance(shown)
	return optional(instanceDetails{
		VnfConfigurableProperties: shown.VnfConfigurableProperties, VimConnectionInfo: shown.VimConnectionInfo,
		InstantiatedVnfInfo: shown.InstantiatedVnfInfo, Metadata: shown.Metadata, Extensions: shown.Extensions,
	})
}

// Flavour returns the deployment flavour of an instance, on which its links depend; "" before the first instantiation.
func Flavour(i *lcm.Instance) string {
	if i.Instantiated == nil {
		return ""
	}
	return i.Instantiated.FlavourID
}

// optional encodes a struct whose members are all optional; nil when it has none.
func optional(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil || len(raw) == len("{}") {
		return nil, err
	}
	return raw, nil
}
