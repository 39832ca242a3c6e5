package oracle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// correction removes an error of a document.
type correction struct {
	why   string
	apply func(*openapi3.T) error
}

// errCorrect says that the document does not have the error (any more).
var errCorrect = errors.New("the document does not have this error")

var (
	lifecycle331 = []correction{
		one("/vnf_snapshots/{vnfSnapshotInfoId}", "GET", "200", "a snapshot is typed as a list"),
		requiredExist,
		list("/vnf_lcm_op_occs", "the list of operations is typed as one operation"),
		list("/subscriptions", "the list of subscriptions is typed as one subscription"),
		filterByVnfd,
		eitherIsOptional("changedInfo", "modificationsTriggeredByVnfPkgChange"),
		alternativesOfAddresses("fixedAddresses"),
		alternativesOfAddresses("addresses"),
	}
	lifecycle371 = []correction{
		one("/vnf_snapshots/{vnfSnapshotInfoId}", "GET", "200", "a snapshot is typed as a list"),
		requiredExist,
		isOptional("extCpInfo", "vnfcResourceInfo", "a VNF whose VNFD has no external connection point has none"),
		list("/vnf_lcm_op_occs", "the list of operations is typed as one operation"),
		list("/subscriptions", "the list of subscriptions is typed as one subscription"),
		filterByVnfd,
		eitherIsOptional("changedInfo", "modificationsTriggeredByVnfPkgChange"),
		alternativesOfAddresses("fixedAddresses"),
		alternativesOfAddresses("addresses"),
	}
	grants331        []correction
	grants371        []correction
	notifications371 = []correction{alternativesOfAddresses("fixedAddresses")}
	packages005      = []correction{
		isOptional("vnfd", "packageContent", "a package has no VNFD before it is onboarded"),
		{"compatibleSpecificationVersions is a list", func(doc *openapi3.T) error {
			return retype(doc, "compatibleSpecificationVersions", listOfTexts())
		}},
		isOptional("imagePath", "containerFormat", "an image is in the package, or imageUri says where it is"),
	}
	packages331 = []correction{
		checksumIsObject,
		one("/subscriptions", "POST", "201", "a new subscription is typed as a list"),
		isOptional("packageSecurityOption", "vnfmInfo", "it is known when the package is onboarded"),
		isOptional("vnfmInfo", "packageSecurityOption", "it is known when the package is onboarded"),
		isOptional("artifactPath", "artifactURI", "an artifact is in the package, or artifactURI says where it is"),
		{"vnfmInfo is a list", func(doc *openapi3.T) error {
			return retype(doc, "vnfmInfo", listOfTexts())
		}},
	}
	packages371 = []correction{
		checksumIsObject,
		one("/subscriptions", "POST", "201", "a new subscription is typed as a list"),
		isOptional("artifactPath", "artifactURI", "an artifact is in the package, or artifactURI says where it is"),
	}
)

// filterByVnfd corrects a condition of the filter of subscriptions, which names an attribute that does not exist.
var filterByVnfd = correction{"vnfdIds alone is valid, the condition names vnfdId", func(doc *openapi3.T) error {
	return change(doc, func(s *openapi3.Schema) bool {
		if len(s.AnyOf) == 0 || s.Properties["vnfdIds"] == nil {
			return false
		}
		s.AnyOf = nil
		return true
	})
}}

// requiredExist removes names from the required attributes of snapshots that are not attributes of their types.
var requiredExist = correction{"attributes are required that the type does not have", func(doc *openapi3.T) error {
	return change(doc, func(s *openapi3.Schema) bool {
		if s.Properties["creationStartedAt"] == nil {
			return false
		}
		kept := slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return s.Properties[name] == nil })
		changed := len(kept) < len(s.Required)
		s.Required = kept
		return changed
	})
}}

// checksumIsObject corrects a type of which the documents say that its definition was not found.
var checksumIsObject = correction{"a checksum has an algorithm and a hash", func(doc *openapi3.T) error {
	return retype(doc, "checksum", openapi3.NewObjectSchema().WithRequired([]string{"algorithm", "hash"}).
		WithProperty("algorithm", openapi3.NewStringSchema()).WithProperty("hash", openapi3.NewStringSchema()))
}}

func listOfTexts() *openapi3.Schema {
	return openapi3.NewArraySchema().WithItems(openapi3.NewStringSchema())
}

