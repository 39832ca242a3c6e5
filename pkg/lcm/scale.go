package lcm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Scale admits a SCALE operation (SOL003 clause 5.4.5).
func (s *Service) Scale(ctx context.Context, id string, req sol.ScaleVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, scaleTask(req, raw))
}

func scaleTask(req sol.ScaleVnfRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationScale, raw: raw, decide: func(d *draft) error {
		f, i := d.present.Flavour, d.instance.Instantiated
		if req.Type != sol.ScaleTypeOut && req.Type != sol.ScaleTypeIn {
			d.refuse("/type", "is neither %s nor %s", sol.ScaleTypeOut, sol.ScaleTypeIn)
		}
		n := cmp.Or(req.NumberOfSteps, 1)
		if n < 0 {
			d.refuse("/numberOfSteps", "is below 1")
		}
		a := f.Aspect(req.AspectID)
		if a == nil {
			d.refuse("/aspectId", "%s", unknownAspect(f, req.AspectID))
		}
		if len(d.bad) > 0 {
			return nil
		}
		at := "/numberOfSteps"
		if req.NumberOfSteps == 0 {
			at = "/type"
		}
		levels, counts := scaleLevels(i), countVNFCs(i)
		from := levels[a.ID]
		to := from - n
		switch {
		case req.Type == sol.ScaleTypeOut && n > a.MaxScaleLevel-from:
			d.refuse(at, "the aspect %s is at scale level %d and its highest is %d: %d more is too many", a.ID, from, a.MaxScaleLevel, n)
			return nil
		case req.Type == sol.ScaleTypeIn && n > from:
			d.refuse(at, "the aspect %s is at scale level %d and its lowest is 0: %d less is too many", a.ID, from, n)
			return nil
		case req.Type == sol.ScaleTypeOut:
			to = from + n
		}
		levels[a.ID] = to
		d.resize(f, change(counts, steps(a, from, to)), levels, at)
		return nil
	}}
}

// ScaleToLevel admits a SCALE_TO_LEVEL operation (SOL003 clause 5.4.6).
func (s *Service) ScaleToLevel(ctx context.Context, id string, req sol.ScaleVnfToLevelRequest, raw json.RawMessage) (*Operation, error) {
	return s.submit(ctx, id, levelTask(req, raw))
}

func levelTask(req sol.ScaleVnfToLevelRequest, raw json.RawMessage) task {
	return task{kind: sol.LcmOperationScaleToLevel, raw: raw, decide: func(d *draft) error {
		f := d.present.Flavour
		switch {
		case req.InstantiationLevelID != "" && req.ScaleInfo != nil:
			d.refuse("/scaleInfo", "is given besides instantiationLevelId; one of them is needed")
		case req.InstantiationLevelID != "":
			counts, ok := f.Counts(req.InstantiationLevelID)
			if !ok {
				d.refuse("/instantiationLevelId", "flavour %s has no instantiation level %q; it has %s", f.ID, req.InstantiationLevelID,
					listed(f.Levels, func(l vnfd.InstantiationLevel) string { return l.ID }))
				return nil
			}
			d.resize(f, counts, levelOf(f, f.Level(req.InstantiationLevelID)), "/instantiationLevelId")
		case len(req.ScaleInfo) == 0:
			d.refuse("", "needs either instantiationLevelId or scaleInfo")
		default:
			d.scaleInfo(f, req.ScaleInfo)
		}
		return nil
	}}
}

// scaleInfo brings aspects to given levels; the others stay.
func (d *draft) scaleInfo(f *vnfd.Flavour, infos []sol.ScaleInfo) {
	levels, counts := scaleLevels(d.instance.Instantiated), countVNFCs(d.instance.Instantiated)
	seen := map[string]bool{}
	for n, info := range infos {
		at := fmt.Sprintf("/scaleInfo/%d", n)
		a := f.Aspect(info.AspectID)
		switch {
		case a == nil:
			d.refuse(at+"/aspectId", "%s", unknownAspect(f, info.AspectID))
		case seen[a.ID]:
			d.refuse(at+"/aspectId", "the aspect %s is listed twice", a.ID)
		case info.ScaleLevel < 0 || info.ScaleLevel > a.MaxScaleLevel:
			d.refuse(at+"/scaleLevel", "the aspect %s has the scale levels 0 to %d, and is at %d", a.ID, a.MaxScaleLevel, levels[a.ID])
		default:
			counts = change(counts, steps(a, levels[a.ID], info.ScaleLevel))
			levels[a.ID] = info.ScaleLevel
			seen[a.ID] = true
		}
	}
	if len(d.bad) == 0 {
		d.resize(f, counts, levels, "/scaleInfo")
	}
}

// resize sets the scope to these numbers of VNFCs, if the VDUs' profiles allow them.
func (d *draft) resize(f *vnfd.Flavour, counts, levels map[string]int, pointer string) {
	i := d.instance.Instantiated
	if bad := outOfBounds(f, countVNFCs(i), counts, pointer); len(bad) > 0 {
		d.bad = append(d.bad, bad...)
		return
	}
	d.scope = scopeTo(i, f, counts, levels)
}

// change adds deltas to numbers of VNFCs.
func change(counts, deltas map[string]int) map[string]int {
	out := maps.Clone(counts)
	for vdu, n := range deltas {
		out[vdu] += n
	}
	return out
}

func unknownAspect(f *vnfd.Flavour, id string) string {
	return fmt.Sprintf("flavour %s has no scaling aspect %q; it has %s", f.ID, id, listed(f.Aspects, func(a vnfd.ScalingAspect) string { return a.ID }))
}
