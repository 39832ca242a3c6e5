package lcm

import "github.com/gybe-nfv/gybe/pkg/sol"

// AssembledStack is what an infra driver was given for an instance's resources by code of the package. The code may
// give something else the next time, so the result is kept: it is what later operations change, and to which a rollback
// leads back.
type AssembledStack struct {
	// Operation is the id of the operation for which it was made.
	Operation string `json:"operation"`
	// OneMethod says that the code is a user-data class of API version 1: it makes the first stack, and later only
	// other values of its parameters, with the methods of Methods ("scale", "heal").
	OneMethod bool     `json:"oneMethod,omitempty"`
	Methods   []string `json:"methods,omitempty"`
	// Template and Files are the top template and the nested ones, by the names that templates have for them.
	Template string            `json:"template"`
	Files    map[string]string `json:"files,omitempty"`
	// Parameters are the values of the template's parameters.
	Parameters map[string]any `json:"parameters,omitempty"`
}

// Described is the instance in the form of the standard (SOL003 VnfInstance), for code of the package: without VIM
// connections and links. Secrets among its values are not hidden.
func (i *Instance) Described() (sol.VnfInstance, error) {
	out := sol.VnfInstance{
		ID: i.ID, VnfInstanceName: i.Name, VnfInstanceDescription: i.Description, VnfdID: i.VnfdID,
		VnfProvider: i.Provider, VnfProductName: i.ProductName, VnfSoftwareVersion: i.SoftwareVersion,
		VnfdVersion: i.VnfdVersion, InstantiationState: i.State, InstantiatedVnfInfo: i.Instantiated,
	}
	for to, raw := range map[*sol.KeyValuePairs]sol.RawPairs{
		&out.Metadata: i.Metadata, &out.Extensions: i.Extensions,
		&out.VnfConfigurableProperties: i.ConfigurableProperties,
	} {
		var err error
		if *to, err = raw.Decode(); err != nil {
			return out, err
		}
	}
	return out, nil
}
