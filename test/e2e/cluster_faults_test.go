package e2e_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
)

// kube is a client of an instance's cluster, with what the VNFM gives its users.
func (w *world) kube(id string) *kubernetes.Clientset {
	w.t.Helper()
	raw, err := w.api.Kubeconfig(w.t.Context(), id)
	require.NoError(w.t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(w.t, err)
	c, err := kubernetes.NewForConfig(cfg)
	require.NoError(w.t, err)
	return c
}

func scaled(typ sol.ScaleType, steps int) map[string]any {
	return map[string]any{"type": typ, "aspectId": "workerNode_scale", "numberOfSteps": steps}
}

// guarded runs pods in a cluster that a disruption budget does not let go.
func guarded(t *testing.T, c kubernetes.Interface, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	_, err := c.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	all := intstr.FromInt32(replicas)
	_, err = c.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "never-fewer"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all, Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// pods are the names of the pods by node.
func pods(t *testing.T, c kubernetes.Interface) map[string][]string {
	t.Helper()
	list, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	out := map[string][]string{}
	for _, p := range list.Items {
		out[p.Spec.NodeName] = append(out[p.Spec.NodeName], p.Name)
	}
	return out
}

// said waits until an operation's log has a line with these words.
func (w *world) said(op string, words ...string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		return slices.ContainsFunc(w.progress(op).Lines, func(l gybeapi.Line) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(l.Text, word) })
		})
	}, patience, 10*time.Millisecond, "%v", words)
}

// A budget that never lets go holds a scaling in up for as long as its user wants, not longer; he learns which pods of
// which budget it was, nothing has been taken away, and he may go on when he has dealt with it. A heal waits for a
// budget that lets go in time.
func TestNodesAreNotTakenFromUnderProtectedPods(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	w.completed(w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeOut, 1)))
	c := w.kube(id)
	names := w.members(id, 1, 3)
	guarded(t, c, 6)
	before := pods(t, c)
	require.NotEmpty(t, before)
	workers := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.HasPrefix(n, "master") })
	for _, n := range workers {
		require.NotEmpty(t, before[n], "each worker has some")
	}

	request := scaled(sol.ScaleTypeIn, 1)
	request["additionalParams"] = map[string]any{"k8s_cluster_installation_param": w.impatient("simple")}
	op := w.task(id, sol.LcmOperationScale, request)
	e := w.failed(op).Error
	require.Contains(t, e.Detail, "never-fewer needs 6 healthy pods and has 6 currently")
	require.Contains(t, e.Detail, "after 1s")
	require.Contains(t, e.Hint, "drain_timeout")
	holder := ""
	for _, n := range workers {
		if strings.Contains(e.Detail, n) {
			holder = n
		}
	}
	for _, pod := range before[holder] {
		require.Contains(t, e.Detail, "default/"+pod)
	}
	require.Equal(t, before, pods(t, c))
	require.ElementsMatch(t, names, w.members(id, 1, 3))
	require.NoError(
		t, c.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "never-fewer", metav1.DeleteOptions{}),
	)
	require.NoError(t, w.api.Retry(t.Context(), op))
	for range 20 { // on a busy machine the pods may need more than the second that they have
		o := w.resting(op)
		if o.Error == nil || !strings.Contains(o.Error.Detail, "is ending") {
			break
		}
		require.NotContains(t, o.Error.Detail, "disruption budget")
		require.NoError(t, w.api.Retry(t.Context(), op))
	}
	w.completed(op)
	w.members(id, 1, 2)

	require.NoError(t, c.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	guarded(t, c, 2)
	_, vnfc := w.machineOf(id, "workerNode", 0)
	op = w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}})
	w.said(op, "waits for default/web", "never-fewer")
	w.members(id, 1, 2)
	require.NoError(
		t, c.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "never-fewer", metav1.DeleteOptions{}),
	)
	w.completed(op)
	w.members(id, 1, 2)
	w.completed(w.terminate(id))
	w.gone()
}

// impatient are the parameters of a cluster whose nodes have a second to become empty.
func (w *world) impatient(flavour string) map[string]any {
	p := at(w.t, w.cluster(flavour), "additionalParams", "k8s_cluster_installation_param")
	p["drain_timeout"] = 1
	return p
}

