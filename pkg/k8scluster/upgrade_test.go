package k8scluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// grown is a cluster of three masters and two workers that is to be upgraded.
type grown struct {
	*machines
	instance *lcm.Instance
	cluster  *kubeapi.Cluster
}

func newGrown(t *testing.T) *grown {
	t.Helper()
	m := newMachinesAt(t, 8)
	s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), m.complex())
	advance(t, s, m.driver, execution.Tuning{})
	m.built(s)
	g := &grown{machines: m, instance: s.instance(t), cluster: m.fleet.Clusters()[0]}
	var req sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(paramFile(t, "complex"), &req))
	var err error
	g.instance.Params, err = req.AdditionalParams.Raw()
	require.NoError(t, err)
	g.instance.Instantiated = &sol.InstantiatedVnfInfo{FlavourID: "complex"}
	return g
}

// change is a change of the package to a version; more are further parameters.
func (g *grown) change(version string, more map[string]any) *store {
	g.t.Helper()
	param := map[string]any{"kubernetes_version": version}
	maps.Copy(param, more)
	body, err := json.Marshal(
		map[string]any{"vnfdId": "next", "additionalParams": map[string]any{k8scluster.ParamKey: param}},
	)
	require.NoError(g.t, err)
	s := newStore(g.t, sol.LcmOperationChangeVnfpkg, body, g.instance)
	s.op.VnfPkgID, s.op.Before, s.op.Scope, s.op.Try = "next", g.instance, &lcm.Scope{Flavour: "complex"}, 1
	return s
}

// retry is what the user does to a failed operation; back is a rollback.
func retry(s *store, back bool) {
	ev := lcm.EventRetry
	if back {
		ev = lcm.EventRollback
	}
	to, err := lcm.Next(&s.op, ev)
	if err != nil {
		panic(err)
	}
	if back || s.op.FailedIn == sol.LcmOperationStateRollingBack {
		s.op.Run++
		s.op.Phase, s.phase, s.steps = "", nil, map[string]*lcm.StepRecord{}
	}
	s.op.State, s.op.StateEntered = to, time.Now()
	s.op.Try++
}

// nodes are the nodes as the API has them, by name.
func (g *grown) nodes() map[string]kubernetes.Node {
	g.t.Helper()
	conns := slices.Collect(maps.Values(g.instance.VimConnections))
	a, err := kubernetes.FromVim(
		conns[slices.IndexFunc(conns, func(c sol.VimConnectionInfo) bool { return c.VimType == kubernetes.VimType })],
	)
	require.NoError(g.t, err)
	c, err := kubernetes.New(a.Config())
	require.NoError(g.t, err)
	defer c.Close()
	list, err := c.Nodes(g.t.Context())
	require.NoError(g.t, err)
	out := map[string]kubernetes.Node{}
	for _, n := range list {
		out[n.Name] = n
	}
	return out
}

// all wants every node open, Ready and at a version.
func (g *grown) all(version string) {
	g.t.Helper()
	nodes := g.nodes()
	require.Len(g.t, nodes, 5)
	for name, n := range nodes {
		require.Equal(g.t, version, n.Version, name)
		require.True(g.t, n.Ready, "%s: %s", name, n.Reason)
		require.False(g.t, n.Closed, "%s is still closed", name)
	}
}

var servers = []string{"masterNode-11", "masterNode-12", "masterNode-13", "workerNode-21", "workerNode-22"}

// upgrades says how often kubeadm has upgraded each machine.
func (g *grown) upgrades() map[string]int {
	out := map[string]int{}
	for _, id := range servers {
		out[id] = g.fleet.Count(id, "kubeadm upgrade")
	}
	return out
}

// each is the same number for all machines.
func each(n int) map[string]int {
	out := map[string]int{}
	for _, id := range servers {
		out[id] = n
	}
	return out
}

// apply makes an object in the cluster.
func (g *grown) apply(manifest string) {
	g.t.Helper()
	err := g.cluster.Apply(g.t.Context(), kubeapi.Admin, "default", []byte(manifest))
	require.NoError(g.t, err)
}

const guarded = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}}}`

func budget(least int) string {
	return fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"web"},"spec":{"minAvailable":%d,"selector":{"matchLabels":{"app":"web"}}}}`, least)
}

