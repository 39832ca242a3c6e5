// Package grant decides on the grant of lifecycle operations where no NFVO is asked (SOL003 clause 9): everything is allowed.
package grant

import (
	"context"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Local is a grantor that allows everything at once.
type Local struct {
	// Zones are the zones of the VIM that VNFCs may go to. Every VDU gets the first, and may go to the others
	// when that has no room; with none the VIM chooses.
	Zones []string
}

var _ lcm.Grantor = Local{}

// Grant implements lcm.Grantor. It never waits and never refuses.
func (l Local) Grant(_ context.Context, w *lcm.Work) (*lcm.Grant, error) {
	g := &lcm.Grant{ID: uuid.NewString()}
	if len(l.Zones) == 0 || w.Flavour == nil {
		return g, nil
	}
	g.OtherZones = l.Zones
	g.Zones = make(map[string]string, len(w.Flavour.VDUs))
	for _, v := range w.Flavour.VDUs {
		g.Zones[v.Name] = l.Zones[0]
	}
	return g, nil
}
