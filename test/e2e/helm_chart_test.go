package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// charts is a node with a cluster as its VIM for charts.
func charts(t *testing.T) *containers {
	t.Helper()
	w := startContainers(t)
	w.access.VimType = helm.VimType
	return w
}

// chartParams are the additionalParams of the sample chart, with others.
func chartParams(more map[string]any) map[string]any {
	out := map[string]any{
		"namespace": "default", "helm_chart_path": "Files/charts/web",
		"helm_value_names": map[string]any{"VDU1": map[string]any{"replica": "replicaCount"}},
	}
	maps.Copy(out, more)
	return out
}

// TestChartsChangeTheirFlavour: the release gets the number of pods of the new flavour, and VNFCs keep their ids.
func TestChartsChangeTheirFlavour(t *testing.T) {
	t.Parallel()
	w := charts(t)
	s := sourceOf(t, chartSource)
	s["Definitions/cnf_web_helm_df_large.yaml"] = strings.NewReplacer(
		"flavour_id: simple", "flavour_id: large", "number_of_instances: 2", "number_of_instances: 3",
	).Replace(s["Definitions/cnf_web_helm_df_simple.yaml"])
	s.edit(t, "Definitions/cnf_web_helm_types.yaml", "valid_values: [ simple ]", "valid_values: [ simple, large ]")
	s.edit(t, "Definitions/cnf_web_helm_top.vnfd.yaml", "  - cnf_web_helm_df_simple.yaml\n",
		"  - cnf_web_helm_df_simple.yaml\n  - cnf_web_helm_df_large.yaml\n")
	id := w.create(w.onboardShape(s, chartID, nil).VnfdID)
	w.completed(w.instantiate(id, w.request(chartParams(nil))))
	first := w.vnfcs(id)
	require.Len(t, first, 2)
	change := func(flavour string, vnfcs int) {
		w.completed(w.task(id, sol.LcmOperationChangeFlavour, map[string]any{"newFlavourId": flavour}))
		require.Equal(t, flavour, w.instance(id).InstantiatedVnfInfo.FlavourID)
		require.Len(t, w.vnfcs(id), vnfcs)
		require.Len(t, w.named("Pod", ""), vnfcs)
	}
	change("large", 3)
	large := w.vnfcs(id)
	require.Subset(t, large, first)
	change("simple", 2)
	require.Subset(t, large, w.vnfcs(id))
	w.completed(w.terminate(id))
	w.withoutChart()
}

// TestChartsThatAreWrong: an operation and a plan say why a chart cannot be rendered.
func TestChartsThatAreWrong(t *testing.T) {
	t.Parallel()
	w := charts(t)
	s := sourceOf(t, chartSource)
	s["Files/charts/web/values.schema.json"] = `{"properties": {"service": {"properties": {"port": {"maximum": 65535}}}}}
`
	s["Files/charts/web/templates/check.yaml"] = `{{ if .Values.name }}
{{ fail (printf "%s is not valid" .Values.name) }}
{{ end }}
`
	id := w.create(w.onboardShape(s, chartID, nil).VnfdID)
	for _, tt := range []struct {
		params map[string]any
		texts  []string
	}{
		{map[string]any{"service.port": 70000}, []string{"at '/service/port': maximum: got 70,000"}},
		{map[string]any{"name": "x y"}, []string{"templates/check.yaml", "x y is not valid"}},
	} {
		params := w.request(chartParams(map[string]any{"helm_parameters": tt.params}))
		plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
			VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, params),
		})
		require.NoError(t, err)
		require.False(t, plan.Possible)
		require.Equal(t, "FAILED", plan.Checks[0].State)
		op := w.instantiate(id, params)
		failed := w.failed(op)
		for _, text := range tt.texts {
			require.Contains(t, plan.Checks[0].Detail, text)
			require.Contains(t, failed.Error.Detail, text)
		}
		require.NoError(t, w.api.Rollback(t.Context(), op))
		require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
		w.withoutChart()
	}
}