// Wherever a node of the VNFM dies, the next goes on: every machine is upgraded once, none joins again, none stays
// closed.
func TestUpgradeIsDoneOnceWhereverANodeDies(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	s := g.change("1.35", nil)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
	g.all("v1.35.4")
	require.Equal(t, each(1), g.upgrades())
	require.Equal(t, 1, g.fleet.Count("masterNode-11", "kubeadm upgrade apply"))
	writes := s.writes
	t.Logf("an upgrade has %d writes", writes)
	step := 8 // a cluster per death
	if testing.Short() {
		step = 29
	}
	for at := 1; at <= writes; at += step {
		t.Run(fmt.Sprint("write ", at), func(t *testing.T) {
			t.Parallel()
			g := newGrown(t)
			s := g.change("1.35", nil)
			s.dieAt = at
			advance(t, s, g.driver, execution.Tuning{})
			require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
			g.all("v1.35.4")
			require.Equal(t, each(1), g.upgrades())
			for _, id := range servers {
				require.LessOrEqual(t, g.fleet.Count(id, "kubeadm join"), 1, id)
			}
		})
	}
}

// A master that fails stops the upgrade. Once it works the upgrade goes on with it, and no other node is touched again.
func TestMasterThatFailsToUpgradeIsTheOneThatIsRetried(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	g.fleet.Fail("masterNode-12", simmachine.Failure{
		Command: "kubeadm upgrade node", Stderr: "error execution phase control-plane: no space left on device",
		Times: 2,
	})
	s := g.change("1.35", nil)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "upgrade node master12 of VNFC masterNode-12")
	require.Contains(t, s.op.Error.Detail, "no space left on device")
	nodes := g.nodes()
	require.Equal(t, "v1.35.4", nodes["master11"].Version)
	require.True(t, nodes["master12"].Closed, "it may be half upgraded")
	require.Equal(t, "v1.34.3", nodes["master13"].Version)
	retry(s, false)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	g.all("v1.35.4")
	require.Equal(t, each(1), g.upgrades())
}

// Once a node has the new version there is no way back. The refusal says so, changes nothing, and a retry passes over
// what is done.
func TestUpgradedNodesAreNotTakenBack(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	g.fleet.Fail("workerNode-22", simmachine.Failure{Command: "kubeadm upgrade node", Stderr: "error: no", Times: 2})
	s := g.change("1.35", nil)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	for range 2 {
		retry(s, true)
		advance(t, s, g.driver, execution.Tuning{})
		require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
		require.Contains(t, s.op.Error.Detail, "master11 has v1.35.4 and had v1.34.3")
		require.NotContains(t, s.op.Error.Detail, "worker22")
		require.Contains(t, s.op.Error.Hint, "retry the operation")
	}
	retry(s, false)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	g.all("v1.35.4")
	require.Equal(t, each(1), g.upgrades())
	require.Contains(t, s.stepDetail("upgrade node masterNode-11"), "has v1.35.4 already")
}

func (s *store) stepDetail(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.steps[key]; r != nil {
		return r.Detail
	}
	return ""
}

// A rollback before anything was upgraded opens what the operation has closed, and what its user had closed stays
// closed.
func TestRollbackBeforeTheUpgradeOpensTheNodes(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	status, _ := g.cluster.Do(t.Context(), kubeapi.Admin, http.MethodPatch, "/api/v1/nodes/worker21",
		"application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`))
	require.Equal(t, http.StatusOK, status)
	g.fleet.Fail("masterNode-11", simmachine.Failure{Command: "kubeadm upgrade", Stderr: "error: no"})
	s := g.change("1.35", nil)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.True(t, g.nodes()["master11"].Closed)
	retry(s, true)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateRolledBack, s.op.State, "%+v", s.op.Error)
	for name, n := range g.nodes() {
		require.Equal(t, "v1.34.3", n.Version, name)
		require.Equal(t, name == "worker21", n.Closed, name)
	}
}

// A node that its operator had closed before the upgrade is upgraded and stays closed.
func TestUpgradeKeepsANodeClosed(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	status, _ := g.cluster.Do(t.Context(), kubeapi.Admin, http.MethodPatch, "/api/v1/nodes/worker22",
		"application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`))
	require.Equal(t, http.StatusOK, status)
	s := g.change("1.35.1", map[string]any{"upgrade_batch": 2})
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	for name, n := range g.nodes() {
		require.Equal(t, "v1.35.1", n.Version, name)
		require.Equal(t, name == "worker22", n.Closed, name)
	}
}

// A disruption budget that allows no eviction stops the upgrade after the timeout, and the error names the pods. A
// relaxed budget lets it continue.
func TestUpgradeRespectsDisruptionBudgets(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	g.apply(guarded)
	g.apply(budget(2))
	s := g.change("1.35", map[string]any{"drain_timeout": 5}) // enough for the pods that may go, on a busy machine
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "node worker2")
	require.Contains(t, s.op.Error.Detail, "still has pods after 5s")
	require.Contains(t, s.op.Error.Detail, "default/web-")
	require.Equal(t, 0, g.upgrades()["workerNode-21"]+g.upgrades()["workerNode-22"])
	g.apply(budget(1))
	s.mu.Lock()
	s.op.Params = []byte(strings.Replace(string(s.op.Params), `"drain_timeout":5`, `"drain_timeout":60`, 1))
	s.mu.Unlock()
	retry(s, false)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	g.all("v1.35.4")
	require.Equal(t, each(1), g.upgrades())
}

