package tosca

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// vnf reads what is said of the VNF as a whole. Usually the main file says it, as properties of its node of the VNF's
// type, and the flavour files repeat it as inputs without value; the type may give defaults.
func (p *parser) vnf(templates []*template) *vnfd.VNFD {
	var nodes []*node
	for _, t := range templates {
		nodes = append(nodes, p.ofType(t, typeVNF)...)
	}
	types := p.vnfTypes(templates, nodes)
	text := func(key string, required bool) string {
		defects := len(p.list)
		v := p.vnfProperty(nodes, types, key)
		if required && v.text() == "" && len(p.list) == defects && (len(nodes) > 0 || len(types) > 0) {
			p.add(vnfPlace(templates, nodes).fail(
				MissingValue, "give it as a property of the VNF node in the main file", "the VNF has no %s", key,
			))
		}
		return v.text()
	}
	m := &vnfd.VNFD{
		ID:                          text("descriptor_id", true),
		Version:                     text("descriptor_version", true),
		Provider:                    text("provider", true),
		ProductName:                 text("product_name", true),
		SoftwareVersion:             text("software_version", true),
		ProductInfoName:             text("product_info_name", false),
		ProductDescription:          text("product_info_description", false),
		DefaultLocalizationLanguage: text("default_localization_language", false),
	}
	m.Secrets = p.types.secrets()
	for _, item := range p.vnfProperty(nodes, types, "vnfm_info").items() {
		if item.text() != "" {
			m.VnfmInfo = append(m.VnfmInfo, item.text())
		}
	}
	p.checkDescriptorID(nodes, m.ID)
	return m
}

// vnfTypes are the VNF types in use, those of nodes first.
func (p *parser) vnfTypes(templates []*template, nodes []*node) []string {
	var types []string
	for _, n := range nodes {
		types = append(types, n.typ)
	}
	for _, t := range templates {
		if typ := t.substitution.get("node_type").text(); t.flavourID != "" && typ != "" {
			types = append(types, typ)
		}
	}
	return types
}

// vnfProperty is the first value that a VNF node gives a property, else the first default of a type.
func (p *parser) vnfProperty(nodes []*node, types []string, key string) value {
	for _, n := range nodes {
		if v := p.resolve(n.template, n.value.path("properties", key)); v.ok() {
			return v
		}
	}
	for _, typ := range types {
		if v := p.typeDefault(typ, []string{key}); v.ok() {
			return v
		}
	}
	return value{}
}

// vnfPlace is where something that is missing should be.
func vnfPlace(templates []*template, nodes []*node) value {
	if len(nodes) > 0 {
		return value{doc: nodes[0].template.doc, node: nodes[0].at}
	}
	return templates[0].topology
}

const maxIdentifier = 255 // characters of a SOL003 Identifier that managers accept

// checkDescriptorID finds a package that holds more than one VNFD, and ids that are not an Identifier (SOL003 clause
// 4.4.2). An Identifier is any text: it is escaped where it is a part of a URI.
func (p *parser) checkDescriptorID(nodes []*node, id string) {
	for _, n := range nodes {
		v := p.resolve(n.template, n.value.path("properties", "descriptor_id"))
		switch other := v.text(); {
		case other == "":
		case other != id:
			p.add(v.fail(Conflict, "a package holds one VNFD", "the descriptor_id is %q here and %q in another file",
				clip(other), clip(id)))
		case strings.TrimSpace(other) == "" || utf8.RuneCountInString(other) > maxIdentifier ||
			strings.ContainsFunc(other, func(r rune) bool { return !unicode.IsPrint(r) }):
			p.add(v.fail(
				BadValue, "use a UUID",
				"the descriptor_id is blank, longer than %d characters, or has a character that cannot be printed",
				maxIdentifier,
			))
		}
	}
}
