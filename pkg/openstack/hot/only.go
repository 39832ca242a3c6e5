package hot

import (
	"fmt"
	"maps"
	"slices"
)

// Selection is the part of a template that one of several stacks has.
type Selection struct {
	// Own are the VDUs whose VNFCs the stack has, Away those of the other stacks.
	Own, Away []string
	// Primary says that the stack has what belongs to no VDU, too. It is created before the others.
	Primary bool
	// Given are the networks that the stack does not create: externally managed links take their place.
	Given []string
}

// SplitError says why a template cannot be divided among several stacks.
type SplitError struct {
	File, Problem string
}

// Error implements error.
func (e *SplitError) Error() string { return e.File + ": " + e.Problem }

// copyable are the types of resources that several stacks can have a copy of, because they hold nothing and connect
// nothing.
var copyable = []string{
	"OS::Neutron::SecurityGroup", "OS::Neutron::SecurityGroupRule", "OS::Neutron::AddressGroup",
	"OS::Neutron::QoSPolicy", "OS::Nova::ServerGroup", "OS::Nova::Flavor", "OS::Heat::Value", "OS::Heat::None",
	"OS::Heat::SoftwareConfig", "OS::Heat::CloudConfig", "OS::Heat::MultipartMime",
}

// Only returns the bundle with the resources of a selection: those that have the VNFCs of its VDUs, what these refer
// to, and what refers to these. The error is a *SplitError when the rest of the template is needed, too.
func (b *Bundle) Only(s Selection) (*Bundle, error) {
	g, err := b.graph(s)
	if err != nil {
		return nil, err
	}
	removed, err := g.removed()
	if err != nil {
		return nil, err
	}
	out := *b
	out.Template = b.Template.Clone()
	out.Template.remove(removed)
	return &out, nil
}

// remove takes resources away, with what the outputs and depends_on of others say about them.
func (t *Template) remove(resources []string) {
	res := field(t.root, "resources")
	for _, name := range resources {
		if at := indexOf(res, name); at >= 0 {
			res.Content = slices.Delete(res.Content, at, at+2)
		}
		t.replaceDependency(name, nil)
	}
	outputs := field(t.root, "outputs")
	for name, out := range pairs(outputs) {
		if !slices.ContainsFunc(references(out), func(r string) bool { return slices.Contains(resources, r) }) {
			continue
		}
		at := indexOf(outputs, name.Value)
		outputs.Content = slices.Delete(slices.Clone(outputs.Content), at, at+2)
	}
}

// graph is the resources of a template and what they refer to.
type graph struct {
	Selection
	file  string
	names []string
	refs  map[string][]string
	after map[string][]string // refs that are in depends_on only
	kind  map[string]string
	vdu   map[string]string // of the resources that have VNFCs
}

// graph reads the template. A resource has the VNFCs of a VDU when it, or a resource nested in it, has the VDU's name.
func (b *Bundle) graph(s Selection) (*graph, error) {
	g := &graph{
		Selection: s, file: b.Path, refs: map[string][]string{}, after: map[string][]string{},
		kind: map[string]string{}, vdu: map[string]string{},
	}
	for name, r := range pairs(field(b.Template.root, "resources")) {
		g.names = append(g.names, name.Value)
		g.kind[name.Value] = text(field(r, "type"))
		g.refs[name.Value] = references(r)
		bare := clone(r)
		if at := indexOf(bare, "depends_on"); at >= 0 {
			bare.Content = slices.Delete(bare.Content, at, at+2)
		}
		used := references(bare)
		g.after[name.Value] = slices.DeleteFunc(
			slices.Clone(g.refs[name.Value]), func(o string) bool { return slices.Contains(used, o) },
		)
		for _, vdu := range slices.Concat(s.Own, s.Away) {
			if !isOf(name.Value, vdu) && !b.has(nestedTypes(r), vdu, nil) {
				continue
			}
			if other := g.vdu[name.Value]; other != "" && slices.Contains(s.Own, other) != slices.Contains(s.Own, vdu) {
				return nil, g.problem("the resource %q has the VNFCs of %s and of %s, which use different connections",
					name.Value, other, vdu)
			}
			g.vdu[name.Value] = vdu
		}
	}
	return g, nil
}

// has says whether a nested template, or one below it, has a resource of a VDU.
func (b *Bundle) has(files []string, vdu string, within []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		t := b.nested[file]
		if t == nil || slices.Contains(within, file) {
			return false
		}
		return slices.ContainsFunc(t.Resources(), func(r string) bool { return isOf(r, vdu) }) ||
			b.has(t.nestedTypes(), vdu, append(slices.Clone(within), file))
	})
}

