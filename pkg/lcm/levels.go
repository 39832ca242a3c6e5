package lcm

import (
	"maps"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// levelCounts is the number of VNFCs that each VDU of a flavour has at these scale levels.
//
// A VNFD states numbers for its instantiation levels, and what each step of an aspect adds. VDUs that no aspect scales
// can differ between instantiation levels with the same scale levels, and an instance does not record its instantiation
// level. The numbers therefore start at the instantiation level that comes closest to the VNFCs that there are now, the
// default level first; steps lead from its scale levels to the wanted ones. Without any VNFC it is the default level,
// or the first one of a VNFD without a default level.
func levelCounts(f *vnfd.Flavour, levels, now map[string]int) map[string]int {
	first := f.DefaultLevel
	if first == "" && len(f.Levels) > 0 {
		first = f.Levels[0].ID
	}
	best := countsFrom(f, first, levels)
	if equalCounts(now, nil) {
		return best
	}
	for _, l := range f.Levels {
		if counts := countsFrom(f, l.ID, levels); distance(f, counts, now) < distance(f, best, now) {
			best = counts
		}
	}
	return best
}

// countsFrom is the number of VNFCs at these scale levels when an instantiation level is the starting point.
func countsFrom(f *vnfd.Flavour, level string, levels map[string]int) map[string]int {
	counts, _ := f.Counts(level)
	if counts == nil {
		counts = map[string]int{}
	}
	start := levelOf(f, f.Level(level))
	for i := range f.Aspects {
		a := &f.Aspects[i]
		counts = change(counts, steps(a, start[a.ID], levels[a.ID]))
	}
	for vdu, n := range counts {
		counts[vdu] = max(n, 0) // steps of an inconsistent VNFD can lead below zero
	}
	return counts
}

// scaledCounts is the number of VNFCs of each VDU after an aspect goes to another scale level. VDUs that the aspect
// scales get the numbers of the new level, so that VNFCs outside of all levels go; the other VDUs keep theirs.
func scaledCounts(f *vnfd.Flavour, a *vnfd.ScalingAspect, to int, levels, now map[string]int) map[string]int {
	at := change(levelCounts(f, levels, now), steps(a, levels[a.ID], to))

	counts := maps.Clone(now)
	for _, step := range a.Steps {
		for vdu := range step {
			counts[vdu] = max(at[vdu], 0)
		}
	}
	return counts
}

// raisedLevels is the scale levels of an instance that has these numbers of VNFCs: VNFCs beyond the given levels that
// make up whole steps raise them. Missing VNFCs do not lower a level: they are lost, and a heal of the whole VNF brings
// them back.
func raisedLevels(f *vnfd.Flavour, levels, now map[string]int) map[string]int {
	extra := maps.Clone(now)
	for vdu, n := range levelCounts(f, levels, now) {
		extra[vdu] -= n
	}
	out := make(map[string]int, len(f.Aspects))
	maps.Copy(out, levels)
	for _, a := range f.Aspects {
		for out[a.ID] < len(a.Steps) && covers(extra, a.Steps[out[a.ID]]) {
			for vdu, n := range a.Steps[out[a.ID]] {
				extra[vdu] -= n
			}
			out[a.ID]++
		}
	}
	return out
}

// covers says whether there are enough VNFCs for a step; a step without VNFCs is never covered.
func covers(extra, step map[string]int) bool {
	for vdu, n := range step {
		if extra[vdu] < n {
			return false
		}
	}
	return len(step) > 0
}

// distance is by how many VNFCs two sets of numbers differ.
func distance(f *vnfd.Flavour, a, b map[string]int) int {
	n := 0
	for _, v := range f.VDUs {
		n += max(a[v.Name], b[v.Name]) - min(a[v.Name], b[v.Name])
	}
	return n
}

// equalCounts compares numbers of VNFCs; a VDU that is absent has none.
func equalCounts(a, b map[string]int) bool {
	same := func(a, b map[string]int) bool {
		for vdu, n := range a {
			if b[vdu] != n {
				return false
			}
		}
		return true
	}
	return same(a, b) && same(b, a)
}

// change adds deltas to numbers of VNFCs.
func change(counts, deltas map[string]int) map[string]int {
	out := maps.Clone(counts)
	for vdu, n := range deltas {
		out[vdu] += n
	}
	return out
}

// CountsAt is the number of VNFCs that each VDU of a flavour has at these scale levels, as close to those that there
// are now as the VNFD allows.
func CountsAt(f *vnfd.Flavour, levels, now map[string]int) map[string]int {
	return levelCounts(f, levels, now)
}

// LevelsOf is the scale levels that VNFCs in these numbers make up.
func LevelsOf(f *vnfd.Flavour, now map[string]int) map[string]int {
	return raisedLevels(f, map[string]int{}, now)
}

// CountVNFCs is the number of VNFCs by VDU.
func CountVNFCs(i *sol.InstantiatedVnfInfo) map[string]int { return countVNFCs(i) }
