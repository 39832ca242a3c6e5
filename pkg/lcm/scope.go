package lcm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// countVNFCs is the number of VNFCs that the instance has of every VDU.
func countVNFCs(i *sol.InstantiatedVnfInfo) map[string]int {
	counts := map[string]int{}
	if i != nil {
		for _, c := range i.VnfcInfo {
			counts[c.VduID]++
		}
	}
	return counts
}

// scaleLevels is the present scale level of every aspect that the instance knows.
func scaleLevels(i *sol.InstantiatedVnfInfo) map[string]int {
	levels := map[string]int{}
	if i != nil {
		for _, s := range i.ScaleStatus {
			levels[s.AspectID] = s.ScaleLevel
		}
	}
	return levels
}

// vnfcIDs lists the vnfcInfo ids of an instance in its order, of these VDUs only unless vdus is nil.
func vnfcIDs(i *sol.InstantiatedVnfInfo, vdus []string) []string {
	var out []string
	if i != nil {
		for _, c := range i.VnfcInfo {
			if vdus == nil || slices.Contains(vdus, c.VduID) {
				out = append(out, c.ID)
			}
		}
	}
	return out
}

// stay is the scope of an operation that changes no numbers.
func stay(i *sol.InstantiatedVnfInfo, flavour string) *Scope {
	return &Scope{Flavour: flavour, ScaleLevels: scaleLevels(i), Counts: countVNFCs(i)}
}

// scopeTo is the scope of an operation after which the VDUs of a flavour have these numbers of VNFCs. VNFCs go in the
// order in which the instance lists them; those of a VDU that the flavour has not go all.
func scopeTo(i *sol.InstantiatedVnfInfo, f *vnfd.Flavour, counts, levels map[string]int) *Scope {
	s := &Scope{Flavour: f.ID, ScaleLevels: levels, Counts: map[string]int{}, Add: map[string]int{}}
	surplus := countVNFCs(i)
	for _, v := range f.VDUs {
		s.Counts[v.Name] = counts[v.Name]
		if more := counts[v.Name] - surplus[v.Name]; more > 0 {
			s.Add[v.Name] = more
		}
		surplus[v.Name] -= counts[v.Name]
	}
	for _, c := range i.VnfcInfo {
		if surplus[c.VduID] > 0 {
			surplus[c.VduID]--
			s.Remove = append(s.Remove, c.ID)
		}
	}
	return s
}

// steps is what going from one level of an aspect to another adds (or, below zero, takes away) by VDU.
func steps(a *vnfd.ScalingAspect, from, to int) map[string]int {
	out := map[string]int{}
	sign, low, high := 1, from, to
	if to < from {
		sign, low, high = -1, to, from
	}
	for l := max(low, 0); l < min(high, len(a.Steps)); l++ {
		for vdu, n := range a.Steps[l] {
			out[vdu] += sign * n
		}
	}
	return out
}

// levelOf is the scale level of every aspect at an instantiation level; nil is a flavour without levels.
func levelOf(f *vnfd.Flavour, l *vnfd.InstantiationLevel) map[string]int {
	levels := make(map[string]int, len(f.Aspects))
	for _, a := range f.Aspects {
		levels[a.ID] = 0
		if l != nil {
			levels[a.ID] = l.ScaleLevels[a.ID]
		}
	}
	return levels
}

// reached is the scale level of every aspect of an instance that was on the way from one scope to another and has these
// numbers of VNFCs now: of an aspect that was to change, the highest level all of whose VNFCs are there.
func reached(f *vnfd.Flavour, from, to *Scope, now map[string]int) map[string]int {
	if equalCounts(now, to.Counts) {
		return to.ScaleLevels
	}
	if equalCounts(now, from.Counts) {
		return from.ScaleLevels
	}
	complete := func(a *vnfd.ScalingAspect, low, level int) bool {
		for vdu, n := range steps(a, low, level) {
			if min(from.Counts[vdu], to.Counts[vdu])+n > now[vdu] {
				return false
			}
		}
		return true
	}
	levels := make(map[string]int, len(f.Aspects))
	for i := range f.Aspects {
		a := &f.Aspects[i]
		low, high := min(from.ScaleLevels[a.ID], to.ScaleLevels[a.ID]), max(
			from.ScaleLevels[a.ID], to.ScaleLevels[a.ID],
		)
		level := low
		for level < high && complete(a, low, level+1) {
			level++
		}
		levels[a.ID] = level
	}
	return levels
}

// outOfBounds checks the numbers of VNFCs that change against the VDUs' profiles.
func outOfBounds(f *vnfd.Flavour, now, counts map[string]int, pointer string) []InvalidParam {
	var bad []InvalidParam
	for _, v := range f.VDUs {
		if n := counts[v.Name]; n != now[v.Name] && (n < v.MinInstances || v.MaxInstances > 0 && n > v.MaxInstances) {
			bad = append(bad, InvalidParam{
				pointer, fmt.Sprintf("the VDU %s would have %d VNFCs instead of %d; its vdu_profile allows %d to %d",
					v.Name, n, now[v.Name], v.MinInstances, v.MaxInstances),
			})
		}
	}
	return bad
}

// listed names what a flavour has, for errors.
func listed[T any](items []T, name func(T) string) string {
	if len(items) == 0 {
		return "none"
	}
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = name(it)
	}
	return strings.Join(out, ", ")
}