// The API server goes away for 20 seconds in the middle of any operation. (A second of the VNFM's patience is 40 ms
// here.)
func TestAPIServerThatIsAwayForAWhileIsWaitedFor(t *testing.T) {
	t.Parallel()
	const second = time.Second / 25
	w, fleet := withMachines(t, func(c *config.Config) {
		c.Engine.RetryBase, c.Engine.RetryMax = second/2, 30*second
	})
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("complex")))
	w.members(id, 3, 2)
	away := func(yes bool) {
		for n := range 3 {
			server, _ := w.machineOf(id, "masterNode", n)
			fleet.APIAway(server, yes)
		}
	}
	back := func() { time.AfterFunc(20*second, func() { away(false) }) }
	waits := func(op string) {
		require.Eventually(t, func() bool {
			return strings.Contains(w.progress(op).Waiting, "failed, next in")
		}, patience, time.Millisecond)
	}
	// When a node joins.
	fleet.SetDelays(map[string]time.Duration{"kubeadm join": 300 * time.Millisecond})
	op := w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeOut, 1))
	w.said(op, "step kubeadm-join")
	away(true)
	back()
	w.completed(op)
	w.members(id, 3, 3)
	fleet.SetDelays(map[string]time.Duration{"kubeadm join": 0})

	// When one is drained.
	c := w.kube(id)
	guarded(t, c, 6)
	op = w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeIn, 1))
	w.said(op, "waits for default/web")
	away(true)
	back()
	require.Eventually(t, func() bool {
		return c.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "never-fewer",
			metav1.DeleteOptions{}) == nil
	}, patience, 10*time.Millisecond)
	w.completed(op)
	w.members(id, 3, 2)

	// From the beginning, when nodes are to leave.
	for _, vdu := range []string{"workerNode", "masterNode"} {
		_, vnfc := w.machineOf(id, vdu, 1)
		away(true)
		op := w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}})
		waits(op)
		back()
		w.completed(op)
		w.members(id, 3, 2)
	}
	w.completed(w.terminate(id))
	w.gone()
}

// kubeadm join fails twice on every new node, before it has done anything or when it has done all, and then works: the
// user does not have to do anything.
func TestJoinThatFailsTwiceIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	twice := func(after bool) {
		fleet.ClearFailures("")
		fleet.Fail("", machine.Failure{
			Command: "kubeadm join", Stderr: "error execution phase kubelet-start: timed out", Times: 2, After: after,
		})
	}
	twice(false)
	w.completed(w.instantiate(id, w.cluster("complex")))
	w.members(id, 3, 2)
	twice(true)
	w.completed(w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeOut, 1)))
	w.members(id, 3, 3)
	for _, vdu := range []string{"workerNode", "masterNode"} {
		for _, after := range []bool{false, true} {
			twice(after)
			dead, vnfc := w.machineOf(id, vdu, 0)
			fleet.PowerOff(dead)
			w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}}))
			w.members(id, 3, 3)
		}
	}
	w.completed(w.terminate(id))
	w.gone()
}

// A new machine goes down in the middle of its preparation and comes up again.
func TestNewNodeThatRebootsWhileItIsPreparedIsFinished(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	dead, vnfc := w.machineOf(id, "workerNode", 0)
	fleet.PowerOff(dead)
	for _, next := range []func() string{
		func() string { return w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeOut, 1)) },
		func() string {
			return w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}})
		},
	} {
		known := fleet.Snapshot()
		var hangs atomic.Bool // in the middle of its preparation
		fleet.Fail("", machine.Failure{Command: "gpg", Hang: true, Times: 1, Notify: func() { hangs.Store(true) }})
		op := next()
		fresh := ""
		require.Eventually(t, func() bool {
			for server := range fleet.Snapshot() {
				if _, old := known[server]; !old && hangs.Load() {
					fresh = server
				}
			}
			return fresh != ""
		}, patience, time.Millisecond)
		fleet.Reboot(fresh)
		w.completed(op)
		require.Equal(t, 2, startsOf(fleet, fresh, "prepare"))
		require.Equal(t, 1, startsOf(fleet, fresh, "join"))
		require.Equal(t, 1, fleet.Count(fresh, "apt-mark hold"))
	}
	w.members(id, 1, 3)
	w.completed(w.terminate(id))
	w.gone()
}

