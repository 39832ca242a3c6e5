package userdata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// LeafServerGroup is the leaf below nfv.VDU.<vdu> by which a stack remembers the server group that its VNFCs were made
// in: the name of a resource, which ends with the policy. No template asks for it; the scheduler_hints of the servers
// follow from it.
const LeafServerGroup = "serverGroup"

// The policies of server groups. Rules of a VNFD are preferences for Nova: see ADR 014.
const (
	policyApart    = "soft-anti-affinity"
	policyTogether = "soft-affinity"
)

// policyOf is the policy of a server group that has its name from here; "" for any other name.
func policyOf(group string) string {
	if at := strings.LastIndexByte(group, '_'); at > 0 {
		if p := group[at+1:]; p == policyApart || p == policyTogether {
			return p
		}
	}
	return ""
}

// grouper puts servers into the groups that the VNFD's rules of scope nfvi_node ask for.
type grouper struct {
	in    Input
	rules []vnfd.PlacementRule
	// names has the groups of the rules, for VNFCs that are the first of their group.
	names []string
	asked map[string]bool // keys of nfv.VDU whose LeafServerGroup is the template's own
}

// grouped adds the server groups to t. It returns nfv with what is to be remembered of them, and the nested templates.
func grouped(in Input, t *hot.Template, nfv map[string]any) (map[string]any, map[string]string, error) {
	g := grouper{in: in, asked: map[string]bool{}}
	for _, p := range t.Params() {
		if l := leaf(p); len(l) == 3 && l[0] == "VDU" && l[2] == LeafServerGroup {
			g.asked[l[1]] = true
		}
	}
	resources := t.Resources()
	g.readRules(resources)
	out, joiner := g.forgotten(nfv), in.HOT.Joiner(t)
	var used []string
	for _, v := range in.Flavour.VDUs {
		for _, key := range g.keys(v.Name) {
			group := g.groupOf(v.Name, key)
			if group == "" {
				continue
			}
			if slices.Contains(resources, group) {
				return nil, nil, &hot.Error{File: in.HOT.Path, Problem: fmt.Sprintf(
					"it has a resource %q, which is the name of the server group that %s is in", group, key,
				)}
			}
			within := []string{key}
			if in.Class != Standard {
				within = resources
			}
			took, err := joinAny(joiner, within, v.Name, group)
			if err != nil {
				return nil, nil, err
			}
			if !took {
				continue
			}
			put(out, []string{"VDU", key, LeafServerGroup}, group)
			if !slices.Contains(used, group) {
				used = append(used, group)
				t.AddServerGroup(group, policyOf(group))
			}
		}
	}
	return out, joiner.Files, nil
}

// joinAny puts the servers of a VDU in any of the resources into a group.
func joinAny(j *hot.Joiner, resources []string, vdu, group string) (some bool, err error) {
	for _, r := range resources {
		took, err := j.Join(r, vdu, group)
		if err != nil {
			return false, fmt.Errorf("put %s into a server group: %w", vdu, err)
		}
		some = some || took
	}
	return some, nil
}

// readRules finds the rules that make groups, and names for these that no resource has.
func (g *grouper) readRules(taken []string) {
	taken = slices.Clone(taken)
	for _, r := range g.in.Flavour.Placement {
		if r.Scope != "nfvi_node" || !several(g.in.Flavour, r.Targets) {
			continue
		}
		name := plainName(r.Name) + "_" + policyFor(r)
		for slices.Contains(taken, name) {
			name = "_" + name
		}
		taken = append(taken, name)
		g.rules, g.names = append(g.rules, r), append(g.names, name)
	}
}

func policyFor(r vnfd.PlacementRule) string {
	if r.Anti {
		return policyApart
	}
	return policyTogether
}

// plainName makes the name of a resource of that of a rule.
func plainName(rule string) string {
	const longest = 100 // Heat takes 255, and Nova's name for the group has those of the stack and the resource in it
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, rule)
	return name[:min(len(name), longest)]
}

// several says whether there can be more than one VNFC of the VDUs among the targets of a rule. Packages in use have
// levels that go beyond what their VDUs allow.
func several(f *vnfd.Flavour, targets []string) bool {
	most := 0
	for _, target := range targets {
		v := f.VDU(target)
		switch {
		case v == nil:
		case v.MaxInstances == 1 && v.InitialInstances <= 1 &&
			!slices.ContainsFunc(f.Levels, func(l vnfd.InstantiationLevel) bool { return l.VDUs[target] > 1 }):
			most++
		default:
			most += 2
		}
	}
	return most > 1
}

// keys are the names below nfv.VDU for the VNFCs of a VDU: one for each where they have values of their own.
func (g *grouper) keys(vdu string) []string {
	if g.in.Class != Standard {
		return []string{vdu}
	}
	var out []string
	for i := range g.in.Counts[vdu] {
		out = append(out, fmt.Sprintf("%s-%d", vdu, i))
	}
	return out
}

