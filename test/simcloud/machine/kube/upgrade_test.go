package kube_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// What the real kubeadm refuses must not work here, or a driver that does it passes its tests.
func TestKubeadmUpgradeRefusesWhatTheRealOneDoes(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	ms, ws := l.cluster(1, 1)
	refused := func(id, command, why string) {
		t.Helper()
		out, st := l.sh(id, command, nil)
		require.NotZero(t, st, out)
		require.Contains(t, out, why)
	}
	refused(ms[0], "kubeadm upgrade apply --yes v1.34.3", "not running as root")
	refused(ms[0], "sudo kubeadm upgrade apply --yes v1.35.4", `higher than the kubeadm version "v1.34.3"`)
	refused(ms[0], "sudo kubeadm upgrade apply --yes v1.33.0", "too low")
	refused(ms[0], "sudo kubeadm upgrade apply", "Required arguments: [version]")
	refused(ms[0], "echo n | sudo kubeadm upgrade apply v1.34.3", "won't proceed")

	for id, args := range map[string]string{ms[0]: "-m " + l.ip(11).String(), ws[0]: "-w " + l.ip(21).String()} {
		out, st := l.sh(id, fmt.Sprintf("GYBE_PHASE=upgrade K8S_VERSION=1.36 bash /tmp/install_k8s_cluster.sh %s -i %s",
			args, l.ip(11)), nil)
		require.NotZero(t, st, out)
		require.Contains(
			t, out, map[string]string{ms[0]: "only 1 minor version at a time", ws[0]: "Current version: v1.34.3"}[id],
		)
	}
}