// startsOf counts how often a part of the script was started on a machine.
func startsOf(fleet *machine.Fleet, server, part string) int {
	n := 0
	for _, e := range fleet.Journal(server) {
		if e.Kind == "exec" && strings.HasPrefix(e.Line, "setsid --fork") && strings.Contains(e.Line, "-"+part+"-") {
			n++
		}
	}
	return n
}

// Nodes whose network is gone are healed like those without power, several at once; and a dead node does not prevent a
// heal or a scale of others.
func TestDeadNodesDoNotPreventAHealOfOthers(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("complex")))
	cut := func(vdu string, n int) string {
		server, vnfc := w.machineOf(id, vdu, n)
		require.NoError(t, fleet.Unreachable(server, true))
		return vnfc
	}
	worker, master := cut("workerNode", 0), cut("masterNode", 1)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{worker, master}}))
	w.members(id, 3, 2)
	w.balanced(id, fleet)

	server, other := w.machineOf(id, "workerNode", 1)
	fleet.PowerOff(server)
	op := w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeOut, 1))
	w.completed(op)
	require.True(t, slices.ContainsFunc(w.progress(op).Steps, func(s gybeapi.Step) bool {
		return strings.Contains(s.Detail, "left out, it has failed")
	}))
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{other}}))
	w.members(id, 3, 3)
	w.balanced(id, fleet)
	w.completed(w.terminate(id))
	w.gone()
}

// balanced wants every master's HAProxy to know just the masters that there are, every node's hosts file just the
// nodes, and etcd to have the masters as its members.
func (w *world) balanced(id string, fleet *machine.Fleet) {
	w.t.Helper()
	require.Len(w.t, fleet.Clusters(), 1)
	var members, ips []string
	for _, m := range fleet.Clusters()[0].Members() {
		members = append(members, m.Name)
	}
	list, err := nodes(w.t, w.ready(id))
	require.NoError(w.t, err)
	var hosts, masters []string
	for _, n := range list {
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				hosts = append(hosts, a.Address+" "+n.Name)
				if strings.HasPrefix(n.Name, "master") {
					masters, ips = append(masters, n.Name), append(ips, a.Address)
				}
			}
		}
	}
	require.ElementsMatch(w.t, masters, members)
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		fs := fleet.Machine(r.ComputeResource.ResourceID).FS()
		raw, err := fs.ReadFile("/etc/hosts")
		require.NoError(w.t, err)
		_, block, _ := strings.Cut(string(raw), "# BEGIN gybe cluster\n")
		block, _, _ = strings.Cut(block, "# END")
		require.ElementsMatch(w.t, hosts, strings.Split(strings.TrimSpace(block), "\n"))
		if r.VduID != "masterNode" {
			continue
		}
		raw, err = fs.ReadFile("/etc/haproxy/haproxy.cfg")
		require.NoError(w.t, err)
		var backends []string
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "server" {
				backends = append(backends, strings.TrimSuffix(f[2], ":6443"))
			}
		}
		require.ElementsMatch(w.t, ips, backends)
	}
}

// Another machine answers at the address of the only master: Gybe does not log in there. The user sees both keys, and
// decides.
func TestMasterWithAnotherHostKeyIsNotWorkedThrough(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	server, master := w.machineOf(id, "masterNode", 0)
	fleet.ChangeHostKeys(server)
	fleet.Reboot(server)
	logins := fleet.Count(server, "true")
	_, worker := w.machineOf(id, "workerNode", 0)
	op := w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{worker}})
	e := w.failed(op).Error
	require.Regexp(t, `SHA256:\S+.*SHA256:`, e.Detail)
	require.Contains(t, e.Detail, master)
	require.Contains(t, e.Hint, "forget")
	require.Equal(t, logins, fleet.Count(server, "true"))
	require.NoError(t, w.api.ForgetHostKey(t.Context(), id, master))
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	w.members(id, 1, 2)
	w.completed(w.terminate(id))
	w.gone()
}