// retype corrects attributes that are typed as a string.
func retype(doc *openapi3.T, name string, schema *openapi3.Schema) error {
	return change(doc, func(s *openapi3.Schema) bool {
		if p := s.Properties[name]; p == nil || !p.Value.Type.Is("string") {
			return false
		}
		s.Properties[name] = openapi3.NewSchemaRef("", schema)
		return true
	})
}

// eitherIsOptional corrects objects that require exactly one of two attributes which both are absent as a rule.
func eitherIsOptional(a, b string) correction {
	return correction{a + " or " + b + " is required, but most operations have neither", func(doc *openapi3.T) error {
		return change(doc, func(s *openapi3.Schema) bool {
			if len(s.OneOf) != 2 || s.Properties[a] == nil || s.Properties[b] == nil {
				return false
			}
			s.OneOf = nil
			s.Not = openapi3.NewSchemaRef("", &openapi3.Schema{Required: []string{a, b}})
			return true
		})
	}}
}

// alternativesOfAddresses corrects objects that require what each element of their ipAddresses has.
func alternativesOfAddresses(name string) correction {
	return correction{name + " is an attribute of ipAddresses", func(doc *openapi3.T) error {
		return change(doc, func(s *openapi3.Schema) bool {
			list := s.Properties["ipAddresses"]
			if len(s.OneOf) == 0 || list == nil || list.Value.Items.Value.Properties[name] == nil {
				return false
			}
			list.Value.Items.Value.OneOf, s.OneOf = s.OneOf, nil
			return true
		})
	}}
}

// isOptional corrects objects with two attributes of which the first one is not required.
func isOptional(name, beside, why string) correction {
	return correction{why, func(doc *openapi3.T) error {
		return change(doc, func(s *openapi3.Schema) bool {
			i := slices.Index(s.Required, name)
			if i < 0 || s.Properties[beside] == nil {
				return false
			}
			s.Required = slices.Delete(slices.Clone(s.Required), i, i+1)
			return true
		})
	}}
}

// change corrects all schemas that have an error; f says whether it changed one.
func change(doc *openapi3.T, f func(*openapi3.Schema) bool) error {
	err := errCorrect
	walk(doc, func(s *openapi3.Schema) {
		if f(s) {
			err = nil
		}
	})
	return err
}

// list makes an array of the response to a GET of a container.
func list(path, why string) correction {
	return correction{why, func(doc *openapi3.T) error {
		media, err := answer(doc, path, "GET", "200")
		if err != nil {
			return err
		}
		if media.Schema.Value.Type.Is("array") {
			return errCorrect
		}
		media.Schema = openapi3.NewSchemaRef("", &openapi3.Schema{
			Type: &openapi3.Types{"array"}, Items: media.Schema,
		})
		return nil
	}}
}

// one makes an element of a response that is typed as a list.
func one(path, method, status, why string) correction {
	return correction{why, func(doc *openapi3.T) error {
		media, err := answer(doc, path, method, status)
		if err != nil {
			return err
		}
		if !media.Schema.Value.Type.Is("array") {
			return errCorrect
		}
		media.Schema = media.Schema.Value.Items
		return nil
	}}
}

// answer finds the body of a response.
func answer(doc *openapi3.T, path, method, status string) (*openapi3.MediaType, error) {
	if item := doc.Paths.Value(path); item != nil && item.GetOperation(method) != nil {
		if r := item.GetOperation(method).Responses.Value(status); r != nil {
			if m := r.Value.Content.Get("application/json"); m != nil && m.Schema != nil {
				return m, nil
			}
		}
	}
	return nil, fmt.Errorf("%s %s has no JSON body for %s", method, path, status)
}

// walk visits all schemas of a document once.
func walk(doc *openapi3.T, f func(*openapi3.Schema)) {
	seen := map[*openapi3.Schema]bool{}
	var visit func(*openapi3.SchemaRef)
	visit = func(r *openapi3.SchemaRef) {
		if r == nil || r.Value == nil || seen[r.Value] {
			return
		}
		s := r.Value
		seen[s] = true
		f(s)
		for _, p := range s.Properties {
			visit(p)
		}
		for _, p := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf, openapi3.SchemaRefs{
			s.Items, s.Not, s.AdditionalProperties.Schema,
		}) {
			visit(p)
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody != nil {
				for _, m := range op.RequestBody.Value.Content {
					visit(m.Schema)
				}
			}
			for _, r := range op.Responses.Map() {
				for _, m := range r.Value.Content {
					visit(m.Schema)
				}
			}
		}
	}
}
