// Package grant grants lifecycle operations without an NFVO (SOL003 clause 9). It allows everything.
package grant

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Local is a grantor that allows everything immediately.
type Local struct {
	// Zones are the zones of the VIM that VNFCs may use. A VDU gets the first, unless the VNFD has other placement
	// rules, and the others if that has no room. Without zones the VIM selects one.
	Zones []string
}

var _ lcm.Grantor = Local{}

// Grant implements lcm.Grantor. It never waits and never rejects. VNFCs with an anti-affinity rule of scope zone are
// spread evenly over the zones; existing VNFCs are counted.
func (l Local) Grant(_ context.Context, w *lcm.Execution) (*lcm.Grant, error) {
	if w.Op != nil && w.Op.Grant != nil {
		return w.Op.Grant, nil
	}
	g := &lcm.Grant{ID: uuid.NewString()}
	if len(l.Zones) == 0 || w.Flavour == nil {
		return g, nil
	}
	g.OtherZones = l.Zones
	added, err := w.Additions()
	if err != nil || len(added) == 0 {
		return g, err
	}
	g.Zones = map[string]string{}
	used := zonesInUse(w.Instance)
	for _, v := range w.Flavour.VDUs {
		apart := keptApart(w.Flavour, v.Name)
		for n := range added[v.Name].Count {
			if apart == nil {
				g.Zones[v.Name] = l.Zones[0]
				break
			}
			zone := l.leastUsed(used, apart)
			used = append(used, place{v.Name, zone})
			g.Zones[fmt.Sprintf("%s-%d", v.Name, added[v.Name].First+n)] = zone
		}
	}
	return g, nil
}

// place is the zone of one VNFC.
type place struct{ vdu, zone string }

func zonesInUse(i *lcm.Instance) []place {
	var out []place
	for _, r := range i.Inventory {
		if r.VNFC != "" && r.Zone != "" {
			out = append(out, place{r.VDU, r.Zone})
		}
	}
	return out
}

// leastUsed is the zone with the fewest VNFCs of these VDUs, the first of several.
func (l Local) leastUsed(used []place, vdus []string) string {
	count := map[string]int{}
	for _, p := range used {
		if slices.Contains(vdus, p.vdu) {
			count[p.zone]++
		}
	}
	return slices.MinFunc(l.Zones, func(a, b string) int { return count[a] - count[b] })
}

// keptApart lists the VDUs whose VNFCs may not share a zone with each other and those of vdu; nil without such a rule.
func keptApart(f *vnfd.Flavour, vdu string) []string {
	var out []string
	for _, r := range f.Placement {
		if r.Anti && r.Scope == "zone" && slices.Contains(r.Targets, vdu) {
			out = append(out, r.Targets...)
		}
	}
	return out
}
