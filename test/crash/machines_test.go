package crash_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
)

func startMachines(t *testing.T) (*simcloud.Cloud, *machine.Fleet) {
	t.Helper()
	return machines.StartTest(t, simcloud.Options{}, machine.Options{SSHPort: sshPort})
}

// started is how the journal of a machine shows the start of a part of the installation.
var started = regexp.MustCompile(`^setsid --fork .*-(prepare|init|join)-\d+/run$`)

// installedOnce asks the machines of a cluster what was done to them: every part of the installation was started once
// on each, by whichever node.
func (w *world) installedOnce(api *client.Client, fleet *machine.Fleet, instance string) {
	w.t.Helper()
	i, err := api.Instance(w.t.Context(), instance)
	require.NoError(w.t, err)
	require.NotNil(w.t, i.InstantiatedVnfInfo)
	inits := 0
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		runs := map[string]int{}
		for _, e := range fleet.Journal(r.ID) {
			if m := started.FindStringSubmatch(e.Line); m != nil && e.Kind == "exec" {
				runs[m[1]]++
			}
		}
		inits += runs["init"]
		if r.VduID == "masterNode" && runs["init"] > 0 {
			require.Equal(w.t, map[string]int{"prepare": 1, "init": 1}, runs, r.ID)
		} else {
			require.Equal(w.t, map[string]int{"prepare": 1, "join": 1}, runs, r.ID)
			require.Equal(w.t, 1, fleet.Count(r.ID, "kubeadm join"))
		}
		require.Equal(w.t, 1, fleet.Count(r.ID, "apt-mark hold"), "the packages are installed once")
	}
	require.Equal(w.t, 1, inits, "the cluster is made once")
}

// changedOnce asks the machines of an instance what an operation had done to them: every part of the script ran once on
// each, whichever node had it run, and no machine was prepared or joined a second time since it was made.
func (w *world) changedOnce(api *client.Client, fleet *machine.Fleet, instance, op string) {
	w.t.Helper()
	i, err := api.Instance(w.t.Context(), instance)
	require.NoError(w.t, err)
	runs := map[string]int{}
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		server := r.ComputeResource.ResourceID
		for _, e := range fleet.Journal(server) {
			if m := ran.FindStringSubmatch(e.Line); m != nil && e.Kind == "exec" && (m[1] == op || m[3] == "prepare" ||
				m[3] == "join" || m[3] == "init") {
				runs[r.ID+" "+m[1]+" "+m[3]]++
				require.Equal(w.t, "1", m[4], "%s ran again: %s", m[3], e.Line)
			}
		}
		require.LessOrEqual(
			w.t, fleet.Count(server, "kubeadm join")+fleet.Count(server, "kubeadm init --config"), 1, r.ID,
		)
		require.LessOrEqual(w.t, fleet.Count(server, "mkfs.ext4"), 1, r.ID)
	}
	for what, times := range runs {
		require.Equal(w.t, 1, times, what)
	}
}

// ran is how the journal shows the start of any part of the script: operation, run, part and try.
var ran = regexp.MustCompile(`^setsid --fork .*/([0-9a-f-]{36})-([0-9]+)-[a-z0-9-]+-(prepare|init|join|refresh|server|client)-([0-9]+)/run$`)

// healthy looks at the only cluster of a fleet from inside: its nodes are the instance's machines, all Ready, and its
// etcd has one member for each master.
func (w *world) healthy(api *client.Client, fleet *machine.Fleet, instance string) {
	w.t.Helper()
	i, err := api.Instance(w.t.Context(), instance)
	require.NoError(w.t, err)
	vdus := map[string]int{}
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		vdus[r.VduID]++
	}
	clusters := fleet.Clusters()
	require.Len(w.t, clusters, 1)
	c := clusters[0]
	require.Len(w.t, c.Nodes(), vdus["masterNode"]+vdus["workerNode"], "%v", c.Nodes())
	for _, n := range c.Nodes() {
		require.True(w.t, c.NodeReady(n), n)
	}
	require.Len(w.t, c.Members(), vdus["masterNode"])
	for _, m := range c.Members() {
		require.Contains(w.t, c.Nodes(), m.Name)
	}
	vims, err := api.Vims(w.t.Context())
	require.NoError(w.t, err)
	require.Len(w.t, vims, 1)
}