// definition is a CustomResourceDefinition in the folder crds of a chart, and an object of its kind.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: sites, singular: site, kind: Site}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// TestChartWithDefinitions: a chart brings the kind of one of its objects. Helm leaves definitions in the cluster.
func TestChartWithDefinitions(t *testing.T) {
	t.Parallel()
	w := charts(t)
	s := sourceOf(t, chartSource)
	s["Files/charts/web/crds/site.yaml"] = definition
	s["Files/charts/web/templates/site.yaml"] = "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: home}\n"
	id := w.create(w.onboardShape(s, chartID, nil).VnfdID)
	plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, w.request(chartParams(nil))),
	})
	require.NoError(t, err)
	require.True(t, plan.Possible, "%+v", plan.Checks)
	require.True(t, slices.ContainsFunc(plan.Add, func(r gybeapi.PlannedResource) bool { return r.Type == "Site" }))
	w.completed(w.instantiate(id, w.request(chartParams(nil))))
	sites := func() []kubeapi.Object {
		all, _ := w.cluster.Store().List(kubeapi.Resource{
			Group: "example.com", Version: "v1", Kind: "Site", Plural: "sites", Namespaced: true, Custom: true,
		}, "default")
		return all
	}
	require.Len(t, sites(), 1)
	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "web"}))
	require.Len(t, w.vnfcs(id), 3)
	w.completed(w.terminate(id))
	w.withoutChart()
	require.Empty(t, sites())
	definitions, _ := w.cluster.Store().List(kubeapi.Kind("CustomResourceDefinition"), "")
	require.Len(t, definitions, 1)
}

// TestHealOfAChartWaitsForAllKinds: the heal of a whole CNF does not install the chart before objects of any kind are
// gone, and says what an object waits for. The volume would be taken for the one of the new release otherwise.
func TestHealOfAChartWaitsForAllKinds(t *testing.T) {
	t.Parallel()
	w := charts(t)
	s := sourceOf(t, chartSource)
	s["Files/charts/web/templates/volume.yaml"] = `apiVersion: v1
kind: PersistentVolume
metadata: {name: files, finalizers: [example.com/backup]}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  hostPath: {path: /srv/files}
`
	volumes := func() []kubeapi.Object {
		all, _ := w.cluster.Store().List(kubeapi.Kind("PersistentVolume"), "")
		return all
	}
	id := w.create(w.onboardShape(s, chartID, nil).VnfdID)
	w.completed(w.instantiate(id, w.request(chartParams(nil))))
	first := volumes()
	require.Len(t, first, 1)
	release := func(op string) {
		t.Helper()
		require.Eventually(t, func() bool {
			return strings.Contains(w.progress(op).Waiting,
				"PersistentVolume files is being deleted; its finalizers are [example.com/backup]")
		}, patience, interval)
		code, answer := w.cluster.Do(t.Context(), kubeapi.Admin, http.MethodPatch,
			kubeapi.Kind("PersistentVolume").Path("", "files"), "application/merge-patch+json",
			[]byte(`{"metadata": {"finalizers": null}}`))
		require.Equal(t, http.StatusOK, code, "%s", answer)
		w.completed(op)
	}
	release(w.task(id, sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}))
	second := volumes()
	require.Len(t, second, 1)
	require.NotEqual(t, kubeapi.String(first[0], "metadata", "uid"), kubeapi.String(second[0], "metadata", "uid"))
	release(w.terminate(id))
	require.Empty(t, volumes())
	w.withoutChart()
}

