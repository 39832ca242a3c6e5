package tosca

import "slices"

// secretMetadata is the key in the metadata of a property definition that marks the property as a secret. TOSCA allows
// any metadata there, so other orchestrators ignore it.
const secretMetadata = "gybe.secret"

// maxSecrets bounds the secret properties of a VNFD.
const maxSecrets = 500

// secrets lists the names of properties of node types and data types that are marked as secrets.
func (t *typeset) secrets() []string {
	var names []string
	for _, name := range t.nodesOf {
		for _, property := range t.defs[name].get("properties").pairs() {
			if property.value.path("metadata", secretMetadata).text() == "true" && len(names) < maxSecrets {
				names = append(names, property.key)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
