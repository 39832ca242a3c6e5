package inventory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// TestNewVNFCsAreTheYoungest: scaling out and in again removes the new VNFCs, and not the older ones, also in a
// cloud so fast that all are of the same second.
func TestNewVNFCsAreTheYoungest(t *testing.T) {
	t.Parallel()
	server := func(id, created string) cloud.Resource {
		return cloud.Resource{
			Name: "VDU1", Type: cloud.TypeServer, PhysicalID: id, Status: "CREATE_COMPLETE", CreationTime: created,
		}
	}
	const before, now = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	f := &vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "VDU1"}}}
	i := &lcm.Instance{}
	for index, id := range []string{"d", "a", "c"} {
		i.Inventory = append(i.Inventory, lcm.Resource{Type: cloud.TypeServer, ID: id, VDU: "VDU1", Index: index})
	}
	all := []cloud.Resource{server("a", now), server("b", now), server("c", now), server("d", before), server("e", now)}
	var ids []string
	index := map[string]int{}
	for _, c := range NewTree(&cloud.Stack{ID: "top"}, all).VNFCs(f, i) {
		ids = append(ids, c.Server.PhysicalID)
		index[c.Server.PhysicalID] = c.Index
	}
	require.Equal(t, []string{"b", "e", "c", "a", "d"}, ids)
	require.Equal(t, map[string]int{"d": 0, "a": 1, "c": 2, "e": 3, "b": 4}, index, "the oldest is the first")
}

// TestVNFCsKeepTheirOrderBetweenObservations: the order of VNFCs of several VDUs is the same at every look, also in a
// cloud that creates all servers in one second, gives them ids in any order and lists them in any order. Recording the
// inventory must not change it.
func TestVNFCsKeepTheirOrderBetweenObservations(t *testing.T) {
	t.Parallel()
	f := &vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "masterNode"}, {Name: "workerNode"}, {Name: "VDU3"}}}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0)) // it must be repeatable
		var all []cloud.Resource
		ids := random.Perm(100)
		server := func(name string) {
			created := fmt.Sprintf("2026-01-01T00:00:0%dZ", random.IntN(2)) // creation crosses the boundary of a second
			all = append(all, cloud.Resource{
				Name: name, Type: cloud.TypeServer,
				PhysicalID: fmt.Sprintf("id-%02d", ids[len(all)]), Status: "CREATE_COMPLETE", CreationTime: created,
			})
		}
		for range 3 {
			server("masterNode")
		}
		for range 4 {
			server("workerNode")
		}
		server("VDU3-0")
		server("VDU3-1")

		i := &lcm.Instance{}
		var first []string
		for look := range 3 {
			random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
			var order []string
			i.Inventory, order = vnfcsOf(f, i, all)
			if look == 0 {
				first = order
			}
			require.Equal(t, first, order, "seed %d, look %d", seed, look)
		}
	}
}

// TestVNFCsKeepTheirOrderWhenAgesChange: recorded VNFCs keep their indexes although the cloud's clock says that another
// one is older.
func TestVNFCsKeepTheirOrderWhenAgesChange(t *testing.T) {
	t.Parallel()
	server := func(id, created string) cloud.Resource {
		return cloud.Resource{
			Name: "VDU1", Type: cloud.TypeServer, PhysicalID: id, Status: "CREATE_COMPLETE", CreationTime: created,
		}
	}
	f := &vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "VDU1"}}}
	i := &lcm.Instance{}
	var order []string
	i.Inventory, order = vnfcsOf(
		f, i, []cloud.Resource{server("a", "2026-01-01T00:00:05Z"), server("b", "2026-01-01T00:00:06Z")},
	)
	require.Equal(t, []string{"b", "a"}, order)
	_, order = vnfcsOf(f, i, []cloud.Resource{
		server("a", "2026-01-01T00:00:05Z"), server("b", "2026-01-01T00:00:06Z"), server("c", "2026-01-01T00:00:04Z"),
	})
	require.Equal(t, []string{"c", "b", "a"}, order, "a new VNFC follows those that the instance has")
}

// vnfcsOf is one look: the inventory that it records, and the servers in the order of their VNFCs.
func vnfcsOf(f *vnfd.Flavour, i *lcm.Instance, all []cloud.Resource) (inventory []lcm.Resource, order []string) {
	for _, c := range NewTree(&cloud.Stack{ID: "top"}, all).VNFCs(f, i) {
		order = append(order, c.Server.PhysicalID)
		inventory = append(
			inventory, lcm.Resource{Type: cloud.TypeServer, ID: c.Server.PhysicalID, VDU: c.VDU.Name, Index: c.Index},
		)
	}
	return inventory, order
}

// TestOrderOfVNFCsFollowsHeatsChoice: of a group that is scaled by signals Heat takes the oldest member, of one age the
// first by name. The VNFC that is drained has to be that one.
func TestOrderOfVNFCsFollowsHeatsChoice(t *testing.T) {
	t.Parallel()
	const before, now = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	var all []cloud.Resource
	add := func(vdu, id, member, made, replaced string) {
		in := func(stack string) []cloud.Link {
			return []cloud.Link{{Href: "http://heat/v1/p/stacks/s/" + stack, Rel: "stack"}}
		}
		all = append(all,
			cloud.Resource{
				Name: member, Type: "m.yaml", PhysicalID: "s-" + id, Status: "CREATE_COMPLETE",
				CreationTime: made, Links: in("group"),
			},
			cloud.Resource{
				Name: vdu, Type: cloud.TypeServer, PhysicalID: id, Status: "CREATE_COMPLETE",
				CreationTime: replaced, Links: in("s-" + id),
			})
	}
	add("VDU1", "a", "mc", now, now)
	add("VDU1", "b", "ma", now, now)
	add("VDU2", "x", "mx", before, before)
	add("VDU1", "c", "mb", before, now) // its server was healed
	add("VDU2", "y", "my", now, now)
	tree := NewTree(&cloud.Stack{ID: "top"}, all)
	tree.OldestFirst = map[string]bool{"VDU1": true}
	ids := map[string][]string{}
	for _, c := range tree.VNFCs(&vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "VDU1"}, {Name: "VDU2"}}}, &lcm.Instance{}) {
		ids[c.VDU.Name] = append(ids[c.VDU.Name], c.Server.PhysicalID)
	}
	require.Equal(t, map[string][]string{"VDU1": {"c", "b", "a"}, "VDU2": {"y", "x"}}, ids)
}
