package tosca

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// levels reads the instantiation levels of a flavour.
type levels struct {
	*flavourReader
	policy *policy // the policy InstantiationLevels
	// lost are, by level, scaling aspects that are not declared and of which the level has steps.
	lost map[string]string
}

// read reads the policy InstantiationLevels.
func (l *levels) read(policies []policy) {
	for _, p := range policies {
		if l.policy != nil {
			l.add(p.fail(Conflict, "", "the flavour %q has two policies InstantiationLevels: %s and %s", l.f.ID,
				l.policy.key, p.key))
			return
		}
		l.policy = &p
		for _, entry := range p.property("levels").pairs() {
			if len(l.f.Levels) == maxLevels {
				l.add(
					entry.fail(TooLarge, "", "the flavour %q has more than %d instantiation levels", l.f.ID, maxLevels),
				)
				return
			}
			l.f.Levels = append(l.f.Levels, vnfd.InstantiationLevel{
				ID: entry.key, Description: entry.value.get("description").text(), ScaleLevels: l.scaleInfo(entry),
			})
		}
		l.defaultLevel(p)
	}
}

// scaleInfo is the scale level of each aspect at an instantiation level.
func (l *levels) scaleInfo(level pair) map[string]int {
	var info map[string]int
	for _, a := range level.value.get("scale_info").pairs() {
		aspect := l.f.Aspect(a.key)
		if aspect == nil {
			e := a.fail(UnknownAspect, "declare it in the policy ScalingAspects, or remove it from the level",
				"the instantiation level %q has the scaling aspect %q, which is not declared", clip(level.key),
				clip(a.key))
			if !l.hasAspects(level) { // perhaps the missing one is meant
				l.add(e)
				continue
			}
			l.warn(e)
			if n := l.resolve(l.t, a.value.get("scale_level")); n.text() != "0" {
				if l.lost == nil {
					l.lost = map[string]string{}
				}
				l.lost[level.key] = a.key
			}
			continue
		}
		n := a.value.get("scale_level")
		if !n.ok() {
			l.add(a.fail(MissingValue, "", "the scaling aspect %q of the instantiation level %q has no scale_level",
				clip(a.key), clip(level.key)))
		}
		if info == nil {
			info = map[string]int{}
		}
		info[a.key] = l.number(l.resolve(l.t, n), "scale_level", 0, aspect.MaxScaleLevel)
	}
	return info
}

// hasAspects says whether a level has all scaling aspects of the flavour.
func (l *levels) hasAspects(level pair) bool {
	return !slices.ContainsFunc(l.f.Aspects, func(a vnfd.ScalingAspect) bool {
		return !level.value.get("scale_info").get(a.ID).ok()
	})
}

func (l *levels) defaultLevel(p policy) {
	def := l.resolve(l.t, p.property("default_level"))
	switch {
	case def.ok() && l.byID(def.text()) == nil:
		l.add(def.fail(UnknownLevel, "", "the default_level %q is not among the levels", clip(def.text())))
	case def.ok():
		l.f.DefaultLevel = def.text()
	case len(l.f.Levels) == 1:
		l.f.DefaultLevel = l.f.Levels[0].ID
	case len(l.f.Levels) > 1:
		l.postpone(p.fail(NoDefaultLevel, "name a level in the request, or add the property default_level",
			"the flavour %q has %d instantiation levels, but no default_level", l.f.ID, len(l.f.Levels)), l.f.ID,
			"INSTANTIATE", "CHANGE_FLAVOUR", "CHANGE_VNFPKG")
	}
}

func (l *levels) byID(id string) *vnfd.InstantiationLevel {
	i := slices.IndexFunc(l.f.Levels, func(lv vnfd.InstantiationLevel) bool { return lv.ID == id })
	if i < 0 {
		return nil
	}
	return &l.f.Levels[i]
}