// A pod that tolerates cordoned nodes is started on the same node again. The upgrade does not wait for its successor.
func TestUpgradeEvictsPodsThatTolerateCordonsOnce(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	// One pod for each node: the scheduler puts a successor where there is none, and that is the cordoned node.
	g.apply(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"agent"},"spec":{"replicas":5,
		"selector":{"matchLabels":{"app":"agent"}},"template":{"metadata":{"labels":{"app":"agent"}},"spec":{
		"tolerations":[{"operator":"Exists"}],"containers":[{"name":"agent","image":"agent:1"}]}}}}`)
	s := g.change("1.35", nil)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	g.all("v1.35.4")
	require.Equal(t, each(1), g.upgrades())
	require.Contains(t, s.stepDetail("drain node workerNode-21"), "only pods that tolerate cordoned nodes")
}

// A pod without a controller is not evicted, because it would not be started again.
func TestUpgradeEvictsNoPodWithoutAController(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	g.apply(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"alone"},"spec":{"nodeName":"worker21","containers":[{"name":"web","image":"web:1"}]}}`)
	s := g.change("1.35", nil)
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "default/alone")
	require.False(t, g.nodes()["worker21"].Closed)
	status, _ := g.cluster.Do(
		t.Context(), kubeapi.Admin, http.MethodGet, "/api/v1/namespaces/default/pods/alone", "", nil,
	)
	require.Equal(t, http.StatusOK, status)
}

// Versions that cannot be reached, and a cluster that is not healthy, are reported before any machine is changed.
func TestUpgradeLooksAtTheClusterFirst(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	for version, why := range map[string]string{
		"1.36": "1.36 is 2 minor versions newer", "1.34.2": "1.34.2 is older", "1.33": "1.33 is older",
	} {
		s := g.change(version, nil)
		advance(t, s, g.driver, execution.Tuning{})
		require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
		require.Equal(t, "change_current_package_start", s.op.Error.Phase)
		require.Contains(t, s.op.Error.Detail, why)
		retry(s, true)
		advance(t, s, g.driver, execution.Tuning{})
		require.Equal(t, sol.LcmOperationStateRolledBack, s.op.State, "%+v", s.op.Error)
	}
	require.Equal(t, each(0), g.upgrades())
	for _, version := range []string{"1.34", "1.34.3"} { // nothing to do
		s := g.change(version, nil)
		advance(t, s, g.driver, execution.Tuning{})
		require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	}
	require.Equal(t, each(0), g.upgrades())

	g.fleet.PowerOff("workerNode-22")
	require.Eventually(t, func() bool { return !g.cluster.NodeReady("worker22") }, time.Minute, 50*time.Millisecond)
	s := g.change("1.35", nil)
	impatient := func() *k8scluster.Driver { return g.driverWith(k8scluster.Options{CommandTimeout: 3 * time.Second}) }
	advance(t, s, impatient, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "worker22")
	require.Contains(t, s.op.Error.Hint, "heal the nodes that are not Ready")
	require.Equal(t, each(0), g.upgrades())
}

// A whole minor is upgraded to one patch on all nodes, also on those that come to it much later.
func TestPatchUpgradeAndOneVersionForAll(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	for _, version := range []string{"1.35.1", "1.35.2"} {
		s := g.change(version, nil)
		advance(t, s, g.driver, execution.Tuning{})
		require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
		g.all("v" + version)
	}
	require.Equal(t, each(2), g.upgrades())
}

// The API is away for a while in the middle: that is waited for.
func TestUpgradeWaitsForTheAPI(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	s := g.change("1.35", nil)
	masters := servers[:3]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil && g.fleet.Count("masterNode-12", "kubeadm upgrade node") == 0 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // watches a journal
		}
		for _, m := range masters {
			g.fleet.APIAway(m, true)
		}
		time.Sleep(time.Second) //nolint:forbidigo // 20 s of the machines' time
		for _, m := range masters {
			g.fleet.APIAway(m, false)
		}
	}()
	advance(t, s, g.driver, execution.Tuning{})
	cancel()
	<-done
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
	g.all("v1.35.4")
	require.Equal(t, each(1), g.upgrades())
}