// groupOf is the group for a key; "" for none. A VNFC that is there keeps what it was made with, because Nova takes no
// server into a group, or out of one, later: Heat would recreate it.
func (g *grouper) groupOf(vdu, key string) string {
	switch {
	case g.asked[key] || g.asked[vdu]:
		return ""
	case g.there(key) && !g.renews(key):
		return g.held(key)
	case declined(g.in.Patches, key):
		return ""
	}
	return g.ruled(vdu)
}

// decides is the rule that decides on a VDU, -1 for none: a server can be in one group only. It is the first
// anti-affinity rule, else the first.
func (g *grouper) decides(vdu string) int {
	at := -1
	for i, r := range g.rules {
		if slices.Contains(r.Targets, vdu) && (at < 0 || r.Anti && !g.rules[at].Anti) {
			at = i
		}
	}
	return at
}

// there says whether a key has VNFCs already. One that has values of its own counts even if not as many were found: a
// failure may have taken one before it.
func (g *grouper) there(key string) bool {
	return stays(g.in, key) || g.in.Class == Standard && valueAt(g.in.Held, []string{"VDU", key}) != nil
}

// ruled is the group that the rules have for new VNFCs of a VDU; "" for none.
func (g *grouper) ruled(vdu string) string {
	at := g.decides(vdu)
	if at < 0 {
		return ""
	}
	rule := g.rules[at]
	if !several(
		g.in.Flavour, slices.DeleteFunc(slices.Clone(rule.Targets), func(v string) bool { return g.decides(v) != at }),
	) {
		return ""
	}
	// Where some of the rule's VNFCs are in a group already, another one would be no use: new VNFCs are to be apart
	// from these, or with them.
	for _, v := range append([]string{vdu}, rule.Targets...) {
		for _, e := range entries(g.in.Held, "VDU") {
			if of, _ := vnfc(g.in.Flavour, e.name); of == v && !g.renews(e.name) &&
				policyOf(g.held(e.name)) == policyFor(rule) {
				return g.held(e.name)
			}
		}
	}
	return g.names[at]
}

// held is the group that the VNFCs of a key were made in.
func (g *grouper) held(key string) string {
	group, _ := valueAt(g.in.Held, []string{"VDU", key, LeafServerGroup}).(string)
	if policyOf(group) == "" {
		return ""
	}
	return group
}

// renews says whether the operation recreates the VNFCs of a key anyway.
func (g *grouper) renews(key string) bool {
	return g.in.Fresh != nil && g.in.Fresh("VDU", key, LeafServerGroup)
}

// rememberedLeaves are those below nfv.VDU that no template asks for.
var rememberedLeaves = []string{LeafServerGroup, LeafSnapshot}

// regroup makes the nfv of a mix remember the server groups and snapshots of what is in the new resources as the new
// package has them: not those of a VDU whose new template places its servers itself, for one.
func (m *Mix) regroup(nfv map[string]any, resources []string) {
	for _, key := range slices.Compact(
		slices.Sorted(slices.Values(append(groupedIn(m.old.NFV), groupedIn(m.next.NFV)...))),
	) {
		if !slices.ContainsFunc(m.Holding(key), func(r string) bool { return slices.Contains(resources, r) }) {
			continue
		}
		leaves, _ := valueAt(nfv, []string{"VDU", key}).(map[string]any)
		for _, leaf := range rememberedLeaves {
			delete(leaves, leaf)
			if value := valueAt(m.next.NFV, []string{"VDU", key, leaf}); value != nil {
				put(nfv, []string{"VDU", key, leaf}, value)
			}
		}
	}
}

// groupedIn lists the keys for which nfv has a server group or a snapshot.
func groupedIn(nfv map[string]any) []string {
	var out []string
	for _, e := range entries(nfv, "VDU") {
		if e.leaves[LeafServerGroup] != nil || e.leaves[LeafSnapshot] != nil {
			out = append(out, e.name)
		}
	}
	return out
}

// declined says whether the request, or the grant, wants no group for a key: its nfv has null there.
func declined(patches []sol.KeyValuePairs, key string) bool {
	none := false
	for _, p := range patches {
		nfv, _ := p["nfv"].(map[string]any)
		leaves, _ := valueAt(nfv, []string{"VDU", key}).(map[string]any)
		if v, ok := leaves[LeafServerGroup]; ok {
			none = v == nil
		}
	}
	return none
}

// forgotten copies nfv without what was remembered of server groups.
func (g *grouper) forgotten(nfv map[string]any) map[string]any {
	out := copied(nfv)
	vdus, _ := out["VDU"].(map[string]any)
	for _, e := range entries(out, "VDU") {
		group, _ := e.leaves[LeafServerGroup].(string)
		if g.asked[e.name] || policyOf(group) == "" {
			continue
		}
		if delete(e.leaves, LeafServerGroup); len(e.leaves) == 0 {
			delete(vdus, e.name)
		}
	}
	return out
}
