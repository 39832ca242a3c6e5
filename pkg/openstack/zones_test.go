package openstack_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// zoned are hosts of three zones; the one of z1 has room for one small server, that of z2 for two, that of z3 for any
// number.
func zoned() simcloud.Options {
	return simcloud.Options{Hosts: []simcloud.Host{
		{Name: "cmp1", Zone: "z1", VCPUs: 1}, {Name: "cmp2", Zone: "z2", VCPUs: 2}, {Name: "cmp3", Zone: "z3"},
	}}
}

// zonesOf are the zones of the servers of VDU1, by index.
func (w *world) zonesOf() []string {
	out := make([]string, 2)
	for _, r := range w.store.instance.Inventory {
		if r.VDU == "VDU1" && r.Type == "OS::Nova::Server" {
			out[r.Index] = r.Zone
		}
	}
	return out
}

// ruled gives the mixed package's VDU1 a placement rule of scope zone.
func (w *world) ruled(anti bool) {
	w.pkg.model.Flavours[0].Placement = []vnfd.PlacementRule{
		{Name: "rule", Anti: anti, Scope: "zone", Targets: []string{"VDU1"}},
	}
}

// oneByOne lets VDU1-1 find that there is no room only when VDU1-0 has its server: what is half made when another
// resource fails is made again, and then finds no room itself.
func (w *world) oneByOne() { w.holdBack("CREATE_COMPLETE") }

// holdBack lets the first creation of VDU1-1's server wait until the stack of VDU1-0 has a status.
func (w *world) holdBack(status string) {
	rule := w.cloud.AddFault(
		simcloud.Fault{Kind: fault.HangResource, ResourceName: "VDU1", Stack: "*-VDU1-1-*", Action: "create", Count: 1},
	)
	ctx, cancel := context.WithCancel(w.t.Context())
	released := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-released })
	go func() {
		defer close(released)
		defer w.cloud.Faults().Remove(rule)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_, names := w.stacks()
			if slices.ContainsFunc(names, func(n string) bool {
				return strings.Contains(n, "-VDU1-0-") && strings.HasSuffix(n, " "+status)
			}) {
				return
			}
		}
	}()
}

// level adds a level of VDU1 alone.
func (w *world) level(id string, count int) {
	f := &w.pkg.model.Flavours[0]
	f.Levels = append(f.Levels, vnfd.InstantiationLevel{ID: id, VDUs: map[string]int{"VDU1": count}})
}

// TestZoneWithoutRoom: a VNFC that finds no room goes to the next zone that the grant allows, one that has room stays,
// and the step reports it.
func TestZoneWithoutRoom(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, zoned()))
	w.level("pair", 2)
	w.oneByOne()
	w.zones = []string{"z1", "gone", "z2"}
	w.mixed("pair")
	w.completed()
	require.Equal(t, []string{"z1", "z2"}, w.zonesOf())
	require.Equal(t, 1, w.updates())
	step := w.store.step(t, "create stack")
	require.Regexp(t, `VDU1-1 in zone z2 \(no room in z1\)`, step.Detail)
	require.Contains(t, w.store.logOf(step.ID), "No valid host")
	nfv, _ := w.store.instance.Instantiated.Metadata["nfv"].(map[string]any)
	vdus, _ := nfv["VDU"].(map[string]any)
	for i, zone := range w.zonesOf() {
		leaves, _ := vdus["VDU1-"+string(rune('0'+i))].(map[string]any)
		require.Equal(t, zone, leaves["locationConstraints"], "what later operations start from")
	}
}

// TestZoneReselectionEnds: it honours what may not be changed, and is bounded; the failure tells.
func TestZoneReselectionEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		zones []string
		setup func(w *world)
		nfv   map[string]any
		want  string
	}{
		{"no other zone is allowed", []string{"z1"}, nil, nil, "none of the zones z1 is left"},
		{"no other zone exists", []string{"z1", "nowhere"}, nil, nil, "none of the zones z1 is left"},
		{"the user has named the zone", []string{"z1", "z2"}, nil, map[string]any{"VDU": map[string]any{
			"VDU1-0": map[string]any{"locationConstraints": "z1"},
			"VDU1-1": map[string]any{"locationConstraints": "z1"},
		}}, "puts VDU1-"},
		{"it is switched off", []string{"z1", "z2"}, func(w *world) { w.cfg.ZoneRetries = -1 }, nil, ""},
		{"the words are not those that count", []string{"z1", "z2"}, func(w *world) {
			w.cfg.NoRoom = regexp.MustCompile("disk on fire")
		}, nil, ""},
		{"it was tried often enough", []string{"z1", "z2", "z3"}, func(w *world) {
			w.cloud.SetHosts([]simcloud.Host{
				{Name: "cmp1", Zone: "z1", MemoryMB: 1},
				{Name: "cmp2", Zone: "z2", MemoryMB: 1},
				{Name: "cmp3", Zone: "z3", MemoryMB: 1},
			})
			w.cfg.ZoneRetries = 1
		}, nil, "zones were chosen 1 times"},
		{"all zones were tried", []string{"z1", "z2"}, func(w *world) {
			w.cloud.SetHosts([]simcloud.Host{
				{Name: "cmp1", Zone: "z1", VCPUs: 1},
				{Name: "cmp2", Zone: "z2", Disabled: true},
				{Name: "cmp3", Zone: "z3"},
			})
		}, nil, "no other zone is tried"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newMixed(t, simcloud.StartTest(t, zoned()))
			w.level("pair", 2)
			w.zones = tt.zones
			if tt.setup != nil {
				tt.setup(w)
			}
			w.mixedWith("pair", tt.nfv)
			failure := w.failed()
			require.Contains(t, failure.Detail, "No valid host")
			require.NotEmpty(t, failure.Hint)
			if tt.want == "" {
				require.NotContains(t, failure.Detail, "zone")
			} else {
				require.Contains(t, failure.Detail, tt.want)
			}
		})
	}
}

