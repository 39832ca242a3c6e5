package adoption

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The documents of the other VNFM, as far as they are needed. Members that are null stay empty.
type (
	instanceDocument struct {
		ID                     string                `json:"id"`
		Name                   string                `json:"vnfInstanceName"`
		Description            string                `json:"vnfInstanceDescription"`
		VnfdID                 string                `json:"vnfdId"`
		State                  string                `json:"instantiationState"`
		Connections            json.RawMessage       `json:"vimConnectionInfo"`
		ConfigurableProperties sol.KeyValuePairs     `json:"vnfConfigurableProperties"`
		Metadata               sol.KeyValuePairs     `json:"metadata"`
		Extensions             sol.KeyValuePairs     `json:"extensions"`
		Info                   *instantiatedDocument `json:"instantiatedVnfInfo"`
	}
	instantiatedDocument struct {
		FlavourID        string                          `json:"flavourId"`
		ScaleStatus      []sol.ScaleInfo                 `json:"scaleStatus"`
		ExtLinks         []extLinkDocument               `json:"extVirtualLinkInfo"`
		ManagedLinks     []sol.ExtManagedVirtualLinkInfo `json:"extManagedVirtualLinkInfo"`
		Resources        []vnfcResourceDocument          `json:"vnfcResourceInfo"`
		VNFCs            []vnfcDocument                  `json:"vnfcInfo"`
		Language         string                          `json:"localizationLanguage"`
		AdditionalParams sol.KeyValuePairs               `json:"additionalParams"` // version 1 only
		Metadata         sol.KeyValuePairs               `json:"metadata"`
	}
	extLinkDocument struct {
		ID       string                `json:"id"`
		Resource sol.ResourceHandle    `json:"resourceHandle"`
		Ports    []sol.ExtLinkPortInfo `json:"extLinkPorts"`
		CPs      json.RawMessage       `json:"currentVnfExtCpData"` // absent in version 1
	}
	vnfcResourceDocument struct {
		ID       string             `json:"id"`
		VduID    string             `json:"vduId"`
		Resource sol.ResourceHandle `json:"computeResource"`
	}
	vnfcDocument struct {
		ID         string `json:"id"`
		VduID      string `json:"vduId"`
		ResourceID string `json:"vnfcResourceInfoId"` // absent in version 1
	}
	connectionDocument struct {
		ID            string            `json:"id"` // version 1 only
		VimID         string            `json:"vimId"`
		VimType       string            `json:"vimType"`
		InterfaceInfo sol.KeyValuePairs `json:"interfaceInfo"`
		AccessInfo    sol.KeyValuePairs `json:"accessInfo"`
	}
	operationDocument struct {
		ID        string          `json:"id"`
		State     string          `json:"operationState"`
		Operation string          `json:"operation"`
		Params    json.RawMessage `json:"operationParams"`
	}
	// vimDocument is an entry of Tacker's /v1.0/vims.
	vimDocument struct {
		ID      string            `json:"id"`
		Name    string            `json:"name"`
		Type    string            `json:"type"` // openstack or kubernetes
		AuthURL string            `json:"auth_url"`
		Cred    sol.KeyValuePairs `json:"auth_cred"`
		Project sol.KeyValuePairs `json:"vim_project"`
		Extra   sol.KeyValuePairs `json:"extra"`
	}
)

// connections reads vimConnectionInfo: a list with ids in version 1, an object in version 2.
func (d *instanceDocument) connections() (map[string]connectionDocument, error) {
	out := map[string]connectionDocument{}
	raw := strings.TrimSpace(string(d.Connections))
	switch {
	case raw == "" || raw == "null":
		return out, nil
	case raw[0] != '[':
		return out, json.Unmarshal(d.Connections, &out)
	}
	var list []connectionDocument
	if err := json.Unmarshal(d.Connections, &list); err != nil {
		return nil, err
	}
	for n, c := range list {
		if c.ID == "" {
			return nil, fmt.Errorf("the connection %d has no id", n)
		}
		out[c.ID] = c
	}
	return out, nil
}

// params reads operationParams, which may be a text with JSON.
func (d operationDocument) params() (json.RawMessage, error) {
	raw := d.Params
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		raw = json.RawMessage(text)
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("operationParams of operation %s: %w", d.ID, err)
	}
	return raw, nil
}

// hidden is the value that secrets have in answers.
const hidden = "***"

// snakeCase gives the members of an object, and of the objects in it, the names that requests have: version 1 shows
// additionalParams with names in camel case. Values that are hidden are left out.
func snakeCase(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if value == hidden {
				continue
			}
			out[snakeName(name)] = snakeCase(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, value := range v {
			out[n] = snakeCase(value)
		}
		return out
	}
	return v
}

func snakeName(name string) string {
	var b strings.Builder
	for n, c := range name {
		if c >= 'A' && c <= 'Z' {
			if n > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// clusterParams is the member of additionalParams of which all names are known to be in snake case.
const clusterParams, clusterParamsShown = "k8s_cluster_installation_param", "k8sClusterInstallationParam"

// paramsOf gives additionalParams as the other VNFM shows them the form of a request.
func paramsOf(shown map[string]any) map[string]any {
	out := make(map[string]any, len(shown))
	for name, value := range shown {
		switch name {
		case clusterParamsShown, clusterParams:
			out[clusterParams] = snakeCase(value)
		default:
			if value != hidden {
				out[name] = value
			}
		}
	}
	return out
}
