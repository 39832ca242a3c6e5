package tosca

import (
	"slices"
	"strings"
)

// template is the topology of one file. The files with a flavour id are the deployment flavours.
type template struct {
	doc          *document
	topology     value
	substitution value
	flavourID    string
	inputs       map[string]value
	nodes        []*node
	byName       map[string]*node
}

// node is a node template.
type node struct {
	pair
	name     string
	typ      string // "" when it is not known, which has been complained about
	template *template
}

// templates reads the topologies of all files and finds the flavours among them.
func (p *parser) templates() []*template {
	var (
		all     []*template
		byID    = map[string]*template{}
		missing []*Error
	)
	for _, d := range p.docs {
		topology := d.root.get("topology_template")
		if !topology.ok() {
			continue
		}
		t := p.template(d, topology)
		all = append(all, t)
		id, isFlavour := p.flavourID(t)
		switch {
		case !isFlavour:
		case id.text() == "":
			missing = append(missing, t.substitution.fail(MissingValue, "add properties: {flavour_id: <id>}",
				"the substitution_mappings of a VNF have no flavour_id"))
		case byID[id.text()] != nil:
			p.add(id.fail(DuplicateFlavour, "keep one of the two files, or give one another flavour_id",
				"several VNFDs for the flavour %q: %s declares it, too", id.text(), byID[id.text()].doc.path))
			p.flavours[d.path] = id.text()
		default:
			t.flavourID = id.text()
			p.flavours[d.path] = t.flavourID
			byID[t.flavourID] = t
		}
	}
	if len(byID) == 0 {
		for _, e := range missing {
			p.add(e)
		}
	}
	return all
}

func (p *parser) template(d *document, topology value) *template {
	t := &template{
		doc: d, topology: topology, substitution: topology.get("substitution_mappings"),
		inputs: map[string]value{}, byName: map[string]*node{},
	}
	for _, in := range topology.get("inputs").pairs() {
		t.inputs[in.key] = in.value
	}
	for _, n := range topology.get("node_templates").pairs() {
		if old := t.byName[n.key]; old != nil {
			p.add(n.fail(DuplicateKey, "", "the node %s is declared in line %d already", n.key, old.at.Line))
			continue
		}
		typ := n.value.get("type")
		nt := &node{pair: n, name: n.key, typ: typ.text(), template: t}
		switch {
		case nt.typ == "":
			p.add(n.fail(MissingValue, "", "the node %s has no type", n.key))
		case !p.types.known(nt.typ):
			p.add(typ.fail(UnknownType, "import the file that defines it", "the type %s of the node %s is not defined",
				typ.text(), n.key))
			nt.typ = ""
		}
		t.nodes = append(t.nodes, nt)
		t.byName[nt.name] = nt
	}
	return t
}

// flavourID finds what makes a topology a deployment flavour: substitution_mappings of a VNF type, whose flavour_id is
// there or on the VNF node; or else a flavour_id on the VNF node alone. The last must be literal: the main file names
// the flavour that a request selects, as an input that may have a default.
func (p *parser) flavourID(t *template) (value, bool) {
	var id value
	isFlavour := false
	if typ := t.substitution.get("node_type"); typ.ok() {
		if !p.types.known(typ.text()) {
			p.add(
				typ.fail(UnknownType, "import the file that defines it", "the node type %s is not defined", typ.text()),
			)
		}
		isFlavour = p.types.is(typ.text(), typeVNF)
		id = p.resolve(t, t.substitution.path("properties", "flavour_id"))
	}
	if id.text() != "" {
		return id, true
	}
	for _, n := range p.ofType(t, typeVNF) {
		id := n.value.path("properties", "flavour_id")
		if isFlavour {
			id = p.resolve(t, id)
		}
		if id.text() != "" {
			return id, true
		}
	}
	return id, isFlavour
}

// ofType returns the nodes of a template whose type is one of these or derived from one, in their order.
func (p *parser) ofType(t *template, types ...string) []*node {
	var found []*node
	for _, n := range t.nodes {
		if slices.ContainsFunc(types, func(base string) bool { return p.types.is(n.typ, base) }) {
			found = append(found, n)
		}
	}
	return found
}

// property returns a property of a node: from the node itself, else the default of its type.
func (p *parser) property(n *node, path ...string) value {
	if v := p.resolvePath(n.template, n.value.get("properties"), path); v.ok() {
		return v
	}
	return p.typeDefault(n.typ, path)
}

// typeDefault is the default of a property that a type or one that it is derived from declares.
func (p *parser) typeDefault(typ string, path []string) value {
	return p.types.find(typ, "properties", path[0], "default").path(path[1:]...)
}

// capability returns a property of a capability of a node.
func (p *parser) capability(n *node, name string, path ...string) value {
	if v := p.resolvePath(n.template, n.value.path("capabilities", name, "properties"), path); v.ok() {
		return v
	}
	return p.types.find(n.typ, "capabilities", name, "properties", path[0], "default").path(path[1:]...)
}

// resolvePath follows keys, with functions resolved on the way.
func (p *parser) resolvePath(t *template, v value, path []string) value {
	for _, key := range path {
		v = p.resolve(t, p.resolve(t, v).get(key))
	}
	return v
}

// requirements returns the targets of a requirement of a node: "name" or {node: name}. A requirement without a target
// is decided when it is connected.
func (p *parser) requirements(n *node, name string) []value {
	var targets []value
	for _, r := range n.value.get("requirements").pairs() {
		if r.key != name {
			continue
		}
		target := p.resolve(n.template, r.value)
		if target.isMap() {
			target = p.resolve(n.template, target.get("node"))
		}
		if target.isScalar() && strings.TrimSpace(target.text()) != "" {
			targets = append(targets, target)
		}
	}
	return targets
}

// target checks that a requirement names a node of one of these types.
func (p *parser) target(n *node, requirement string, v value, types ...string) (string, bool) {
	name := v.text()
	to := n.template.byName[name]
	if to == nil {
		p.add(v.fail(UnknownNode, "", "%s of the node %s names %q, which is not declared", requirement, n.name, name))
		return "", false
	}
	if to.typ == "" {
		return "", false
	}
	if !slices.ContainsFunc(types, func(base string) bool { return p.types.is(to.typ, base) }) {
		p.add(v.fail(BadValue, "", "%s of the node %s names %s, which is a %s", requirement, n.name, name, to.typ))
		return "", false
	}
	return name, true
}
