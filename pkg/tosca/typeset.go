package tosca

import (
	"slices"
	"strings"
)

// typeset knows the types of SOL001 and those that the package defines.
type typeset struct {
	defs    map[string]value // definitions in files of the package, also copies of built-in ones
	keys    map[string]pair  // where each is defined
	nodesOf []string         // in the order of the files
}

// maxDerived bounds how long a chain of derived types may be.
const maxDerived = 32

// sections of a file that define types.
var sections = []string{
	"node_types", "policy_types", "group_types", "artifact_types", "interface_types", "data_types",
	"capability_types", "relationship_types",
}

func newTypeset() *typeset { return &typeset{defs: map[string]value{}, keys: map[string]pair{}} }

// addFile adds the type definitions of a file.
func (t *typeset) addFile(d *document, p *problems) {
	for _, section := range sections {
		for _, def := range d.root.get(section).pairs() {
			if old, ok := t.keys[def.key]; ok {
				if !isTosca(def.key) {
					p.add(def.fail(Conflict, "", "the type %s is defined in %s, too", def.key, old.value.doc.path))
				}
				continue
			}
			t.defs[def.key], t.keys[def.key] = def.value, def
			t.nodesOf = append(t.nodesOf, def.key)
		}
	}
}

// isTosca says that a name belongs to the standard, which defines more than we know.
func isTosca(name string) bool { return strings.HasPrefix(name, "tosca.") }

// parent is what a type is derived from: built-in knowledge goes before a copy of it.
func (t *typeset) parent(name string) (string, bool) {
	if p, ok := builtin[name]; ok {
		return p, true
	}
	def, ok := t.defs[name]
	if !ok {
		return rootType, isTosca(name)
	}
	if p := def.get("derived_from").text(); p != "" {
		return p, true
	}
	return rootType, true
}

// check finds types that are derived from nothing known, or from themselves.
func (t *typeset) check(p *problems) {
	for _, name := range t.nodesOf {
		from := t.defs[name].get("derived_from")
		parent := from.text()
		if parent == "" || isTosca(name) {
			continue
		}
		if _, ok := t.parent(parent); !ok {
			p.add(from.fail(UnknownType, "import the file that defines it",
				"the type %s is derived from %s, which is not defined", name, parent))
		}
		if chain := t.chain(name); len(chain) > maxDerived {
			p.add(t.keys[name].fail(
				UnknownType, "", "the type %s is derived from itself, or more than %d times", name, maxDerived,
			))
		}
	}
}

// chain yields a type and what it is derived from, the type itself first. It ends after maxDerived steps.
func (t *typeset) chain(name string) []string {
	var all []string
	for name != rootType && len(all) <= maxDerived {
		all = append(all, name)
		name, _ = t.parent(name)
	}
	return all
}

// known says whether a type is built in, defined by the package, or at least of the standard.
func (t *typeset) known(name string) bool {
	_, ok := t.parent(name)
	return ok
}

// foreign says that a type is named like one of the standard, but is neither built in nor defined by the package.
func (t *typeset) foreign(name string) bool {
	_, isBuiltin := builtin[name]
	_, isDefined := t.defs[name]
	return !isBuiltin && !isDefined
}

// is says whether a type is base or derived from it.
func (t *typeset) is(name, base string) bool {
	return slices.Contains(t.chain(name), base)
}

// find returns the first value that a type, or what it is derived from, has at a path of its definition.
func (t *typeset) find(name string, path ...string) value {
	for _, at := range t.chain(name) {
		if v := t.defs[at].path(path...); v.ok() {
			return v
		}
	}
	return value{}
}
