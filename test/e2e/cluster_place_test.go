package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
)

// places are the compute hosts and zones that the nodes of a cluster say they run in; they must be the cloud's.
func (w *world) places(id string, masters, workers int) (hosts map[string][]string, zones map[string]int) {
	w.t.Helper()
	w.members(id, masters, workers)
	list, err := nodes(w.t, w.ready(id))
	require.NoError(w.t, err)
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	known := map[string]int{}
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		known[r.ZoneID]++
	}
	hosts, zones = map[string][]string{}, map[string]int{}
	for _, n := range list {
		zone := n.Labels["topology.kubernetes.io/zone"]
		require.Equal(w.t, zone, n.Labels["kubernetes.io/zone"], n.Name)
		zones[zone]++
		role := n.Name[:len("master")]
		require.NotContains(w.t, hosts[role], n.Labels["CIS-node"], "two of %s on one host", role)
		hosts[role] = append(hosts[role], n.Labels["CIS-node"])
	}
	require.Equal(w.t, known, zones)
	return hosts, zones
}

// Pods can be kept apart by compute host and by zone, on the nodes that were there from the beginning, on those that
// came later and on those that were replaced.
func TestNodesSayOnWhichHostAndInWhichZoneTheyRun(t *testing.T) {
	t.Parallel()
	o := simcloud.Options{}
	for n := range 8 {
		o.Hosts = append(o.Hosts, simcloud.Host{Name: fmt.Sprintf("cmp%d", n+1), Zone: fmt.Sprintf("az%d", n%2+1)})
	}
	cloud, fleet := machines.StartTest(t, o, machine.Options{SSHPort: sshPort})
	w := start(t, cloud, func(c *config.Config) { c.Grant.Zones = []string{"az1", "az2"} })
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("podaffinity")))
	_, zones := w.places(id, 3, 2)
	require.NotContains(t, zones, "", "%v", zones)

	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale"}))
	w.places(id, 3, 3)
	for _, vdu := range []string{"workerNode", "masterNode"} {
		dead, vnfc := w.machineOf(id, vdu, 1)
		fleet.PowerOff(dead)
		w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}}))
		w.places(id, 3, 3)
	}
	w.completed(w.terminate(id))
	w.gone()
}
