package userdata

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

// Mix is a stack on its way from one package to another: some of its resources are as the new package says already, the
// others and all that surrounds them still as the old one does. Nested templates of both have a place in it: one of the
// new package that differs from the old one's of the same name gets a name of its own, which costs nothing, because
// Heat changes the type of a resource between nested templates in place.
type Mix struct {
	old, next   *Stack
	oldTop, top *hot.Template // top is the new one, with the names of its nested templates in the mix
	files       map[string]string
	nested      map[string]*hot.Template // of the new package, by their names in the mix
}

// NewMix prepares the way from one stack to another. An error is a fault of a template.
func NewMix(old, next *Stack) (*Mix, error) {
	m := &Mix{old: old, next: next, files: maps.Clone(old.Files), nested: map[string]*hot.Template{}}
	var err error
	if m.oldTop, err = hot.Parse("the present template", []byte(old.Template)); err != nil {
		return nil, err
	}
	if m.top, err = hot.Parse("the new template", []byte(next.Template)); err != nil {
		return nil, err
	}
	parsed := map[string]*hot.Template{}
	for name, text := range next.Files {
		if parsed[name], err = hot.Parse(name, []byte(text)); err != nil {
			return nil, err
		}
	}
	names := newNames(old.Files, next.Files, parsed)
	m.top.RenameNested(names)
	if m.files == nil {
		m.files = map[string]string{}
	}
	for name, t := range parsed {
		text := next.Files[name]
		if slices.ContainsFunc(t.Nested(), func(n string) bool { return names[n] != "" }) {
			t.RenameNested(names)
			if text, err = t.Encode(); err != nil {
				return nil, fmt.Errorf("encode %s: %w", name, err)
			}
		}
		if n := names[name]; n != "" {
			name = n
		}
		m.files[name], m.nested[name] = text, t
	}
	return m, nil
}

// newNames gives names to the nested templates of the new package that differ from the old one's of the same name,
// themselves or in what they refer to.
func newNames(old, next map[string]string, parsed map[string]*hot.Template) map[string]string {
	names := map[string]string{}
	for again := true; again; {
		again = false
		for name, text := range next {
			was, both := old[name]
			if !both || names[name] != "" {
				continue
			}
			if was != text || slices.ContainsFunc(
				parsed[name].Nested(), func(n string) bool { return names[n] != "" },
			) {
				names[name] = hot.NameFor(name, text)
				again = true
			}
		}
	}
	return names
}

// Has says whether both packages have a top-level resource of this name.
func (m *Mix) Has(resource string) bool { return m.oldTop.Has(resource) && m.top.Has(resource) }

// Holding lists the top-level resources that the VNFCs of a VDU are in, where all of them share one: groups of any
// kind, or the server itself.
func (m *Mix) Holding(vdu string) []string {
	var out []string
	for _, r := range m.top.Resources() {
		if r == vdu || m.holds(m.top.Uses(r), vdu, map[string]bool{}) {
			out = append(out, r)
		}
	}
	return out
}

// Untouched says whether these top-level resources are the same to Heat in both packages: definitions, nested templates
// and values.
func (m *Mix) Untouched(resources []string) bool {
	inside, _ := m.top.Split(resources)
	return !slices.ContainsFunc(resources, func(r string) bool { return !m.top.Same(m.oldTop, r) }) &&
		!slices.ContainsFunc(inside, func(p []any) bool {
			return !reflect.DeepEqual(valueAt(m.old.NFV, leaf(p)), valueAt(m.next.NFV, leaf(p)))
		})
}

// Remade says whether the servers in these top-level resources may be others afterwards, or the same with another
// image: they are defined differently, or one of their images differs.
func (m *Mix) Remade(resources []string) bool {
	inside, _ := m.top.Split(resources)
	return slices.ContainsFunc(resources, func(r string) bool { return !m.top.Same(m.oldTop, r) }) ||
		slices.ContainsFunc(inside, func(p []any) bool {
			l := leaf(p)
			return len(l) > 0 && IsLeaf(l[len(l)-1], LeafImage) && !reflect.DeepEqual(
				valueAt(m.old.NFV, l), valueAt(m.next.NFV, l),
			)
		})
}

