package tosca

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxFunctions bounds functions whose values are functions.
const maxFunctions = 16

// resolve evaluates the TOSCA functions that have a value before anything is deployed: get_input of an input with a
// default, get_property of a node of the same file, concat. What has no value yet is absent.
func (p *parser) resolve(t *template, v value) value {
	for range maxFunctions {
		next, isFunction := p.call(t, v)
		if !isFunction {
			return v
		}
		v = next
	}
	p.add(v.fail(BadValue, "", "functions refer to each other too often"))
	return value{}
}

// call evaluates v if it is a function, a mapping with only its name as key.
func (p *parser) call(t *template, v value) (result value, isFunction bool) {
	if !v.isMap() || len(v.node.Content) != 2 {
		return v, false
	}
	f := v.pairs()
	if len(f) != 1 {
		return v, false
	}
	switch f[0].key {
	case "get_input":
		return p.getInput(t, f[0].value), true
	case "get_property":
		return p.getProperty(t, f[0].value), true
	case "concat":
		return p.concat(t, f[0].value), true
	case "get_attribute", "get_artifact", "get_operation_output", "get_nodes_of_type", "token", "join":
		return value{}, true
	}
	return v, false
}

// getInput is the default of an input; the argument is its name, or a list of the name and keys inside of it.
func (p *parser) getInput(t *template, arg value) value {
	items := arg.items()
	if len(items) == 0 {
		return value{}
	}
	in, ok := t.inputs[items[0].text()]
	if !ok {
		p.add(items[0].fail(
			UnknownInput, "declare it under topology_template.inputs", "the input %q is not declared", items[0].text(),
		))
		return value{}
	}
	return valueAt(in.get("default"), items[1:])
}

// getProperty is a property of a node of the same file: [node, property, keys inside of it…]. SELF and the other
// forms have no value here.
func (p *parser) getProperty(t *template, arg value) value {
	items := arg.items()
	if len(items) < 2 {
		return value{}
	}
	n := t.byName[items[0].text()]
	if n == nil {
		return value{}
	}
	key := items[1].text()
	v := n.value.path("properties", key)
	if !v.ok() {
		v = p.typeDefault(n.typ, []string{key})
	}
	return valueAt(v, items[2:])
}

// concat joins texts. It is absent unless all of them are there.
func (p *parser) concat(t *template, arg value) value {
	var all strings.Builder
	for _, item := range arg.items() {
		if item.isMap() { // no functions inside: they could double the text at each level
			item = p.resolveOnce(t, item)
		}
		if !item.isScalar() {
			return value{}
		}
		all.WriteString(item.text())
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: clipTo(all.String(), 4096)}
	if arg.node != nil {
		n.Line, n.Column = arg.node.Line, arg.node.Column
	}
	return value{doc: arg.doc, node: n}
}

// resolveOnce evaluates one function whose value must be plain.
func (p *parser) resolveOnce(t *template, v value) value {
	if len(v.pairs()) != 1 || v.pairs()[0].key == "concat" {
		return value{}
	}
	result, _ := p.call(t, v)
	return result
}

// valueAt goes into a value by keys and list indexes.
func valueAt(v value, keys []value) value {
	for _, k := range keys {
		if i, ok := k.number(); ok && v.isList() {
			items := v.items()
			if i < 0 || i >= len(items) {
				return value{}
			}
			v = items[i]
			continue
		}
		v = v.get(k.text())
	}
	return v
}

func clipTo(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "")
	}
	return s
}
