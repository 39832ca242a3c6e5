package tosca

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// scaling reads what one step of each scaling aspect adds.
type scaling struct {
	*flavourReader
	declared []declaredAspect // parallel to f.Aspects
	byAspect map[string][]delta
	// scaled are the aspects for which another policy than VduScalingAspectDeltas says what a step adds.
	scaled map[string]bool
}

// declaredAspect is an aspect's entry in the policy ScalingAspects.
type declaredAspect struct {
	pair
	stepDeltas []value
}

// delta is one VduScalingAspectDeltas policy.
type delta struct {
	policy
	counts map[string]int // by name of the delta
	vdus   []string
}

// aspects reads the policy ScalingAspects.
func (s *scaling) aspects(policies []policy) {
	for _, p := range policies {
		for _, a := range p.property("aspects").pairs() {
			if len(s.f.Aspects) == maxAspects {
				s.add(a.fail(TooLarge, "", "the flavour %q has more than %d scaling aspects", s.f.ID, maxAspects))
				return
			}
			if s.f.Aspect(a.key) != nil {
				s.add(a.fail(DuplicateKey, "", "the scaling aspect %q is declared twice", clip(a.key)))
				continue
			}
			levels := a.value.get("max_scale_level")
			if !levels.ok() {
				s.add(a.fail(MissingValue, "", "the scaling aspect %q has no max_scale_level", clip(a.key)))
			}
			aspect := vnfd.ScalingAspect{
				ID: a.key, Name: a.value.get("name").text(), Description: a.value.get("description").text(),
				MaxScaleLevel: s.number(levels, "max_scale_level", 0, maxScaleLevel),
			}
			d := declaredAspect{pair: a, stepDeltas: a.value.get("step_deltas").items()}
			if n := len(d.stepDeltas); n > 1 && n != aspect.MaxScaleLevel {
				s.add(a.value.get("step_deltas").fail(BadValue, "list one delta for all steps, or one for each",
					"the scaling aspect %q has %d step_deltas for %d steps", clip(a.key), n, aspect.MaxScaleLevel))
			}
			s.f.Aspects = append(s.f.Aspects, aspect)
			s.declared = append(s.declared, d)
		}
	}
}

// initial reads the policies VduInitialDelta.
func (s *scaling) initial(policies []policy) {
	for _, p := range policies {
		count := p.property("initial_delta", "number_of_instances")
		if !count.ok() {
			s.add(p.fail(MissingValue, "", "the policy %s has no initial_delta with number_of_instances", p.key))
		}
		n := s.number(s.resolve(s.t, count), "number_of_instances", 0, maxInstances)
		for _, name := range s.policyVDUs(p) {
			s.f.VDU(name).InitialInstances = n
		}
	}
}

// aspect is the aspect that a policy is about.
func (s *scaling) aspect(p policy) (int, bool) {
	name := p.property("aspect")
	i := slices.IndexFunc(s.f.Aspects, func(a vnfd.ScalingAspect) bool { return a.ID == name.text() })
	switch {
	case !name.ok():
		s.add(p.fail(MissingValue, "", "the policy %s has no aspect", p.key))
	case i < 0:
		s.add(name.fail(UnknownAspect, "declare it in the policy ScalingAspects",
			"the policy %s is for the scaling aspect %q, which is not declared", p.key, clip(name.text())))
	}
	return i, i >= 0
}

// deltas reads the policies VduScalingAspectDeltas.
func (s *scaling) deltas(policies []policy) {
	for _, p := range policies {
		i, ok := s.aspect(p)
		d := delta{policy: p, counts: map[string]int{}, vdus: s.policyVDUs(p)}
		if !ok {
			continue
		}
		known := s.declared[i].stepDeltas
		for _, one := range p.property("deltas").pairs() {
			if len(known) > 0 && !slices.ContainsFunc(known, func(v value) bool { return v.text() == one.key }) {
				s.add(one.fail(
					UnknownDelta, "",
					"the policy %s has the delta %q, which is not among the step_deltas of the scaling aspect %q",
					p.key, clip(one.key), s.f.Aspects[i].ID,
				))
			}
			count := s.resolve(s.t, one.value.get("number_of_instances"))
			if !count.ok() {
				s.add(one.fail(MissingValue, "", "the delta %q has no number_of_instances", clip(one.key)))
			}
			d.counts[one.key] = s.number(count, "number_of_instances", 0, maxInstances)
		}
		if len(known) == 0 && len(d.counts) > 1 {
			s.add(p.fail(UnknownDelta, "add step_deltas to the aspect",
				"the policy %s has %d deltas, but the scaling aspect %q does not say which step uses which", p.key,
				len(d.counts), s.f.Aspects[i].ID))
		}
		s.byAspect[s.f.Aspects[i].ID] = append(s.byAspect[s.f.Aspects[i].ID], d)
	}
}

// steps computes what each step of each aspect adds. Steps with the same delta share a map.
func (s *scaling) steps() {
	total := 0
	for i := range s.f.Aspects {
		a, declared := &s.f.Aspects[i], s.declared[i]
		known := map[string]map[string]int{}
		for step := range a.MaxScaleLevel {
			var at value
			switch n := len(declared.stepDeltas); {
			case n == 1:
				at = declared.stepDeltas[0]
			case step < n:
				at = declared.stepDeltas[step]
			}
			add, ok := known[at.text()]
			if !ok {
				add = s.step(declared, at)
				known[at.text()] = add
			}
			if total += len(add); total > maxSteps {
				s.add(declared.fail(TooLarge, "", "the scaling aspects of the flavour %q have too many steps", s.f.ID))
				return
			}
			a.Steps = append(a.Steps, add)
		}
	}
}

// step sums what the policies of an aspect say of one delta; an absent name is the only delta that they have.
func (s *scaling) step(aspect declaredAspect, name value) map[string]int {
	add := map[string]int{}
	defined := false
	for _, d := range s.byAspect[aspect.key] {
		count, ok := d.counts[name.text()]
		if !name.ok() {
			for _, count = range maps.All(d.counts) {
				ok = true
			}
		}
		if !ok {
			continue
		}
		defined = true
		for _, vdu := range d.vdus {
			if count > 0 {
				add[vdu] += count
			}
		}
	}
	if !defined && (len(s.byAspect[aspect.key]) > 0 || !s.scaled[aspect.key]) {
		s.missingDelta(aspect, name)
	}
	return add
}

// missingDelta reports that a step of an aspect does not say what it adds.
func (s *scaling) missingDelta(aspect declaredAspect, name value) {
	const remedy = "add it to a policy VduScalingAspectDeltas of the aspect"
	e := aspect.fail(
		UnknownDelta, remedy, "no policy defines what a step of the scaling aspect %q adds", clip(aspect.key),
	)
	if name.ok() {
		e = name.fail(
			UnknownDelta, remedy, "no policy VduScalingAspectDeltas defines the delta %q of the scaling aspect %q",
			clip(name.text()), clip(aspect.key),
		)
	}
	s.postpone(e, aspect.key, "SCALE", "SCALE_TO_LEVEL")
}
