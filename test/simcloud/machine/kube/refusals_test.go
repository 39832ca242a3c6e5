package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// prepared boots a machine and installs everything on it up to kubeadm.
func (l *lab) prepared(id string, host byte) {
	l.Helper()
	l.boot(id, host)
	l.install(id)
	l.ok(id, fmt.Sprintf("GYBE_PHASE=prepare bash /tmp/install_k8s_cluster.sh -m %[1]s -i %[1]s", l.ip(host)))
}

// TestKubeadmRefuses holds kubeadm to the reasons for which the real one stops, in its words: they reach the user.
func TestKubeadmRefuses(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 50})
	l.prepared("m", 11)
	l.prepared("w", 21)
	fails := func(id, cmd string, want ...string) {
		t.Helper()
		out, st := l.sh(id, cmd, nil)
		require.NotZero(t, st, "%s\n%s", cmd, out)
		for _, w := range want {
			require.Contains(t, out, w, cmd)
		}
	}
	fails("m", "kubeadm init", "[ERROR IsPrivilegedUser]: user is not running as root")
	fails(
		"m",
		"sudo sysctl -qw net.ipv4.ip_forward=0; sudo kubeadm init; r=$?; sudo sysctl -qw net.ipv4.ip_forward=1; exit "+
			"$r",
		"[ERROR FileContent--proc-sys-net-ipv4-ip_forward]: /proc/sys/net/ipv4/ip_forward contents are not set to 1",
		"--ignore-preflight-errors")
	fails("m", "sudo systemctl stop containerd; sudo kubeadm init; r=$?; sudo systemctl start containerd; exit $r",
		"[ERROR CRI]: could not connect to the container runtime")
	fails(
		"m",
		"printf 'apiVersion: kubeadm.k8s.io/v1beta1\\nkind: InitConfiguration\\n' >c.yaml; sudo kubeadm init "+
			"--config c.yaml",
		"old API spec",
	)

	began := time.Now()
	fails(
		"w",
		fmt.Sprintf(
			"sudo kubeadm join %s:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:%064d",
			l.ip(11), 0,
		),
		"error execution phase preflight: couldn't validate the identity of the API Server", "connection refused")
	require.Less(t, time.Since(began), 2*time.Minute)

	l.ok("m", "sudo kubeadm init --skip-token-print")
	fails("m", "sudo kubeadm init", "[ERROR Port-6443]: Port 6443 is in use",
		"[ERROR FileAvailable--etc-kubernetes-manifests-kube-apiserver.yaml]: "+
			"/etc/kubernetes/manifests/kube-apiserver.yaml already exists",
		"[ERROR DirAvailable--var-lib-etcd]")
	join := strings.TrimSpace(l.ok("m", "sudo kubeadm token create --print-join-command"))
	require.Regexp(t, `^kubeadm join `+l.ip(11).String()+
		`:6443 --token [a-z0-9]{6}\.[a-z0-9]{16} --discovery-token-ca-cert-hash sha256:[0-9a-f]{64}$`, join)
	f := strings.Fields(join)
	token, hash := f[4], f[6]

	wrong := strings.Replace(join, token, "abcdef.0123456789abcdef", 1)
	fails("w", "sudo "+wrong, "couldn't validate the identity of the API Server", "abcdef")
	fails("w", "sudo "+strings.Replace(join, hash, fmt.Sprintf("sha256:%064d", 0), 1), "none of the public keys",
		"are pinned")
	fails("w", "sudo "+join+" --control-plane",
		"One or more conditions for hosting a new control plane instance is not satisfied")
	fails("w", "sudo "+join+" --control-plane --certificate-key "+strings.Repeat("0", 64), "error downloading certs")
	fails("w", "ls /etc/kubernetes/kubelet.conf", "No such file")

	l.ok("w", "sudo "+join)
	fails("w", "sudo "+join, "[ERROR FileAvailable--etc-kubernetes-kubelet.conf]",
		"[ERROR FileAvailable--etc-kubernetes-pki-ca.crt]", "[ERROR Port-10250]")
	require.Contains(
		t, l.ok("m", "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name"), "node/master21",
	)

	l.ok("w", "sudo kubeadm reset --force")
	fails("w", "systemctl is-active kubelet")
	l.ok("m", "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf delete node master21")
	l.ok("w", "sudo "+join)
	require.Contains(
		t, l.ok("m", "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name"), "node/master21",
	)
}

// TestKilledInTheMiddle is kubeadm init and join killed half-way: the script tidies up and succeeds the second time.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 50})
	l.prepared("m", 11)
	l.boot("w", 21)
	l.install("w")
	script := fmt.Sprintf(
		"GYBE_RESULT_FILE=/home/ubuntu/result GYBE_PHASE=init bash /tmp/install_k8s_cluster.sh -m %[1]s -i %[1]s",
		l.ip(11),
	)
	l.SetDelays(map[string]time.Duration{"init": time.Hour, "join": time.Hour})
	kill := func(id, cmd string) {
		t.Helper()
		l.ok(id, "setsid --fork bash -c '"+cmd+"' >log 2>&1 </dev/null")
		// It is in the middle when the first files are there.
		require.Eventually(t, func() bool {
			_, st := l.sh(id, "pgrep -x kubeadm && ls /etc/kubernetes/pki/ca.crt", nil)
			return st == 0
		}, time.Minute, 20*time.Millisecond)
		l.sh(id, "sudo pkill -KILL -f [i]nstall_k8s_cluster", nil)
		l.sh(id, "sudo pkill -KILL -x kubeadm", nil)
		require.Eventually(t, func() bool {
			_, st := l.sh(id, "pgrep -x kubeadm || pgrep -f [i]nstall_k8s", nil)
			return st == 1
		}, time.Minute, 20*time.Millisecond)
	}
	kill("m", script)
	l.SetDelays(map[string]time.Duration{"init": 0})
	out := l.ok("m", script)
	require.Contains(t, out, "removing the files of an unfinished attempt")
	s := l.secrets("m", "/home/ubuntu/result")
	join := fmt.Sprintf("bash /tmp/install_k8s_cluster.sh -w %s -i %s -t %s -s %s", l.ip(21), l.ip(11), s["token"],
		s["ssl_ca_cert_hash"])
	l.ok("w", fmt.Sprintf("GYBE_PHASE=prepare bash /tmp/install_k8s_cluster.sh -w %s -i %s", l.ip(21), l.ip(11)))
	kill("w", "GYBE_PHASE=join "+join)
	l.SetDelays(map[string]time.Duration{"join": 0})
	l.Fleet.Fail("w", machine.Failure{
		Command: "kubeadm join", Exit: 1, Stderr: "error execution phase preflight: i/o timeout", Times: 1,
	})
	out = l.ok("w", "GYBE_PHASE=join "+join)
	require.Contains(t, out, "removing the files of an unfinished attempt")
	require.Contains(t, out, "attempt 1 of 3 to join failed")
	c := l.client("m")
	ready := func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && allReady(got, "master11", "worker21")
	}
	require.Eventually(t, ready, time.Minute, 50*time.Millisecond)

	// The attempt had come so far that the cluster lists the node as Ready, but not its credentials.
	l.ok("w", "sudo rm /etc/kubernetes/kubelet.conf")
	out = l.ok("w", "GYBE_PHASE=join "+join)
	require.Contains(t, out, "the cluster still lists node worker21 as Ready")
	require.Eventually(t, ready, time.Minute, 50*time.Millisecond)
}
