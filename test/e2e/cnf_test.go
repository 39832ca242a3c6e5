package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// containers is a node with a cluster as its VIM.
type containers struct {
	*world
	cluster *kubeapi.Cluster
	access  sol.VimConnectionInfo
}

func startContainers(t *testing.T) *containers {
	t.Helper()
	sim, url := kubeapi.StartTest(t)
	sim.CNIInstalled(true)
	sim.AddNode(kubeapi.NodeSpec{Name: "worker1", IP: "10.0.0.2"})
	cred, err := sim.IssueClient("admin", "system:masters")
	require.NoError(t, err)
	return &containers{
		world: start(t, simcloud.StartTest(t, simcloud.Options{}), nil), cluster: sim,
		access: kubernetes.Access{Endpoint: url, CA: sim.CAPEM(), Certificate: cred.Certificate, Key: cred.Key}.Vim(),
	}
}

// named lists the objects of a kind in the namespace default with a name; "" = all.
func (c *containers) named(kind, name string) (out []kubeapi.Object) {
	all, _ := c.cluster.Store().List(kubeapi.Kind(kind), "default")
	for _, o := range all {
		if name == "" || kubeapi.Name(o) == name {
			out = append(out, o)
		}
	}
	return out
}

// The package of containers: its flavour file, and the ids of its VNFD before and after a change of the package.
const (
	cnfSource  = "../../vnf-packages/cnf-nodeport"
	cnfFlavour = "Definitions/cnf_nodeport_df_simple.yaml"
	cnfID      = "babb0ce7-ebca-4fa7-95ed-4840d70a1177"
	cnfNext    = "babb0ce7-ebca-4fa7-95ed-4840d70a1178"
)

// cnfWithout is the package without the mgmt driver for load balancers.
func cnfWithout(t *testing.T) source {
	t.Helper()
	s := sourceOf(t, cnfSource)
	before, rest, found := strings.Cut(s[cnfFlavour], "      interfaces:\n")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "    VDU1:\n")
	require.True(t, found)
	s[cnfFlavour] = before + "    VDU1:\n" + after
	return s
}

// manifests are the additionalParams with all manifests of the package, or with some.
func manifests(names ...string) map[string]any {
	if names == nil {
		names = []string{"deployment", "service_with_nodeport", "service_without_nodeport"}
	}
	var files []string
	for _, n := range names {
		files = append(files, "Files/kubernetes/"+n+".yaml")
	}
	return map[string]any{"lcm-kubernetes-def-files": files}
}

// TestContainersOverTheAPI: a package of containers lives its whole life through the API.
func TestContainersOverTheAPI(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	s := cnfWithout(t)
	id := w.create(w.onboardShape(s, cnfID, nil).VnfdID)
	params := map[string]any{
		"flavourId": "simple", "vimConnectionInfo": map[string]any{"vim1": w.access}, "additionalParams": manifests(),
	}
	plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, params),
	})
	require.NoError(t, err)
	require.True(t, plan.Possible)
	require.Len(t, plan.Add, 4, "a pod and three objects")
	require.Empty(t, w.named("Pod", ""), "a plan changes nothing")
	w.completed(w.instantiate(id, params))
	require.Len(t, w.serverIDs(id), 1)
	require.Len(t, w.named("Service", "nginx-service"), 1)

	scale := func(direction sol.ScaleType, steps int) {
		w.completed(w.task(id, sol.LcmOperationScale, map[string]any{
			"type": direction, "aspectId": "vdu1_aspect", "numberOfSteps": steps,
		}))
	}
	scale(sol.ScaleTypeOut, 2)
	was := w.serverIDs(id)
	require.Len(t, was, 3)
	healed := w.instance(id).InstantiatedVnfInfo.VnfcInfo[1].ID
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{healed}}))
	require.Len(t, w.serverIDs(id), 3)
	require.NotEqual(t, was, w.serverIDs(id))
	stop := w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{
		"changeStateTo": "STOPPED", "stopType": "GRACEFUL", "gracefulStopTimeout": 1,
	}))
	require.Contains(t, string(encode(t, w.progress(stop.ID).Steps)), "graceful stop")
	require.Empty(t, w.named("Pod", ""))
	w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{"changeStateTo": "STARTED"}))
	require.Len(t, w.named("Pod", ""), 3)
	scale(sol.ScaleTypeIn, 1)
	require.Len(t, w.serverIDs(id), 2)

	// Another image, and a Service less.
	s.edit(t, "Files/kubernetes/deployment.yaml", "image: nginx", "image: nginx:2")
	s.edit(t, "Definitions/*.yaml", cnfID, cnfNext)
	w.onboardShape(s, cnfNext, nil)
	w.completed(w.task(id, sol.LcmOperationChangeVnfpkg, map[string]any{
		"vnfdId": cnfNext, "additionalParams": manifests("deployment"),
	}))
	require.Len(t, w.serverIDs(id), 2)
	require.Empty(t, w.named("Service", "nginx-service"), "the manifests do not have it any more")
	for _, p := range w.named("Pod", "") {
		require.Contains(t, string(encode(t, p)), "nginx:2")
	}

	before := w.serverIDs(id)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{}))
	require.Len(t, w.serverIDs(id), 2)
	require.NotSubset(t, before, w.serverIDs(id))
	w.completed(w.terminate(id))
	require.Empty(t, w.named("Pod", ""))
	require.Empty(t, w.named("Deployment", ""))
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))
}

// TestUnavailableClusterIsShown: a cluster that does not answer counts as an unavailable VIM of the node.
func TestUnavailableClusterIsShown(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	id := w.create(w.onboard("../../vnf-packages/cnf-web"))
	plan := func() {
		_, _ = w.api.Plan(t.Context(), gybeapi.PlanRequest{ // it reports the parts that it could not check
			VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, map[string]any{
				"flavourId": "simple", "vimConnectionInfo": map[string]any{"vim1": w.access},
			}),
		})
	}
	unavailable := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			plan()
			all, err := w.api.Nodes(t.Context())
			require.NoError(t, err)
			return all[0].UnavailableVims == n
		}, patience, interval)
	}
	w.cluster.AddFault(kubeapi.Fault{}) // it breaks connections, except those of health checks
	unavailable(1)
	w.cluster.ClearFaults()
	unavailable(0)
}

// TestContainersOfSOL001Version4: a VNFD with Vdu.OsContainerDeployableUnit and Mciop needs no names of manifests in
// requests.
func TestContainersOfSOL001Version4(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	id := w.create(w.onboard("../../vnf-packages/cnf-web"))
	params := map[string]any{"flavourId": "simple", "vimConnectionInfo": map[string]any{"vim1": w.access}}
	w.completed(w.instantiate(id, params))
	require.Len(t, w.serverIDs(id), 2)
	require.Len(t, w.named("Service", "web"), 1)
	require.Len(t, w.named("ConfigMap", "web-page"), 1)
	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "web"}))
	was := w.serverIDs(id)
	require.Len(t, was, 3)
	healed := w.instance(id).InstantiatedVnfInfo.VnfcInfo[0].ID
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{healed}}))
	require.Len(t, w.serverIDs(id), 3)
	require.NotEqual(t, was, w.serverIDs(id))
	w.completed(w.terminate(id))
	for _, kind := range []string{"Pod", "Deployment"} {
		require.Empty(t, w.named(kind, ""), kind)
	}
	require.Empty(t, w.named("ConfigMap", "web-page"))
}
