package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// TestMasterIsReplaced is a heal: a master vanishes with its disk, its etcd member and node are removed, and a new
// machine joins with fresh secrets, behind balancers that know it.
func TestMasterIsReplaced(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	ms, _ := l.cluster(3, 1)
	l.Delete(ms[1])
	c := l.client(ms[0])
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && len(got) == 4 && !got["master12"]
	}, time.Minute, 50*time.Millisecond)

	list := fmt.Sprintf("%s,%s,%s", l.ip(11), l.ip(14), l.ip(13))
	l.boot("m4", 14)
	l.install("m4")
	on := func(id string, host byte, phase, more string) (string, int) {
		return l.sh(
			id,
			fmt.Sprintf(
				"NODE_IP=%s GYBE_PHASE=%s GYBE_RESULT_FILE=/home/ubuntu/new bash /tmp/install_k8s_cluster.sh -m %s "+
					"-i %s %s",
				l.ip(host), phase, list, l.ip(100), more,
			),
			nil,
		)
	}
	must := func(id string, host byte, phase, more string) {
		t.Helper()
		out, st := on(id, host, phase, more)
		require.Zero(t, st, out)
	}
	must("m4", 14, "prepare", "")
	must(ms[0], 11, "refresh", "")
	must(ms[2], 13, "refresh", "")
	must(ms[0], 11, "tokens", "")
	s := l.secrets(ms[0], "/home/ubuntu/new")
	join := fmt.Sprintf("-t %s -s %s -k %s", s["token"], s["ssl_ca_cert_hash"], s["certificate_key"])

	// The dead member is still in etcd's list: no further one may come.
	out, st := on("m4", 14, "join", join)
	require.NotZero(t, st, out)
	require.Contains(t, out, "etcd cluster is not healthy")

	const etcdctl = "kubectl -n kube-system exec etcd-master11 -- etcdctl --cacert /etc/kubernetes/pki/etcd/ca.crt " +
		"member "
	members := l.reads(ms[0], etcdctl+"list")
	for line := range strings.Lines(members) {
		if strings.Contains(line, "master12") {
			id, _, _ := strings.Cut(line, ",")
			l.ok(ms[0], etcdctl+"remove "+id)
		}
	}
	require.NotContains(t, l.reads(ms[0], etcdctl+"list"), "master12")
	l.ok(ms[0], "kubectl delete node master12")
	must("m4", 14, "join", join)
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && len(got) == 4 && allReady(got, "master11", "master13", "master14", "worker21")
	}, time.Minute, 50*time.Millisecond)

	// The new one bears a part of the majority.
	l.PowerOff(ms[0])
	require.Eventually(t, func() bool {
		_, err := nodes(t.Context(), c)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

// TestVirtualAddressFollowsHealth moves the address away from a machine whose HAProxy stops or whose network is cut.
func TestVirtualAddressFollowsHealth(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	l.cluster(2, 0)
	vip := l.ip(100)
	first := l.Holder(vip)
	require.NotEmpty(t, first)
	l.ok(first, "sudo systemctl stop haproxy")
	require.Eventually(
		t, func() bool { h := l.Holder(vip); return h != "" && h != first }, time.Minute, 20*time.Millisecond,
	)
	second := l.Holder(vip)
	l.ok(first, "sudo systemctl start haproxy; ip -4 -o addr show | grep -c "+vip.String()+" || true")
	require.NoError(t, l.Unreachable(second, true))
	require.Eventually(t, func() bool { return l.Holder(vip) == first }, time.Minute, 20*time.Millisecond)
	require.NoError(t, l.Unreachable(second, false))
	c := l.client(first)
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && allReady(got, "master11", "master12")
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, first, l.Holder(vip), "no member preempts")
}

// TestKubeletStops makes a node NotReady when its kubelet is stopped, not at once, and Ready again with it.
func TestKubeletStops(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	l.cluster(1, 1)
	c := l.client("m1")
	ready := func() bool {
		got, err := nodes(t.Context(), c)
		require.NoError(t, err)
		return got["worker21"]
	}
	require.Eventually(t, ready, time.Minute, 20*time.Millisecond)
	l.ok("w1", "sudo systemctl stop kubelet")
	require.True(t, ready(), "a node is given up after a while only")
	require.Eventually(t, func() bool { return !ready() }, time.Minute, 50*time.Millisecond)
	require.Contains(t, l.ok("m1", "kubectl get nodes --no-headers | awk '/worker21/ {print $2}'"), "NotReady")
	l.ok("w1", "sudo systemctl start kubelet")
	require.Eventually(t, ready, time.Minute, 50*time.Millisecond)

	l.ok("m1", "kubectl delete node worker21 --ignore-not-found && kubectl delete node worker21 --ignore-not-found")
	out, st := l.sh("m1", "kubectl get node worker21", nil)
	require.Equal(t, 1, st)
	require.Equal(t, "Error from server (NotFound): nodes \"worker21\" not found\n", out)
}