// TestTerminationLeavesWhatAnotherReleaseHasTaken: an object that belongs to another release and instance by now is not
// deleted, and the termination does not wait for it.
func TestTerminationLeavesWhatAnotherReleaseHasTaken(t *testing.T) {
	t.Parallel()
	w := charts(t)
	id := w.create(w.onboard(chartSource))
	w.completed(w.instantiate(id, w.request(chartParams(nil))))
	code, answer := w.cluster.Do(t.Context(), kubeapi.Admin, http.MethodPatch,
		kubeapi.Kind("ConfigMap").Path("default", "web-page"), "application/merge-patch+json",
		encode(t, map[string]any{"metadata": map[string]any{
			"labels":      map[string]any{"gybe.io/vnf-instance": "another"},
			"annotations": map[string]any{"meta.helm.sh/release-name": "another"},
		}}))
	require.Equal(t, http.StatusOK, code, "%s", answer)
	w.completed(w.terminate(id))
	require.Len(t, w.named("ConfigMap", "web-page"), 1)
	require.Empty(t, w.named("Deployment", ""))
	require.Empty(t, w.releaseSecrets())
}

// TestSeveralReleases: a request of version 1 names two releases. A scaling changes one of them, a heal of the whole
// CNF makes both again, and the termination takes both away.
func TestSeveralReleases(t *testing.T) {
	t.Parallel()
	w := charts(t)
	s := sourceOf(t, chartSource)
	for name, text := range s {
		rest, ok := strings.CutPrefix(name, "Files/charts/web/")
		if !ok {
			continue
		}
		text = strings.NewReplacer("name: web\n", "name: db\n", "name: web-page", "name: db-page").Replace(text)
		s["Files/charts/db/"+rest] = text
	}
	var made v1.VnfInstance
	w.v1(http.MethodPost, "", map[string]any{"vnfdId": w.onboardShape(s, chartID, nil).VnfdID}, 201, &made)
	id := "/" + made.ID
	release := func(name string) map[string]any {
		return map[string]any{
			"exthelmchart": "false", "helmchartfile_path": "Files/charts/" + name, "helmreleasename": name + "s",
		}
	}
	w.doneV1(id+"/instantiate", map[string]any{
		"flavourId": "simple",
		"vimConnectionInfo": []any{map[string]any{
			"id": "vim1", "vimType": "kubernetes",
			"interfaceInfo": w.access.InterfaceInfo, "accessInfo": w.access.AccessInfo,
		}},
		"additionalParams": map[string]any{
			"namespace": "default", "use_helm": true,
			"using_helm_install_param": []any{release("db"), release("web")},
			"helm_replica_values":      map[string]any{"web": "replicaCount"},
			"vdu_mapping": map[string]any{
				"VDU1": map[string]any{"kind": "Deployment", "name": "web", "helmreleasename": "webs"},
			},
		},
	})
	revisions := func() (names []string) {
		for _, o := range w.releaseSecrets() {
			names = append(names, strings.TrimPrefix(kubeapi.Name(o), "sh.helm.release.v1."))
		}
		return names
	}
	require.ElementsMatch(t, []string{"dbs.v1", "webs.v1"}, revisions())
	require.Len(t, w.serverIDs(made.ID), 2, "the pods of the other release are no VNFCs")
	require.Len(t, w.named("Pod", ""), 4)
	w.doneV1(id+"/scale", map[string]any{"type": "SCALE_OUT", "aspectId": "web"})
	require.Len(t, w.serverIDs(made.ID), 3)
	require.Len(t, w.named("Pod", ""), 5)
	was := w.serverIDs(made.ID)
	w.doneV1(id+"/heal", map[string]any{})
	require.ElementsMatch(t, []string{"dbs.v1", "webs.v1"}, revisions(), "both histories start again")
	require.Len(t, w.serverIDs(made.ID), 3)
	require.NotSubset(t, was, w.serverIDs(made.ID))
	w.doneV1(id+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
	w.withoutChart()
	require.Empty(t, w.named("Deployment", "db"))
}

// TestChartsInARegisteredCluster: a request of version 1 names a registered VIM of the type kubernetes by its id, and
// use_helm makes it one for charts.
func TestChartsInARegisteredCluster(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	vim, err := w.api.CreateVim(t.Context(), gybeapi.Vim{
		Name: "cluster", Type: "kubernetes", AuthURL: fmt.Sprint(w.access.InterfaceInfo["endpoint"]),
		AuthCred: w.credentials(), VimProject: sol.KeyValuePairs{},
	})
	require.NoError(t, err)
	var made v1.VnfInstance
	w.v1(http.MethodPost, "", map[string]any{"vnfdId": w.onboard(chartSource)}, 201, &made)
	id := "/" + made.ID
	w.doneV1(id+"/instantiate", map[string]any{
		"flavourId":         "simple",
		"vimConnectionInfo": []any{map[string]any{"id": "vim1", "vimId": vim.ID, "vimType": "kubernetes"}},
		"additionalParams": map[string]any{
			"use_helm": "true",
			"using_helm_install_param": []any{map[string]any{
				"exthelmchart": "false", "helmchartfile_path": "Files/charts/web", "helmreleasename": "pages",
			}},
			"helm_replica_values": map[string]any{"web": "replicaCount"},
			"vdu_mapping":         map[string]any{"VDU1": map[string]any{"kind": "Deployment", "name": "web"}},
		},
	})
	require.Len(t, w.serverIDs(made.ID), 2)
	w.doneV1(id+"/scale", map[string]any{"type": "SCALE_OUT", "aspectId": "web"})
	require.Len(t, w.serverIDs(made.ID), 3)
	w.doneV1(id+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
	w.withoutChart()
}

// TestChartsInAClusterOfAnInstance: a CNF from a chart names the VNF instance that has made its cluster, works after
// the cluster was healed as a whole, and keeps the cluster from a graceful termination.
func TestChartsInAClusterOfAnInstance(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	cluster := w.create(w.onboard(clusterSource))
	cnf := w.create(w.onboard(chartSource))
	w.completed(w.instantiate(cluster, w.cluster("simple")))
	w.completed(w.instantiate(cnf, map[string]any{
		"flavourId":         "simple",
		"vimConnectionInfo": map[string]any{"vim1": map[string]any{"vimId": cluster, "vimType": helm.VimType}},
		"additionalParams":  chartParams(nil),
	}))
	require.Len(t, w.serverIDs(cnf), 2)
	require.Equal(t, helm.VimType, w.instance(cnf).VimConnectionInfo["vim1"].VimType)

	w.completed(w.task(cluster, sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}))
	w.completed(w.task(cnf, sol.LcmOperationHeal, map[string]any{}))
	w.completed(w.task(cnf, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "web"}))
	require.Len(t, w.serverIDs(cnf), 3)

	_, err := w.api.Terminate(t.Context(), cluster, sol.TerminateVnfRequest{
		TerminationType: sol.TerminationTypeGraceful,
	})
	require.Contains(t, refusedAt(t, http.StatusConflict, err).Problem.Detail, cnf)
	w.completed(w.terminate(cnf))
	w.completed(w.terminate(cluster))
	w.gone()
}

