package lcm

import (
	"cmp"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationScale, Path: "scale", Hook: "scale", Requires: sol.InstantiationStateInstantiated,
		VIM: true, NeedsGrant: true, CanRollBack: true, Scales: true,
		Body: sol.ScaleVnfRequest{}, Decode: decodes(scaleTask), Phases: changePhases,
		Link:    func(l *sol.VnfInstanceLinks, link *sol.Link) { l.Scale = link },
		Offered: hasAspects,
	})
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationScaleToLevel, Path: "scale_to_level", Hook: "scale_to_level",
		Requires: sol.InstantiationStateInstantiated, VIM: true, NeedsGrant: true, CanRollBack: true, Scales: true,
		Body: sol.ScaleVnfToLevelRequest{}, Decode: decodes(scaleToLevelTask), Phases: changePhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.ScaleToLevel = link },
		Offered: func(_ *vnfd.VNFD, of []vnfd.Flavour) bool {
			for _, f := range of {
				if len(f.Aspects) > 0 || len(f.Levels) > 1 {
					return true
				}
			}
			return false
		},
	})
}

func hasAspects(_ *vnfd.VNFD, of []vnfd.Flavour) bool {
	for _, f := range of {
		if len(f.Aspects) > 0 {
			return true
		}
	}
	return false
}

// scaleTask is SOL003 clause 5.4.5.
func scaleTask(req sol.ScaleVnfRequest) Task {
	return Task{Decide: func(a *Admission) error {
		f := a.Present.Flavour
		if req.Type != sol.ScaleTypeOut && req.Type != sol.ScaleTypeIn {
			a.Reject("/type", "is neither %s nor %s", sol.ScaleTypeOut, sol.ScaleTypeIn)
		}
		n := cmp.Or(req.NumberOfSteps, 1)
		if n < 0 {
			a.Reject("/numberOfSteps", "is below 1")
		}
		aspect := f.Aspect(req.AspectID)
		if bad := badAspect(f, req.AspectID); bad != "" {
			a.Reject("/aspectId", "%s", bad)
		}
		if len(a.Bad) > 0 {
			return nil
		}
		pointer := "/numberOfSteps"
		if req.NumberOfSteps == 0 {
			pointer = "/type"
		}
		a.scaleBySteps(aspect, req.Type, n, pointer)
		return nil
	}}
}

// scaleBySteps sets the scope to n more or fewer steps of an aspect.
func (a *Admission) scaleBySteps(aspect *vnfd.ScalingAspect, direction sol.ScaleType, n int, pointer string) {
	f, i := a.Present.Flavour, a.Instance.Instantiated
	levels, counts := scaleLevels(i), countVNFCs(i)
	from, out := levels[aspect.ID], direction == sol.ScaleTypeOut
	to := from - n
	if out {
		to = from + n
	}
	switch { // n may be any number, so that a sum could overflow
	case out && n > aspect.MaxScaleLevel-from:
		a.Reject(pointer, "the aspect %s is at scale level %d and its highest is %d: cannot add %d", aspect.ID, from,
			aspect.MaxScaleLevel, n)
	case !out && n > from:
		a.Reject(
			pointer, "the aspect %s is at scale level %d and its lowest is 0: cannot remove %d", aspect.ID, from, n,
		)
	default:
		counts = scaledCounts(f, aspect, to, levels, counts)
		levels[aspect.ID] = to
		a.resize(counts, levels, pointer)
	}
}

// scaleToLevelTask is SOL003 clause 5.4.6.
func scaleToLevelTask(req sol.ScaleVnfToLevelRequest) Task {
	return Task{Decide: func(a *Admission) error {
		f := a.Present.Flavour
		switch {
		case req.InstantiationLevelID != "" && req.ScaleInfo != nil:
			a.Reject("/scaleInfo", "is given besides instantiationLevelId; one of them is needed")
		case req.InstantiationLevelID != "":
			if bad := badLevel(f, req.InstantiationLevelID); bad != "" {
				a.Reject("/instantiationLevelId", "%s", bad)
				return nil
			}
			counts, _ := f.Counts(req.InstantiationLevelID)
			a.resize(counts, levelOf(f, f.Level(req.InstantiationLevelID)), "/instantiationLevelId")
		case len(req.ScaleInfo) == 0:
			a.Reject("", "needs either instantiationLevelId or scaleInfo")
		default:
			a.scaleToInfo(req.ScaleInfo)
		}
		return nil
	}}
}

// scaleToInfo brings aspects to given levels; the others stay.
func (a *Admission) scaleToInfo(infos []sol.ScaleInfo) {
	f := a.Present.Flavour
	levels, counts := scaleLevels(a.Instance.Instantiated), countVNFCs(a.Instance.Instantiated)
	seen := map[string]bool{}
	for n, info := range infos {
		at := fmt.Sprintf("/scaleInfo/%d", n)
		aspect := f.Aspect(info.AspectID)
		bad := badAspect(f, info.AspectID)
		switch {
		case aspect == nil, bad != "" && info.ScaleLevel != levels[aspect.ID]:
			a.Reject(at+"/aspectId", "%s", bad)
		case seen[aspect.ID]:
			a.Reject(at+"/aspectId", "the aspect %s is listed twice", aspect.ID)
		case info.ScaleLevel < 0 || info.ScaleLevel > aspect.MaxScaleLevel:
			a.Reject(at+"/scaleLevel", "the aspect %s has the scale levels 0 to %d, and is at %d", aspect.ID,
				aspect.MaxScaleLevel, levels[aspect.ID])
		default:
			counts = scaledCounts(f, aspect, info.ScaleLevel, levels, counts)
			levels[aspect.ID] = info.ScaleLevel
			seen[aspect.ID] = true
		}
	}
	if len(a.Bad) == 0 {
		a.resize(counts, levels, "/scaleInfo")
	}
}

// resize sets the scope to these numbers of VNFCs, if the VDUs' profiles allow them.
func (a *Admission) resize(counts, levels map[string]int, pointer string) {
	f, i := a.Present.Flavour, a.Instance.Instantiated
	if bad := outOfBounds(f, countVNFCs(i), counts, pointer); len(bad) > 0 {
		a.Bad = append(a.Bad, bad...)
		return
	}
	a.Scope = scopeTo(i, f, counts, levels)
}
