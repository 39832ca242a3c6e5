package openstack

import (
	"maps"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// scaleStatus says where every aspect is and how far it goes. An operation that stopped half way has not left the level where it began.
func (b *builder) scaleStatus() (now, most []sol.ScaleInfo) {
	levels := b.levels()
	for _, a := range b.flavour().Aspects {
		now = append(now, sol.ScaleInfo{AspectID: a.ID, ScaleLevel: levels[a.ID]})
		most = append(most, sol.ScaleInfo{AspectID: a.ID, ScaleLevel: a.MaxScaleLevel})
	}
	return now, most
}

func (b *builder) levels() map[string]int {
	if b.was.info == nil {
		level := b.goal.flavour.Level(b.request().InstantiationLevelID)
		if level == nil {
			return nil
		}
		return level.ScaleLevels
	}
	there := map[string]int{}
	for _, c := range b.vnfcs {
		there[c.vdu.Name]++
	}
	if s := b.w.Op.Scope; s != nil && s.ScaleLevels != nil && b.arrived() && b.w.Op.State != sol.LcmOperationStateRollingBack && maps.Equal(there, present(s.Counts)) {
		return s.ScaleLevels
	}
	out := map[string]int{}
	for _, l := range b.was.info.ScaleStatus {
		out[l.AspectID] = l.ScaleLevel
	}
	return out
}

// present leaves out VDUs without VNFCs.
func present(counts map[string]int) map[string]int {
	out := maps.Clone(counts)
	maps.DeleteFunc(out, func(_ string, n int) bool { return n == 0 })
	return out
}
