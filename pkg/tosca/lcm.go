package tosca

import (
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// lcm reads the interface Vnflcm: what runs at the start and end of lifecycle operations. An operation of the node
// goes before the same one of its type.
func (r *flavourReader) lcm(vnfs []*node) {
	r.f.LCM = map[string]vnfd.Implementation{}
	for _, n := range r.withInterface(vnfs) {
		files := map[string]artifact{}
		for _, a := range r.artifacts(n) {
			files[a.name] = a
		}
		used := map[string]bool{}
		seen := map[string]bool{}
		add := func(definition value) {
			for _, op := range operations(definition) {
				if seen[op.key] {
					continue
				}
				seen[op.key] = true
				if impl, ok := r.implementation(op, files); ok {
					r.f.LCM[op.key] = impl
					used[impl.Name] = true
				}
			}
		}
		for _, i := range n.value.get("interfaces").pairs() {
			if r.isVnflcm(n.typ, i) {
				add(i.value)
			}
		}
		for _, typ := range r.types.chain(n.typ) {
			for _, i := range r.types.defs[typ].get("interfaces").pairs() {
				if r.isVnflcm(typ, i) {
					add(i.value)
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if a := files[name]; a.outside != nil && !used[name] {
				r.warn(a.outside)
				r.addExternal(a.at)
			}
		}
	}
	if len(r.f.LCM) == 0 {
		r.f.LCM = nil
	}
}

// withInterface is the flavour's VNF node. Where a flavour has none, or it has no interfaces, another node that has
// the interface counts.
func (r *flavourReader) withInterface(vnfs []*node) []*node {
	if len(vnfs) > 0 && vnfs[0].value.get("interfaces").ok() {
		return vnfs[:1]
	}
	for _, n := range r.t.nodes {
		for _, i := range n.value.get("interfaces").pairs() {
			if r.isVnflcm(n.typ, i) {
				return []*node{n}
			}
		}
	}
	return vnfs[:min(1, len(vnfs))]
}

// isVnflcm says whether an interface is tosca.interfaces.nfv.Vnflcm, by its type or by its usual name.
func (r *flavourReader) isVnflcm(nodeType string, i pair) bool {
	typ := i.value.get("type").text()
	if typ == "" {
		typ = r.types.find(nodeType, "interfaces", i.key, "type").text()
	}
	if typ != "" {
		return r.types.is(typ, typeVnflcm)
	}
	return strings.EqualFold(i.key, "vnflcm")
}

// operations are the entries of an interface: directly in it, or under its key operations.
func operations(definition value) []pair {
	var ops []pair
	for _, p := range definition.pairs() {
		switch p.key {
		case "type", "inputs", "description", "notifications":
		case "operations":
			ops = append(ops, p.value.pairs()...)
		default:
			ops = append(ops, p)
		}
	}
	return ops
}

// implementation reads an operation: "name", {implementation: name}, {implementation: {primary: name}} or
// {implementation: {primary: {type, file}}}. An empty one, such as [], runs nothing.
func (r *flavourReader) implementation(op pair, files map[string]artifact) (vnfd.Implementation, bool) {
	v := op.value
	if v.isMap() {
		v = v.get("implementation")
	}
	if v.isMap() && v.get("primary").ok() {
		v = v.get("primary")
	}
	impl := vnfd.Implementation{Inputs: r.inputs(op.value)}
	switch {
	case v.isMap() && v.get("file").ok():
		impl.Name, impl.ArtifactType = v.get("file").text(), v.get("type").text()
		var outside *Error
		impl.File, outside = r.artifactFile(v.get("file"), op.key)
		r.missesArtifact(&impl, op.key, op.key, outside)
		return impl, true
	case v.text() == "":
		if v.ok() && len(v.items()) > 0 {
			r.add(v.fail(BadValue, "write implementation: <artifact or built-in driver>",
				"the implementation of %s is %s", op.key, v.kind()))
		}
		return impl, false
	}
	impl.Name = v.text()
	if a, ok := files[impl.Name]; ok {
		impl.ArtifactType, impl.File = a.typ, a.file
		r.missesArtifact(&impl, op.key, a.name, a.outside)
	} else if file, _ := r.locate(v.doc, impl.Name); file != "" {
		impl.File = file
	}
	return impl, true
}

// missesArtifact marks an implementation whose artifact is not a file of the package. A driver that is built in does
// not need it.
func (r *flavourReader) missesArtifact(impl *vnfd.Implementation, hook, artifact string, outside *Error) {
	if outside == nil {
		return
	}
	r.addExternal(outside.at)
	impl.Defect = outside.Error()
	var operations []string
	if name := vnfd.HookOperation(hook); name != "" {
		operations = []string{name}
	}
	r.postpone(outside, artifact, operations...)
}

// inputs are those of an operation as JSON values; what an input's definition only declares is its default.
func (r *flavourReader) inputs(op value) map[string]any {
	pairs := op.get("inputs").pairs()
	if len(pairs) == 0 {
		return nil
	}
	inputs := make(map[string]any, len(pairs))
	for _, in := range pairs {
		v := r.resolve(r.t, in.value)
		if v.isMap() && v.get("type").isScalar() {
			v = r.resolve(r.t, v.get("default"))
		}
		if v.ok() {
			inputs[in.key] = v.data()
		}
	}
	return inputs
}
