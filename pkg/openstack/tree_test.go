package openstack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
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
	i := &lcm.Instance{Instantiated: &sol.InstantiatedVnfInfo{}}
	for _, id := range []string{"c", "a", "d"} { // the youngest first
		i.Instantiated.VnfcInfo = append(i.Instantiated.VnfcInfo, sol.VnfcInfo{ID: "VDU1-" + id, VduID: "VDU1", VnfcResourceInfoID: id})
		i.Instantiated.VnfcResourceInfo = append(i.Instantiated.VnfcResourceInfo, sol.VnfcResourceInfo{ID: id, VduID: "VDU1", ComputeResource: sol.ResourceHandle{ResourceID: id}})
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
