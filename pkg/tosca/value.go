package tosca

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// value is a YAML value with the file it is in. The zero value is an absent one; all methods take it.
type value struct {
	doc  *document
	node *yaml.Node
	at   *yaml.Node // where it is used, when node is an alias's target
}

// ok says that there is a value that is not null.
func (v value) ok() bool { return v.node != nil && v.node.ShortTag() != "!!null" }

func (v value) isMap() bool    { return v.node != nil && v.node.Kind == yaml.MappingNode }
func (v value) isList() bool   { return v.node != nil && v.node.Kind == yaml.SequenceNode }
func (v value) isScalar() bool { return v.ok() && v.node.Kind == yaml.ScalarNode }

// get returns the value of a key of a mapping.
func (v value) get(key string) value {
	if !v.isMap() {
		return value{}
	}
	m := v.doc.mapping(v.node)
	if i, ok := m.index[key]; ok {
		return m.pairs[i].value
	}
	return value{}
}

// path follows keys through nested mappings.
func (v value) path(keys ...string) value {
	for _, k := range keys {
		v = v.get(k)
	}
	return v
}

// pairs returns the entries of a mapping in their order. A list of mappings, which TOSCA uses for ordered names, gives
// the entries of its items one after another.
func (v value) pairs() []pair {
	switch {
	case v.isMap():
		return v.doc.mapping(v.node).pairs
	case v.isList():
		var all []pair
		for _, item := range v.items() {
			if item.isMap() {
				all = append(all, item.pairs()...)
			}
		}
		return all
	}
	return nil
}

// items returns the elements of a list; a scalar or mapping is a list of one.
func (v value) items() []value {
	switch {
	case !v.ok():
		return nil
	case !v.isList():
		return []value{v}
	}
	items := make([]value, len(v.node.Content))
	for i, n := range v.node.Content {
		items[i] = value{doc: v.doc, node: deref(n), at: n}
	}
	return items
}

// text is a scalar as it is written, without quotes; "" for anything else.
func (v value) text() string {
	if !v.isScalar() {
		return ""
	}
	return v.node.Value
}

// number is a scalar as a whole number.
func (v value) number() (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(v.text()))
	return n, err == nil
}

// kind names what the value is, for errors.
func (v value) kind() string {
	switch {
	case !v.ok():
		return "nothing"
	case v.isMap():
		return "a mapping"
	case v.isList():
		return "a list"
	}
	return strconv.Quote(clip(v.node.Value))
}

// fail makes an error at the value's place.
func (v value) fail(reason Reason, hint, format string, args ...any) *Error {
	e := &Error{Reason: reason, What: fmt.Sprintf(format, args...), Hint: hint, at: v}
	if v.doc != nil {
		e.File = v.doc.path
	}
	n := v.at
	if n == nil {
		n = v.node
	}
	if n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	return e
}

// fail makes an error at the key's place.
func (p pair) fail(reason Reason, hint, format string, args ...any) *Error {
	return value{doc: p.value.doc, node: p.at}.fail(reason, hint, format, args...)
}

// maxSafeInt is the first whole number that a float64 cannot tell from its neighbour.
const maxSafeInt = 1 << 53

// data is the value as encoding/json would decode it. Numbers that a float64 cannot hold exactly as written, such as
// 1.10 or 0x10, stay text.
func (v value) data() any {
	switch {
	case !v.ok():
		return nil
	case v.isMap():
		m := make(map[string]any, len(v.pairs()))
		for _, p := range v.pairs() {
			m[p.key] = p.value.data()
		}
		return m
	case v.isList():
		list := make([]any, 0, len(v.node.Content))
		for _, item := range v.items() {
			list = append(list, item.data())
		}
		return list
	}
	switch v.node.ShortTag() {
	case "!!bool":
		return strings.EqualFold(v.node.Value, "true")
	case "!!int":
		if n, err := strconv.ParseInt(v.node.Value, 10, 64); err == nil && n < maxSafeInt && n > -maxSafeInt &&
			strconv.FormatInt(n, 10) == v.node.Value {
			return float64(n)
		}
	}
	return v.node.Value
}

// clip shortens text for an error.
func clip(s string) string {
	const keep = 100
	if len(s) > keep {
		return strings.ToValidUTF8(s[:keep], "") + "…"
	}
	return s
}