func (g *graph) problem(format string, args ...any) error {
	return &SplitError{File: g.file, Problem: fmt.Sprintf(format, args...)}
}

func (g *graph) own(resource string) bool  { return slices.Contains(g.Own, g.vdu[resource]) }
func (g *graph) away(resource string) bool { return slices.Contains(g.Away, g.vdu[resource]) }

// removed lists the resources that the stack does not have.
func (g *graph) removed() ([]string, error) {
	own, away := g.reach(g.where(g.own), g.away), g.reach(g.where(g.away), g.own)
	if err := g.refersAway(own); err != nil {
		return nil, err
	}
	for before := -1; before < len(own)+len(away); {
		before = len(own) + len(away)
		var err error
		if own, away, err = g.withUsers(own, away); err != nil {
			return nil, err
		}
	}
	if err := g.shared(own, away); err != nil {
		return nil, err
	}
	return g.where(func(r string) bool { return !own[r] && (away[r] || !g.Primary) }), nil
}

// withUsers adds to both sides what refers to their resources, and all that this refers to.
func (g *graph) withUsers(own, away map[string]bool) (ownAll, awayAll map[string]bool, err error) {
	for _, r := range g.where(func(r string) bool { return g.vdu[r] == "" && !own[r] && !away[r] }) {
		all := g.reach([]string{r}, func(o string) bool { return g.vdu[o] != "" })
		toOwn, toAway := g.meets(all, g.own), g.meets(all, g.away)
		if toOwn && toAway {
			return nil, nil, g.problem("the resource %q refers to VNFCs of VDUs that use different connections", r)
		}
		if toOwn || !toAway && g.meets(all, func(o string) bool { return own[o] }) {
			own = g.reach(slices.Concat(members(own), []string{r}), g.away)
		}
		if toAway || !toOwn && g.meets(all, func(o string) bool { return away[o] }) {
			away = g.reach(slices.Concat(members(away), []string{r}), g.own)
		}
	}
	return own, away, nil
}

// where lists the resources that a condition holds for, in the order of the template.
func (g *graph) where(holds func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(g.names), func(r string) bool { return !holds(r) })
}

// reach is a set of resources with all that they refer to; the way does not go on behind one that stop names, and does
// not have it unless it is at the beginning.
func (g *graph) reach(from []string, stop func(string) bool) map[string]bool {
	out := map[string]bool{}
	for _, r := range from {
		out[r] = true
	}
	for todo := slices.Clone(from); len(todo) > 0; todo = todo[1:] {
		for _, r := range g.refs[todo[0]] {
			if !out[r] && !stop(r) {
				out[r] = true
				todo = append(todo, r)
			}
		}
	}
	return out
}

// meets says whether a condition holds for one of the resources, or for one that they refer to.
func (g *graph) meets(resources map[string]bool, holds func(string) bool) bool {
	for r := range resources {
		if holds(r) || slices.ContainsFunc(g.refs[r], holds) {
			return true
		}
	}
	return false
}

// refersAway rejects references from the stack to VNFCs of another one. An order alone is kept by the order of the
// stacks, where it begins with the primary one.
func (g *graph) refersAway(own map[string]bool) error {
	for _, r := range g.where(func(r string) bool { return own[r] }) {
		for _, to := range g.refs[r] {
			if g.away(to) && (g.Primary || !slices.Contains(g.after[r], to)) {
				return g.problem(
					"the resource %q refers to %q, which has the VNFCs of %s: that VDU uses another connection", r, to,
					g.vdu[to],
				)
			}
		}
	}
	return nil
}

// shared rejects resources that several stacks would need and only one can have.
func (g *graph) shared(own, away map[string]bool) error {
	for _, r := range g.where(func(r string) bool { return own[r] && away[r] }) {
		switch {
		case slices.Contains(copyable, g.kind[r]), slices.Contains(g.Given, r):
		case g.kind[r] == "OS::Neutron::Subnet" && slices.ContainsFunc(g.refs[r], func(o string) bool {
			return slices.Contains(g.Given, o)
		}):
		case g.kind[r] == "OS::Neutron::Net":
			return g.problem("VDUs of different connections use the network %q, which is in one cloud: give it as an "+
				"externally managed virtual link for each of the connections", r)
		default:
			return g.problem(
				"VDUs of different connections use the resource %q (%s), which is in one cloud", r, g.kind[r],
			)
		}
	}
	return nil
}

func members(set map[string]bool) []string { return slices.Collect(maps.Keys(set)) }
