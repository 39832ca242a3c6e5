package selector

import (
	"reflect"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/internal/wiretype"
)

// attribute is an attribute of a struct, and whether a selector can remove it.
type attribute struct {
	wiretype.Field
	// stays is set for simple and for mandatory attributes.
	stays bool
}

// linksName is the name of an attribute that all resources have. Its Go type is a pointer, because resources are
// stored without it.
const linksName = "_links"

// conditional lists complex attributes that the standard requires, some of them under a condition, although the Go type
// can leave them out.
var conditional = map[reflect.Type][]string{
	reflect.TypeFor[sol.InstantiatedVnfInfo](): {"extCpInfo"},
	reflect.TypeFor[sol.VnfPkgInfoLinks]():     {"vnfd"},
}

var attributeCache sync.Map // reflect.Type → []attribute

// attributesOf returns the attributes of a struct type.
func attributesOf(t reflect.Type) []attribute {
	if known, ok := attributeCache.Load(t); ok {
		if out, ok := known.([]attribute); ok {
			return out
		}
	}
	var out []attribute
	for _, f := range wiretype.Fields(t) {
		stays := f.Required || f.Name == linksName || !isComplex(f.Type)
		for _, name := range conditional[t] {
			stays = stays || name == f.Name
		}
		out = append(out, attribute{f, stays})
	}
	attributeCache.Store(t, out)
	return out
}

// isComplex says whether an attribute of a type has parts: an object, a map, or a list of these. The selectors of
// SOL013 are about complex attributes only.
func isComplex(t reflect.Type) bool {
	kind, elem := wiretype.Of(t)
	for kind == wiretype.KindList {
		kind, elem = wiretype.Of(elem.Elem())
	}
	return kind == wiretype.KindObject || kind == wiretype.KindMap || kind == wiretype.KindOpen
}