// check warns of levels in a policy that InstantiationLevels does not have, and yields the others. No request can name
// such a level.
func (l *levels) check(p policy) []pair {
	var known []pair
	for _, entry := range p.property("levels").pairs() {
		if l.byID(entry.key) == nil {
			e := entry.fail(UnknownLevel, "declare it in the policy InstantiationLevels, or remove it",
				"the policy %s has the instantiation level %q, which is not declared", p.key, clip(entry.key))
			if l.hasLevels(p) {
				l.warn(e)
			} else { // perhaps a missing one is meant
				l.add(e)
			}
			continue
		}
		known = append(known, entry)
	}
	return known
}

// hasLevels says whether a policy has all levels of the flavour, which has some.
func (l *levels) hasLevels(p policy) bool {
	return len(l.f.Levels) > 0 && !slices.ContainsFunc(l.f.Levels, func(lv vnfd.InstantiationLevel) bool {
		return !p.property("levels").get(lv.ID).ok()
	})
}

// counts reads the policies VduInstantiationLevels.
func (l *levels) counts(policies []policy) {
	for _, p := range policies {
		vdus := l.policyVDUs(p)
		for _, entry := range l.check(p) {
			count := l.resolve(l.t, entry.value.get("number_of_instances"))
			if !count.ok() {
				l.add(entry.fail(MissingValue, "",
					"the instantiation level %q of the policy %s has no number_of_instances", clip(entry.key), p.key))
			}
			n := l.number(count, "number_of_instances", 0, maxInstances)
			level := l.byID(entry.key)
			if level.VDUs == nil {
				level.VDUs = map[string]int{}
			}
			for _, vdu := range vdus {
				level.VDUs[vdu] = n
			}
		}
	}
}

// derive fills in the VDUs that VduInstantiationLevels leaves out where a level's scale_info says how many there are:
// the initial number and what the steps up to there add.
func (l *levels) derive() {
	for i := range l.f.Levels {
		level := &l.f.Levels[i]
		added := map[string]int{}
		if lost, ok := l.lost[level.ID]; ok && len(level.VDUs) == 0 {
			l.unknownCounts(level.ID, lost, "is not declared")
		}
		for _, id := range slices.Sorted(maps.Keys(level.ScaleLevels)) {
			a, n := l.f.Aspect(id), level.ScaleLevels[id]
			if n > 0 && len(level.VDUs) == 0 && l.f.Warning(vnfd.UnknownDelta, id) != nil {
				l.unknownCounts(level.ID, id, "lacks a delta")
			}
			for _, step := range a.Steps[:min(n, len(a.Steps))] {
				for vdu, count := range step {
					added[vdu] += count
				}
			}
		}
		for vdu, count := range added {
			if _, ok := level.VDUs[vdu]; ok {
				continue
			}
			if level.VDUs == nil {
				level.VDUs = map[string]int{}
			}
			v := l.f.VDU(vdu)
			initial := v.InitialInstances
			if initial == 0 {
				initial = v.MinInstances
			}
			level.VDUs[vdu] = initial + count
		}
	}
}

// unknownCounts reports a level whose numbers of VNFCs depend on an aspect that has a defect.
func (l *levels) unknownCounts(level, aspect, defect string) {
	e := l.policy.fail(
		UnknownCounts, "add a policy VduInstantiationLevels with the level, or correct the scaling aspect",
		"the numbers of VNFCs at the instantiation level %q of the flavour %q are not known: the scaling aspect %q %s",
		clip(level), l.f.ID, clip(aspect), defect,
	)
	l.postpone(e, level, "INSTANTIATE", "CHANGE_FLAVOUR", "CHANGE_VNFPKG", "SCALE_TO_LEVEL")
}

// warnOfCounts warns of levels whose counts the VDUs' profiles do not allow. Packages in use have such levels, and
// managers follow the levels.
func (l *levels) warnOfCounts() {
	for _, level := range l.f.Levels {
		for _, v := range l.f.VDUs {
			if n, ok := level.VDUs[v.Name]; ok && (n < v.MinInstances || n > v.MaxInstances) {
				l.warn(l.t.byName[v.Name].fail(
					BadValue, "", "the instantiation level %q has %d of the VDU %s, its vdu_profile allows %d to %d",
					level.ID, n, v.Name, v.MinInstances, v.MaxInstances,
				))
			}
		}
	}
}
