package tosca

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// policy is one entry of a topology's policies.
type policy struct {
	pair
	typ string
}

func (p policy) property(path ...string) value { return p.value.get("properties").path(path...) }

// policies reads a flavour's policies.
func (r *flavourReader) policies() {
	all := r.readPolicies()
	of := func(typ string) []policy {
		var found []policy
		for _, p := range all {
			if r.types.is(p.typ, typ) {
				found = append(found, p)
			}
		}
		return found
	}
	s := &scaling{flavourReader: r, byAspect: map[string][]delta{}, scaled: map[string]bool{}}
	for _, p := range all {
		if !r.types.is(p.typ, policyDeltas) {
			s.scaled[p.property("aspect").text()] = true
		}
	}
	s.aspects(of(policyAspects))
	s.initial(of(policyInitial))
	s.deltas(of(policyDeltas))
	s.steps()
	for _, p := range append(of(policyVLRate), of(policyVLData)...) {
		s.aspect(p) // reports unknown aspects
		r.vduOrVL(p, false)
	}
	l := &levels{flavourReader: r}
	l.read(of(policyLevels))
	l.counts(of(policyVduLevels))
	for _, p := range of(policyVLLevels) {
		l.check(p)
		r.vduOrVL(p, false)
	}
	l.derive()
	l.warnOfCounts()
	r.placement(append(of(policyAffinity), of(policyAnti)...))
}

func (r *flavourReader) readPolicies() []policy {
	var all []policy
	for _, p := range r.t.topology.get("policies").pairs() {
		typ := p.value.get("type")
		switch {
		case len(all) == maxPolicies:
			r.add(p.fail(TooLarge, "", "the flavour %q has more than %d policies", r.f.ID, maxPolicies))
			return all
		case typ.text() == "":
			r.add(p.fail(MissingValue, "", "the policy %s has no type", p.key))
			continue
		case !r.types.known(typ.text()):
			r.add(typ.fail(UnknownType, "import the file that defines it",
				"the type %s of the policy %s is not defined", typ.text(), p.key))
			continue
		case r.types.foreign(typ.text()):
			r.warn(typ.fail(
				UnknownType, "", "the policy type %s is not known; the policy %s is ignored", typ.text(), p.key,
			))
		}
		all = append(all, policy{pair: p, typ: typ.text()})
	}
	return all
}

// vdus returns the VDUs that a policy targets, each once.
func (r *flavourReader) policyVDUs(p policy) []string { return r.vduOrVL(p, true) }

func (r *flavourReader) vduOrVL(p policy, vdu bool) []string {
	var names []string
	kind := "virtual link"
	if vdu {
		kind = "VDU"
	}
	for _, to := range p.value.get("targets").items() {
		name := to.text()
		ok := vdu && r.f.VDU(name) != nil || !vdu && slices.ContainsFunc(
			r.f.VLs, func(v vnfd.VL) bool { return v.Name == name },
		)
		if !ok {
			r.add(to.fail(
				UnknownNode, "", "the policy %s targets the %s %q, which is not declared", p.key, kind, clip(name),
			))
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// placement reads AffinityRule and AntiAffinityRule. Their targets are VDUs, virtual links, or groups of these.
func (r *flavourReader) placement(rules []policy) {
	groups := r.groups()
	for _, p := range rules {
		rule := vnfd.PlacementRule{Name: p.key, Anti: r.types.is(p.typ, policyAnti)}
		scope := r.resolve(r.t, p.property("scope"))
		switch rule.Scope = scope.text(); rule.Scope {
		case "nfvi_node", "zone", "zone_group", "nfvi_pop", "network_link_and_node":
		case "":
			r.add(p.fail(MissingValue, "add the property scope", "the policy %s has no scope", p.key))
		default:
			r.add(scope.fail(BadValue, "use nfvi_node, zone, zone_group, nfvi_pop or network_link_and_node",
				"the policy %s has the scope %q", p.key, clip(rule.Scope)))
		}
		for _, to := range p.value.get("targets").items() {
			members, isGroup := groups[to.text()]
			switch {
			case isGroup:
				rule.Groups = append(rule.Groups, to.text())
				for _, m := range members {
					rule.Targets = appendUnique(rule.Targets, m)
				}
			case r.placeable(to.text()):
				rule.Targets = appendUnique(rule.Targets, to.text())
			default:
				r.add(to.fail(
					UnknownNode, "", "the policy %s targets %q, which is not a VDU, virtual link or placement group",
					p.key, clip(to.text()),
				))
			}
		}
		r.f.Placement = append(r.f.Placement, rule)
	}
}

// groups returns the members of the placement groups.
func (r *flavourReader) groups() map[string][]string {
	groups := map[string][]string{}
	for _, g := range r.t.topology.get("groups").pairs() {
		if !r.types.is(g.value.get("type").text(), typeGroup) {
			continue
		}
		groups[g.key] = nil
		for _, m := range g.value.get("members").items() {
			if !r.placeable(m.text()) {
				r.add(m.fail(UnknownNode, "", "the group %s has the member %q, which is not a VDU or virtual link",
					g.key, clip(m.text())))
				continue
			}
			groups[g.key] = appendUnique(groups[g.key], m.text())
		}
	}
	return groups
}

// placeable reports whether a name is a VDU or a virtual link.
func (r *flavourReader) placeable(name string) bool {
	n := r.t.byName[name]
	return n != nil && (r.types.is(n.typ, typeVDU) || r.types.is(n.typ, typeContainer) || r.types.is(n.typ, typeVL))
}

func appendUnique(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