// holds says whether one of the nested templates, or one below them, has a resource of this name.
func (m *Mix) holds(files []string, resource string, seen map[string]bool) bool {
	for _, f := range files {
		t := m.nested[f]
		if t == nil || seen[f] {
			continue
		}
		seen[f] = true
		if t.Has(resource) || m.holds(t.Nested(), resource, seen) {
			return true
		}
	}
	return false
}

// Stack is the stack in which these top-level resources are new; with none it is the old one. A value of nfv that new
// and old resources share becomes new with the last of them.
func (m *Mix) Stack(resources []string) (*Stack, error) {
	if len(resources) == 0 {
		return m.old, nil
	}
	t := m.oldTop.Clone()
	var grafted []string
	for _, r := range resources {
		grafted = append(grafted, t.Graft(m.top, r)...)
	}
	inside, outside := t.Split(grafted)
	shared := map[string]bool{}
	for _, p := range outside {
		shared[strings.Join(leaf(p), "\x00")] = true
	}
	nfv := copied(m.old.NFV)
	for _, p := range inside {
		l := leaf(p)
		if held := shared[strings.Join(l, "\x00")] && valueAt(nfv, l) != nil; len(l) > 0 && !held {
			put(nfv, l, valueAt(m.next.NFV, l))
		}
	}
	m.regroup(nfv, grafted)
	text, err := t.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode the template: %w", err)
	}
	s := &Stack{Template: text, Files: m.files, NFV: nfv, Other: m.next.Other, NoNFV: m.next.NoNFV}
	if t.Declares(ParamPublicKey) {
		s.PublicKey = cmp.Or(m.next.PublicKey, m.old.PublicKey)
	}
	return s, nil
}

// leaf is the part of a path below nfv that has one value for one thing: kind, name and leaf.
func leaf(p []any) []string {
	var out []string
	for _, item := range p[:min(len(p), 3)] {
		s, ok := item.(string)
		if !ok {
			break
		}
		out = append(out, s)
	}
	return out
}

func valueAt(nfv map[string]any, p []string) any {
	var at any = nfv
	for _, k := range p {
		m, _ := at.(map[string]any)
		at = m[k]
	}
	return at
}

// put sets a value; nil says that the template asks for one that is not given, which Heat distinguishes from no entry.
func put(nfv map[string]any, p []string, value any) {
	for _, k := range p[:len(p)-1] {
		m, ok := nfv[k].(map[string]any)
		if !ok {
			m = map[string]any{}
			nfv[k] = m
		}
		nfv = m
	}
	nfv[p[len(p)-1]] = value
}

// copied copies maps all the way down; other values are never changed.
func copied(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if n, ok := v.(map[string]any); ok {
			v = copied(n)
		}
		out[k] = v
	}
	return out
}

// Leaf names a value of nfv: kind is VDU or CP, name a node of the VNFD, with the VNFC's index where there is one.
type Leaf struct{ Kind, Name, Leaf string }

// Asks says which leaves the template takes.
func (s *Stack) Asks() (map[Leaf]bool, error) {
	t, err := hot.Parse("the template", []byte(s.Template))
	if err != nil {
		return nil, err
	}
	out := map[Leaf]bool{}
	for _, p := range t.Params() {
		if l := leaf(p); len(l) == 3 {
			out[Leaf{l[0], l[1], l[2]}] = true
		}
	}
	return out, nil
}

// Asked is nfv without what the template does not ask for.
func (s *Stack) Asked() (map[string]any, error) {
	t, err := hot.Parse("the template", []byte(s.Template))
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, p := range t.Params() {
		if l := leaf(p); len(l) > 0 {
			if v := valueAt(s.NFV, l); v != nil {
				put(out, l, v)
			}
		}
	}
	return out, nil
}
