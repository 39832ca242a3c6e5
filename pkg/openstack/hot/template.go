package hot

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Template is one Heat template as an editable tree.
type Template struct {
	root *yaml.Node // the top mapping, free of aliases
}

// Parse reads one template; file is only used in errors, which are *Error.
func Parse(file string, text []byte) (*Template, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, bad(file, "it is not YAML: %v", err)
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, bad(file, "it is empty")
		}
		return nil, bad(file, "it is not YAML: %v", err)
	}
	root := &doc
	if root.Kind == yaml.DocumentNode && len(root.Content) > 0 {
		root = root.Content[0]
	}
	if root.Kind != yaml.MappingNode || field(root, "heat_template_version") == nil {
		return nil, bad(file, "it is not a Heat template: there is no heat_template_version")
	}
	f := flattener{}
	root, err = f.flatten(root, 0)
	if err != nil {
		return nil, bad(file, "%v", err)
	}
	if res := field(root, "resources"); res != nil && res.Kind != yaml.MappingNode {
		return nil, bad(file, "resources is not a map")
	}
	return &Template{root: root}, nil
}

// flattener copies a tree and puts a copy in the place of every alias, so that an edit in one place does not show in
// another.
type flattener struct{ nodes int }

func (f *flattener) flatten(n *yaml.Node, depth int) (*yaml.Node, error) {
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil {
			return nil, errors.New("an alias refers to nothing")
		}
		n = n.Alias
	}
	if f.nodes++; f.nodes > maxNodes {
		return nil, errors.New("it has more than " + strconv.Itoa(maxNodes) + " values when its aliases are resolved")
	}
	if depth > 200 {
		return nil, errors.New("it is nested more than 200 levels deep")
	}
	c := *n
	c.Anchor, c.Alias = "", nil
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		var err error
		if c.Content[i], err = f.flatten(child, depth+1); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// Clone returns a copy that can be edited without changing t.
func (t *Template) Clone() *Template { return &Template{root: clone(t.root)} }

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = clone(child)
	}
	return &c
}

// Encode returns the template as YAML.
func (t *Template) Encode() (string, error) {
	out, err := yaml.Dump(t.root, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	return string(out), err
}

// Resources lists the names of the template's resources in order.
func (t *Template) Resources() []string {
	var names []string
	for k := range pairs(field(t.root, "resources")) {
		names = append(names, k.Value)
	}
	return names
}

// Has says whether the template has a resource of this name.
func (t *Template) Has(resource string) bool { return slices.Contains(t.Resources(), resource) }

// Declares says whether the template has a parameter of this name.
func (t *Template) Declares(parameter string) bool {
	return field(field(t.root, "parameters"), parameter) != nil
}

// Params lists the paths below the parameter nfv that the template asks for, each once, in the order they are met. An
// item is a string, or an int for the index of a list. Paths that are themselves computed are left out.
func (t *Template) Params() [][]any { return params(t.root) }

func params(top *yaml.Node) [][]any {
	var out [][]any
	seen := map[string]bool{}
	walk(top, func(n *yaml.Node) {
		arg := function(n, "get_param")
		if arg == nil || arg.Kind != yaml.SequenceNode || len(arg.Content) < 2 || arg.Content[0].Value != "nfv" {
			return
		}
		var p []any
		var key strings.Builder
		for _, item := range arg.Content[1:] {
			if item.Kind != yaml.ScalarNode {
				return
			}
			key.WriteString(item.Value + "\x00")
			if i, err := strconv.Atoi(item.Value); err == nil && item.ShortTag() == "!!int" {
				p = append(p, i)
			} else {
				p = append(p, item.Value)
			}
		}
		if !seen[key.String()] {
			seen[key.String()] = true
			out = append(out, p)
		}
	})
	return out
}

// nestedTypes lists the resource types that are file names, also those of group members.
func (t *Template) nestedTypes() []string { return nestedTypes(field(t.root, "resources")) }

func nestedTypes(top *yaml.Node) []string {
	var out []string
	walk(top, func(n *yaml.Node) {
		v := field(n, "type")
		if v != nil && v.Kind == yaml.ScalarNode && isYAML(v.Value) && !slices.Contains(out, v.Value) {
			out = append(out, v.Value)
		}
	})
	return out
}

// All lists the bundle's templates, the top one first; none for a nil bundle.
func (b *Bundle) All() []*Template {
	if b == nil {
		return nil
	}
	out := []*Template{b.Template}
	for _, name := range slices.Sorted(maps.Keys(b.nested)) {
		out = append(out, b.nested[name])
	}
	return out
}

// Properties returns the type and the properties of a resource as plain values; an empty type when the template does
// not have it.
func (t *Template) Properties(resource string) (typ string, props map[string]any) {
	n := field(field(t.root, "resources"), resource)
	if kind := field(n, "type"); kind != nil {
		typ = kind.Value
	}
	if p := field(n, "properties"); p != nil {
		_ = p.Decode(&props) // not a map: Heat refuses it
	}
	return typ, props
}