// A script fails in the middle of a heal: its text is reported. A retry continues there, and nothing is done twice.
func TestHealThatFailsIsRetriedWhereItFailed(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("complex")))
	for _, vdu := range []string{"workerNode", "masterNode"} {
		fleet.Fail("", machine.Failure{
			Command: "kubeadm join", Stderr: "error execution phase kubelet-start: the disk is full",
		})
		dead, vnfc := w.machineOf(id, vdu, 0)
		fleet.PowerOff(dead)
		op := w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}})
		require.Contains(t, w.failed(op).Error.Detail, "the disk is full")
		fleet.ClearFailures("")
		require.NoError(t, w.api.Retry(t.Context(), op))
		w.completed(op)
		w.members(id, 3, 2)
		healed, _ := w.machineOf(id, vdu, 0)
		require.Equal(t, 1, fleet.Count(healed, "apt-mark hold"))
		w.balanced(id, fleet)
	}
	w.completed(w.terminate(id))
	w.gone()
}

// New machines refuse logins for a while, each in its own way. The operation reports for which one it waits, and
// continues by itself.
func TestNewNodesThatRefuseLoginsAtFirstAreWaitedFor(t *testing.T) {
	t.Parallel()
	cloud, fleet := machines.StartTest(t, simcloud.Options{}, machine.Options{
		SSHPort: sshPort, Delays: map[string]time.Duration{"boot": 3 * time.Second},
	})
	w := start(t, cloud, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	scale := func() string { return w.task(id, sol.LcmOperationScale, scaled(sol.ScaleTypeOut, 1)) }
	heal := func() string {
		dead, vnfc := w.machineOf(id, "workerNode", 0)
		fleet.PowerOff(dead)
		return w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}})
	}
	for _, tt := range []struct {
		begin func() string
		fault machine.SSHFault
		says  string
	}{
		{scale, machine.SSHFault{Refuse: true}, "connection refused"},
		{heal, machine.SSHFault{RejectLogins: -1}, "unable to authenticate"},
	} {
		known := fleet.Snapshot()
		op := tt.begin()
		fresh := ""
		require.Eventually(t, func() bool {
			for server := range fleet.Snapshot() {
				if _, old := known[server]; !old {
					fresh = server
				}
			}
			return fresh != ""
		}, patience, time.Millisecond)
		fleet.DisturbSSH(fresh, tt.fault)
		w.said(op, "waits for SSH on ubuntu@", tt.says)
		fleet.DisturbSSH(fresh, machine.SSHFault{})
		w.completed(op)
		require.Equal(t, 1, startsOf(fleet, fresh, "prepare"))
		require.Equal(t, 1, startsOf(fleet, fresh, "join"))
	}
	w.members(id, 1, 3)
	w.completed(w.terminate(id))
	w.gone()
}

// Most masters are lost, and with them etcd: what is left cannot be healed one by one, and says so. The whole VNF can.
func TestClusterThatHasLostMostMastersIsHealedAsAWhole(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("complex")))
	var lost []string
	for n := range 2 {
		server, vnfc := w.machineOf(id, "masterNode", n)
		fleet.PowerOff(server)
		lost = append(lost, vnfc)
	}
	op := w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": lost})
	e := w.failed(op).Error
	require.Contains(t, e.Detail, "run etcdctl on node master")
	require.Contains(t, e.Hint, "heal of the whole VNF")
	require.NoError(t, w.api.Fail(t.Context(), op))
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{}))
	w.members(id, 3, 2)
	w.balanced(id, fleet)
	w.completed(w.terminate(id))
	w.gone()
}

// What would cost the cluster its control plane is refused before anything is touched.
func TestHealsThatWouldLoseTheControlPlaneAreRefused(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	vnfd := w.onboard(clusterSource)
	for flavour, words := range map[string]string{
		"simple":  "The number of Master-Nodes is 1 or less",
		"complex": "The masters cannot all be healed at the same time",
	} {
		id := w.create(vnfd)
		w.completed(w.instantiate(id, w.cluster(flavour)))
		var masters []string
		for n := range map[string]int{"simple": 1, "complex": 3}[flavour] {
			_, vnfc := w.machineOf(id, "masterNode", n)
			masters = append(masters, vnfc)
		}
		_, err := w.api.Start(t.Context(), id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": masters})
		e := status(t, err, 422)
		require.Len(t, e.Problem.InvalidParams, 1)
		require.Equal(t, "/vnfcInstanceId", e.Problem.InvalidParams[0].Pointer)
		require.Contains(t, e.Problem.InvalidParams[0].Detail, words)
		w.completed(w.terminate(id))
	}
	w.gone()
}
