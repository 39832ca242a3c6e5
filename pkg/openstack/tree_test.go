package openstack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// TestNewVNFCsAreTheYoungest: whoever scales out and in again gets rid of the new VNFCs, and not of those that he has worked with, also in a
// cloud so fast that all are of the same second.
func TestNewVNFCsAreTheYoungest(t *testing.T) {
	t.Parallel()
	server := func(id, created string) resource {
		return resource{Name: "VDU1", Type: typeServer, PhysicalID: id, Status: "CREATE_COMPLETE", Created: created}
	}
	const before, now = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	f := &vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "VDU1"}}}
	i := &lcm.Instance{}
	for index, id := range []string{"d", "a", "c"} {
		i.Inventory = append(i.Inventory, lcm.Resource{Type: typeServer, ID: id, VDU: "VDU1", Index: index})
	}
	all := []resource{server("a", now), server("b", now), server("c", now), server("d", before), server("e", now)}
	var ids []string
	index := map[string]int{}
	for _, c := range newTree(&stack{ID: "top"}, all).vnfcs(f, i) {
		ids = append(ids, c.server.PhysicalID)
		index[c.server.PhysicalID] = c.index
	}
	require.Equal(t, []string{"b", "e", "c", "a", "d"}, ids)
	require.Equal(t, map[string]int{"d": 0, "a": 1, "c": 2, "e": 3, "b": 4}, index, "the oldest is the first")
}

// TestHeatsChoiceIsForetold: of a group that is scaled by signals Heat takes the oldest member, of one age the first by name. The VNFC that is drained has to be that one.
func TestHeatsChoiceIsForetold(t *testing.T) {
	t.Parallel()
	const before, now = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	var all []resource
	add := func(vdu, id, member, made, replaced string) {
		in := func(stack string) []link { return []link{{Href: "http://heat/v1/p/stacks/s/" + stack, Rel: "stack"}} }
		all = append(all,
			resource{Name: member, Type: "m.yaml", PhysicalID: "s-" + id, Status: "CREATE_COMPLETE", Created: made, Links: in("group")},
			resource{Name: vdu, Type: typeServer, PhysicalID: id, Status: "CREATE_COMPLETE", Created: replaced, Links: in("s-" + id)})
	}
	add("VDU1", "a", "mc", now, now)
	add("VDU1", "b", "ma", now, now)
	add("VDU2", "x", "mx", before, before)
	add("VDU1", "c", "mb", before, now) // its server was healed
	add("VDU2", "y", "my", now, now)
	tree := newTree(&stack{ID: "top"}, all)
	tree.oldestFirst = map[string]bool{"VDU1": true}
	ids := map[string][]string{}
	for _, c := range tree.vnfcs(&vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "VDU1"}, {Name: "VDU2"}}}, &lcm.Instance{}) {
		ids[c.vdu.Name] = append(ids[c.vdu.Name], c.server.PhysicalID)
	}
	require.Equal(t, map[string][]string{"VDU1": {"c", "b", "a"}, "VDU2": {"y", "x"}}, ids)
}