// TestZonesApart: two VNFCs that a rule keeps apart never share a zone, even when there is room.
func TestZonesApart(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{Hosts: []simcloud.Host{
		{Name: "cmp1", Zone: "z1"}, {Name: "cmp2", Zone: "z2", VCPUs: 0, Disabled: true}, {Name: "cmp3", Zone: "z3"},
	}}))
	w.level("pair", 2)
	w.ruled(true)
	w.zones = []string{"z1", "z2", "z3"}
	w.mixed("pair")
	w.completed()
	require.Equal(t, []string{"z1", "z3"}, w.zonesOf())
}

// TestZonesTogether: VNFCs that a rule keeps together move together.
func TestZonesTogether(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, zoned()))
	w.level("pair", 2)
	w.ruled(false)
	w.zones = []string{"z1", "z2"}
	w.mixed("pair")
	w.completed()
	require.Equal(t, []string{"z2", "z2"}, w.zonesOf())
}

// TestHealInAnotherZone: a VNFC whose zone has become full is healed in another zone; those that run stay.
func TestHealInAnotherZone(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(
		t, simcloud.Options{Hosts: []simcloud.Host{{Name: "cmp1", Zone: "z1"}, {Name: "cmp2", Zone: "z2"}}},
	)
	w := newMixed(t, cloud)
	w.level("pair", 2)
	w.zones = []string{"z1", "z2"}
	w.mixed("pair")
	w.completed()
	require.Equal(t, []string{"z1", "z1"}, w.zonesOf())
	servers, ports := w.ids("OS::Nova::Server"), w.ids("OS::Neutron::Port")
	cloud.SetHosts([]simcloud.Host{
		{Name: "cmp1", Zone: "z1", Disabled: true}, {Name: "cmp3", Zone: "z1", VCPUs: 1}, {Name: "cmp2", Zone: "z2"},
	})
	w.ask("compute", http.MethodPost, "/servers", map[string]any{"server": map[string]any{
		"name": "filler", "flavorRef": w.flavourID("m1.tiny"), "imageRef": w.imageID("cirros-0.5.2-x86_64-disk"),
		"availability_zone": "z1", "networks": "none",
	}})
	w.heal(nil, w.vnfc("VDU1", 1))
	w.completed()
	require.Equal(t, []string{"z1", "z2"}, w.zonesOf())
	require.Equal(t, []string{"VDU1-1 VDU1"}, differing(servers, w.ids("OS::Nova::Server")))
	require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
}

// TestReselectionSurvivesDeath: a node dies at every write while zones are chosen; the choice is made once, and holds.
func TestReselectionSurvivesDeath(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, k int) *world {
		t.Helper()
		w := newMixed(t, simcloud.StartTest(t, zoned()))
		w.level("pair", 2)
		w.oneByOne()
		w.zones = []string{"z1", "z2"}
		w.store.dieAt, w.store.dieAfter = k, k%2 == 0
		w.mixed("pair")
		w.completed()
		require.Equal(t, []string{"z1", "z2"}, w.zonesOf())
		require.LessOrEqual(t, w.updates(), 2)
		return w
	}
	writes := run(t, 0).store.writes
	require.Greater(t, writes, 5)
	for k := range writes {
		t.Run(strconv.Itoa(k+1), func(t *testing.T) {
			t.Parallel()
			run(t, k+1)
		})
	}
}

// flavourID and imageID find what the cloud has by name.
func (w *world) flavourID(name string) string {
	return w.idOf(w.ask("compute", http.MethodGet, "/flavors", nil)["flavors"], name)
}

func (w *world) imageID(name string) string {
	for _, i := range w.cloud.State()["images"] {
		if i.Name == name {
			return i.ID
		}
	}
	return ""
}

func (w *world) idOf(list any, name string) string {
	all, _ := list.([]any)
	for _, e := range all {
		if m, _ := e.(map[string]any); m["name"] == name {
			id, _ := m["id"].(string)
			return id
		}
	}
	return ""
}
