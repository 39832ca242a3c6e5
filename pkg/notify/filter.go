package notify

import (
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Names of attributes that filters look at. A message has some of them.
const (
	AttrType      = "type"      // of the notification
	AttrInstance  = "instance"  // id of the VNF instance
	AttrName      = "name"      // of the VNF instance
	AttrPackage   = "package"   // id of the VNF package
	AttrVnfd      = "vnfd"      // vnfdId
	AttrProduct   = "product"   // see ProductPaths
	AttrOperation = "operation" // type of the operation
	AttrState     = "state"     // of the operation
)

// Attributes are the values of a message that filters look at, by name.
type Attributes map[string][]string

// Filter selects messages: those that one of its clauses matches.
type Filter []Clause

// Clause matches a message that has, for each name, one of the values. Each clause of a subscription names the types of
// notifications.
type Clause map[string][]string

// ProductPath is the value of AttrProduct for a provider and, if given, product name, software version and VNFD
// version.
func ProductPath(parts ...string) string {
	raw, err := json.Marshal(parts)
	if err != nil {
		return "" // texts always encode
	}
	return string(raw)
}

// ProductPaths are all values of AttrProduct that a product has.
func ProductPaths(provider, product, softwareVersion, vnfdVersion string) []string {
	parts := []string{provider, product, softwareVersion, vnfdVersion}
	out := make([]string, len(parts))
	for n := range parts {
		out[n] = ProductPath(parts[:n+1]...)
	}
	return out
}

// Products are the values of AttrProduct that a filter names.
func Products(providers []sol.VnfProductsFromProviders) (out []string) {
	for _, p := range providers {
		if len(p.VnfProducts) == 0 {
			out = append(out, ProductPath(p.VnfProvider))
		}
		for _, product := range p.VnfProducts {
			if len(product.Versions) == 0 {
				out = append(out, ProductPath(p.VnfProvider, product.VnfProductName))
			}
			for _, v := range product.Versions {
				if len(v.VnfdVersions) == 0 {
					out = append(out, ProductPath(p.VnfProvider, product.VnfProductName, v.VnfSoftwareVersion))
				}
				for _, version := range v.VnfdVersions {
					out = append(out, ProductPath(
						p.VnfProvider, product.VnfProductName, v.VnfSoftwareVersion, version,
					))
				}
			}
		}
	}
	return out
}
