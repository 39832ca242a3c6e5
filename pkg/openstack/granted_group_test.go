package openstack_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// decision is an NFVO that grants this.
type decision lcm.Grant

// Grant implements lcm.Grantor.
func (d decision) Grant(_ context.Context, w *lcm.Execution) (*lcm.Grant, error) {
	if w.Op.Grant == nil {
		g := lcm.Grant(d)
		w.Op.Grant, w.Op.GrantHref = &g, "https://nfvo.example/grant/v1/grants/g"
	}
	return w.Op.Grant, nil
}

// flavoured grants a flavour for the new machines of VDU1.
func flavoured(name string, machines ...string) decision {
	of := map[string]string{"VDU1": name}
	return decision{ID: "g", Flavours: of, Assets: &lcm.VimAssets{Flavours: of}, New: machines}
}

// The VNFCs of a group have one flavour. A grant of another one for some of them is refused before anything is changed,
// and applied if all of them are new.
func TestGrantedFlavourOfAGroup(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newGroupWorld(t, cloud)
	flavours := func() (out []string) {
		for _, r := range w.store.instance.Inventory {
			if r.VDU == "VDU1" && r.Flavour != "" {
				out = append(out, r.Flavour)
			}
		}
		return out
	}
	tiny := flavours()[0]
	require.Equal(t, []string{tiny, tiny}, flavours())

	w.reset()
	w.grantor = flavoured("m1.small", "VDU1-2")
	w.scale(sol.ScaleTypeOut, map[string]int{"VDU1": 3, "VDU2": 1})
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run())
	require.Contains(t, w.store.op.Error.Detail, "gives VDU1-2 the flavour m1.small (/vimAssets), but it would have "+
		"m1.tiny: the template has one flavour for all")
	require.Zero(t, w.changes)
	require.Nil(t, w.store.instance.Assets)

	w.grantor = flavoured("m1.tiny", "VDU1-2")
	w.scale(sol.ScaleTypeOut, map[string]int{"VDU1": 3, "VDU2": 1})
	w.completed()
	require.Equal(t, []string{tiny, tiny, tiny}, flavours())

	w.grantor = flavoured("m1.medium")
	w.scale(sol.ScaleTypeIn, map[string]int{"VDU1": 0, "VDU2": 1})
	w.completed()
	w.grantor = flavoured("m1.small", "VDU1-0", "VDU1-1")
	w.scale(sol.ScaleTypeOut, map[string]int{"VDU1": 2, "VDU2": 1})
	w.completed()
	small := flavours()
	require.Len(t, small, 2)
	require.Equal(t, small[0], small[1])
	require.NotEqual(t, tiny, small[0])
}
