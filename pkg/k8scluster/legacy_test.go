package k8scluster_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/sol"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// olderPackage is a package with an installation script without phases.
func olderPackage(t *testing.T) fs.FS {
	t.Helper()
	script, err := os.ReadFile("../../test/e2e/testdata/older_install.sh")
	require.NoError(t, err)
	return fstest.MapFS{"Scripts/install_k8s_cluster.sh": {Data: script}}
}

// older starts the instantiation of three masters and two workers by such a script.
func older(t *testing.T, m *machines, files fs.FS) *store {
	t.Helper()
	s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), m.complex())
	s.files = files
	return s
}

// onceOlder checks that the script has been run once on every machine.
func (m *machines) onceOlder() {
	m.t.Helper()
	require.Equal(m.t, 1, m.fleet.Count("masterNode-11", "kubeadm init --pod-network-cidr=10.200.0.0/16"))
	require.Equal(m.t, 0, m.fleet.Count("masterNode-11", "kubeadm join"))
	for _, vnfc := range []string{"masterNode-12", "masterNode-13", "workerNode-21", "workerNode-22"} {
		require.Equal(m.t, 1, m.fleet.Count(vnfc, "kubeadm join"), vnfc)
	}
	for _, vnfc := range []string{"masterNode-11", "masterNode-12", "masterNode-13", "workerNode-21", "workerNode-22"} {
		require.Equal(m.t, 1, m.fleet.Count(vnfc, "swapoff"), vnfc)
	}
}

// A script that knows nothing of the VNFM must not be run twice on a machine, whenever the VNFM dies.
func TestOlderScriptIsRunOnceWhereverANodeDies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: takes a cluster per death")
	}
	for _, at := range []int{0, 4, 9, 16, 24, 33, 42} {
		t.Run(fmt.Sprint("write ", at), func(t *testing.T) {
			t.Parallel()
			m := newMachines(t)
			s := older(t, m, olderPackage(t))
			s.dieAt = at
			advance(t, s, m.driver, execution.Tuning{})
			m.built(s)
			m.onceOlder()
		})
	}
}

// It is not known which part such a script has done when its machine reboots: it runs again only after the user's
// retry.
func TestOlderScriptThatIsCutOffIsNotRunAgainUnasked(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	s := older(t, m, olderPackage(t))
	stopped, rebooted := make(chan struct{}), make(chan struct{})
	m.fleet.Fail("workerNode-21", simmachine.Failure{Command: "modprobe", Hang: true, Times: 1, Notify: func() {
		close(stopped)
	}})
	go func() {
		defer close(rebooted)
		select {
		case <-stopped:
			m.fleet.Reboot("workerNode-21")
		case <-t.Context().Done():
		}
	}()
	advance(t, s, m.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Regexp(t, `install node worker21 of VNFC workerNode-21: .*(did not reach its end|rebooted while the script was running)`, s.op.Error.Detail)
	<-rebooted
	require.Equal(t, 1, m.fleet.Count("workerNode-21", "swapoff"), "not run again")

	s.op.State, s.op.StateEntered = sol.LcmOperationStateProcessing, time.Now() // as a retry does
	s.op.Try++
	advance(t, s, m.driver, execution.Tuning{})
	m.built(s)
	require.Equal(t, 2, m.fleet.Count("workerNode-21", "swapoff"))
	require.Equal(t, 1, m.fleet.Count("masterNode-12", "kubeadm join"), "the others were done")
}

// A script that failed after its node had joined is not run again by a retry: it would fail at what it has done
// already.
func TestOlderScriptIsNotRunAgainOnANodeOfTheCluster(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	s := older(t, m, olderPackage(t))
	m.fleet.Fail("workerNode-22", simmachine.Failure{
		Command: "kubeadm join", After: true, Stderr: "the connection was lost at the end",
	})
	advance(t, s, m.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(
		t, s.op.Error.Detail, "install node worker22 of VNFC workerNode-22: Install Failed! The node does not join.",
	)
	m.fleet.ClearFailures("")
	s.op.State, s.op.StateEntered = sol.LcmOperationStateProcessing, time.Now()
	s.op.Try++
	advance(t, s, m.driver, execution.Tuning{})
	m.built(s)
	require.Equal(t, 1, m.fleet.Count("workerNode-22", "swapoff"))
}

// Older scripts exit with 0 in every case; the step names the machine that did not become a node, long before the wait
// for all nodes would.
func TestOlderScriptThatMakesNoNodeIsFoundOutAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	s := older(t, m, fstest.MapFS{
		"Scripts/install_k8s_cluster.sh": {Data: []byte("#!/bin/bash\necho nothing to do\nexit 0\n")},
	})
	advance(t, s, m.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "initialise cluster on node master11 of VNFC masterNode-11")
	require.Contains(t, s.op.Error.Detail, "there is no /etc/kubernetes/admin.conf")
}

// The scripts run as root, or near to it, on every node.
func TestNodeScriptsAreSound(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("SKIPPED: shellcheck is not installed")
	}
	for _, name := range []string{"legacy.sh", "registry.sh", "storage.sh"} {
		cmd := exec.CommandContext(t.Context(), "shellcheck", "-x", "-a", name)
		cmd.Dir = "nodescripts"
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}
