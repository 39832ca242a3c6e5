package render

import (
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
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
	params, err := InstanceParams(i)
	if err != nil {
		return nil, err
	}
	return &lcm.InstanceDocument{
		Document: lcm.Document{ID: i.ID, Version: i.Version, Updated: i.Updated, Brief: brief, Details: details},
		VnfPkgID: i.VnfPkgID, State: i.State, FlavourID: Flavour(i), Protected: i.Protection != nil,
		Params: params,
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
	VnfConfigurableProperties sol.RawPairs                     `json:"vnfConfigurableProperties,omitempty"`
	VimConnectionInfo         map[string]sol.VimConnectionInfo `json:"vimConnectionInfo,omitempty"`
	InstantiatedVnfInfo       *sol.InstantiatedVnfInfo         `json:"instantiatedVnfInfo,omitempty"`
	Metadata                  sol.RawPairs                     `json:"metadata,omitempty"`
	Extensions                sol.RawPairs                     `json:"extensions,omitempty"`
}

// InstanceDetails makes the other attributes; nil when there are none.
func InstanceDetails(i *lcm.Instance) ([]byte, error) {
	redactor := redact.New(i.SecretNames...)
	decoded := sol.VnfInstance{VimConnectionInfo: i.VimConnections}
	if i.State == sol.InstantiationStateInstantiated {
		decoded.InstantiatedVnfInfo = i.Instantiated
	}
	decoded = redactor.Instance(decoded)
	shown := instanceDetails{
		VimConnectionInfo: decoded.VimConnectionInfo, InstantiatedVnfInfo: decoded.InstantiatedVnfInfo,
	}
	for to, raw := range map[*sol.RawPairs]sol.RawPairs{
		&shown.VnfConfigurableProperties: i.ConfigurableProperties, &shown.Metadata: i.Metadata,
		&shown.Extensions: i.Extensions,
	} {
		var err error
		if *to, err = redactor.NamedRaw(raw); err != nil {
			return nil, err
		}
	}
	return optional(shown)
}

// InstanceParams makes the additionalParams that version 1 of the interface shows in instantiatedVnfInfo, by the rules
// for operationParams; nil when there are none.
func InstanceParams(i *lcm.Instance) ([]byte, error) {
	if i.Params == "" || i.State != sol.InstantiationStateInstantiated {
		return nil, nil
	}
	// The names of members with secrets are those of a request.
	request, err := json.Marshal(map[string]json.RawMessage{"additionalParams": json.RawMessage(i.Params)})
	if err != nil {
		return nil, err
	}
	var public struct {
		AdditionalParams json.RawMessage `json:"additionalParams"`
	}
	if err := json.Unmarshal(redact.New(i.SecretNames...).Params(request), &public); err != nil {
		return nil, err
	}
	if len(public.AdditionalParams) <= len("{}") {
		return nil, nil
	}
	return v1.AdditionalParams(public.AdditionalParams)
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