// credentials are those of the cluster in the form in which VIMs are registered.
func (c *containers) credentials() sol.KeyValuePairs {
	out := maps.Clone(c.access.AccessInfo)
	out["ssl_ca_cert"] = c.access.InterfaceInfo["ssl_ca_cert"]
	return out
}

// TestHealOfAChartIsRetried: the heal of a whole CNF fails after the old release is gone. A retry makes the release
// again, with the numbers of VNFCs from before.
func TestHealOfAChartIsRetried(t *testing.T) {
	t.Parallel()
	w := charts(t)
	id := w.create(w.onboard(chartSource))
	w.completed(w.instantiate(id, w.request(chartParams(nil))))
	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "web"}))
	was := w.serverIDs(id)
	w.cluster.SetWebhook("no owner")
	op := w.task(id, sol.LcmOperationHeal, map[string]any{})
	require.Contains(t, w.failed(op).Error.Detail, "denied the request: no owner")
	require.Empty(t, w.named("Pod", ""))
	w.cluster.SetWebhook("")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	require.Len(t, w.serverIDs(id), 3)
	require.NotSubset(t, was, w.serverIDs(id))
	require.Len(t, w.named("Pod", ""), 3)
	w.completed(w.terminate(id))
	w.withoutChart()
}

// TestChartsAreStoppedAndStarted: a stopped CNF has no pods and keeps its VNFCs. It can be healed, but not scaled. A
// start that fails is rolled back.
func TestChartsAreStoppedAndStarted(t *testing.T) {
	t.Parallel()
	w := charts(t)
	id := w.create(w.onboard(chartSource))
	w.completed(w.instantiate(id, w.request(chartParams(nil))))
	first := w.vnfcs(id)
	stop, start := map[string]any{"changeStateTo": "STOPPED"}, map[string]any{"changeStateTo": "STARTED"}
	state := func(want sol.VnfOperationalState) {
		t.Helper()
		info := w.instance(id).InstantiatedVnfInfo
		require.Equal(t, want, info.VnfState)
		require.ElementsMatch(t, first, w.vnfcs(id))
		for _, c := range info.VnfcInfo {
			require.Equal(t, want, c.VnfcState)
		}
		if want == sol.VnfOperationalStateStopped {
			require.Empty(t, w.named("Pod", ""))
			return
		}
		require.Len(t, w.named("Pod", ""), len(first))
	}
	plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationOperate, Params: encode(t, stop),
	})
	require.NoError(t, err)
	require.Len(t, plan.Change, 1)
	require.Contains(t, plan.Change[0].Detail, "spec.replicas: 2 -> 0")
	w.completed(w.task(id, sol.LcmOperationOperate, stop))
	state(sol.VnfOperationalStateStopped)
	_, err = w.api.Start(t.Context(), id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "web"})
	e := refusedAt(t, http.StatusUnprocessableEntity, err)
	require.Equal(t, "/aspectId", e.Problem.InvalidParams[0].Pointer)
	require.Contains(t, e.Problem.Detail, "start it before")

	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{}))
	state(sol.VnfOperationalStateStopped)
	w.cluster.AddFault(kubeapi.Fault{
		Method: http.MethodPatch, Path: "/deployments/web", Status: http.StatusForbidden, Message: "not now",
	})
	op := w.task(id, sol.LcmOperationOperate, start)
	require.Contains(t, w.failed(op).Error.Detail, "not now")
	w.cluster.ClearFaults()
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	state(sol.VnfOperationalStateStopped)
	w.completed(w.task(id, sol.LcmOperationOperate, start))
	state(sol.VnfOperationalStateStarted)

	w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{
		"changeStateTo": "STOPPED", "stopType": "GRACEFUL", "gracefulStopTimeout": 1,
	}))
	state(sol.VnfOperationalStateStopped)
	w.completed(w.terminate(id))
	w.withoutChart()
}

// TestChartWithoutNumbersIsNotStopped: the parameters do not say which value has the number of VNFCs.
func TestChartWithoutNumbersIsNotStopped(t *testing.T) {
	t.Parallel()
	w := charts(t)
	id := w.create(w.onboard(chartSource))
	w.completed(w.instantiate(id, w.request(map[string]any{"helm_chart_path": "Files/charts/web"})))
	_, err := w.api.Start(t.Context(), id, sol.LcmOperationOperate, map[string]any{"changeStateTo": "STOPPED"})
	e := refusedAt(t, http.StatusUnprocessableEntity, err)
	require.Equal(t, "/changeStateTo", e.Problem.InvalidParams[0].Pointer)
	require.Contains(t, e.Problem.Detail, "helm_value_names")
	w.completed(w.terminate(id))
}
