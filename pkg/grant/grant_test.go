package grant_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/grant"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func TestVNFCsGoWhereTheRulesWantThem(t *testing.T) {
	t.Parallel()
	vdus := []vnfd.VDU{{Name: "masterNode", InitialInstances: 3}, {Name: "workerNode", InitialInstances: 2}}
	apart := []vnfd.PlacementRule{{Anti: true, Scope: "zone", Targets: []string{"masterNode"}}}
	together := []vnfd.PlacementRule{{Anti: true, Scope: "zone", Targets: []string{"masterNode", "workerNode"}}}
	instantiate := &lcm.Operation{Type: sol.LcmOperationInstantiate, Params: json.RawMessage(`{}`)}
	scaleOut := &lcm.Operation{
		Type: sol.LcmOperationScale,
		Scope: &lcm.Scope{
			Counts: map[string]int{"masterNode": 5, "workerNode": 2}, Add: map[string]int{"masterNode": 2},
		},
	}
	there := []lcm.Resource{
		{VNFC: "a", VDU: "masterNode", Zone: "az1"},
		{VNFC: "a", VDU: "masterNode"},
		{VNFC: "b", VDU: "masterNode", Zone: "az1"},
		{VNFC: "c", VDU: "masterNode", Zone: "az3"},
		{VNFC: "d", VDU: "workerNode", Zone: "az2"},
		{Zone: "az2"},
	}
	for _, tt := range []struct {
		name      string
		zones     []string
		rules     []vnfd.PlacementRule
		op        *lcm.Operation
		inventory []lcm.Resource
		want      map[string]string
	}{
		{"the VIM chooses", nil, apart, instantiate, nil, nil},
		{"the first zone for all", []string{"az1", "az2"}, nil, instantiate, nil, map[string]string{
			"masterNode": "az1", "workerNode": "az1",
		}},
		{
			"a rule of another scope is the VIM's",
			[]string{"az1", "az2"},
			[]vnfd.PlacementRule{{Anti: true, Scope: "nfvi_node", Targets: []string{"masterNode"}}},
			instantiate, nil,
			map[string]string{"masterNode": "az1", "workerNode": "az1"},
		},
		{
			"one zone each",
			[]string{"az1", "az2", "az3"},
			apart, instantiate, nil,
			map[string]string{"masterNode-0": "az1", "masterNode-1": "az2", "masterNode-2": "az3", "workerNode": "az1"},
		},
		{
			"evenly when there are too few",
			[]string{"az1", "az2"},
			together, instantiate, nil,
			map[string]string{
				"masterNode-0": "az1", "masterNode-1": "az2", "masterNode-2": "az1",
				"workerNode-0": "az2", "workerNode-1": "az1",
			},
		},
		{
			"away from those that are there",
			[]string{"az1", "az2", "az3"},
			apart, scaleOut, there,
			map[string]string{"masterNode-3": "az2", "masterNode-4": "az2"},
		},
		{
			"also from those of the other VDU",
			[]string{"az1", "az2", "az3"},
			together, scaleOut, there,
			map[string]string{"masterNode-3": "az2", "masterNode-4": "az3"},
		},
		{
			"nothing is added",
			[]string{"az1"},
			nil, &lcm.Operation{Type: sol.LcmOperationHeal, Scope: &lcm.Scope{}},
			there, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := &lcm.Execution{
				Op:       tt.op,
				Instance: &lcm.Instance{Inventory: tt.inventory},
				Flavour:  &vnfd.Flavour{VDUs: vdus, Placement: tt.rules},
			}
			g, err := grant.Local{Zones: tt.zones}.Grant(t.Context(), w)
			require.NoError(t, err)
			require.NoError(t, uuid.Validate(g.ID))
			require.Equal(t, tt.want, g.Zones)
			require.Equal(t, tt.zones, g.OtherZones, "a zone that has no room must not be the end")
		})
	}
}

func TestLocalWithoutFlavour(t *testing.T) {
	t.Parallel()
	g, err := grant.Local{Zones: []string{"az1"}}.Grant(t.Context(), &lcm.Execution{})
	require.NoError(t, err)
	require.Empty(t, g.Zones)
}
