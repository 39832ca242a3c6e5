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

// installedOnce asks the machines of a cluster what was done to them: every part of the installation was started once on each,
// by whichever node.
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
