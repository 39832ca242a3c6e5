package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// The package with a chart: the ids of its VNFD before and after a change of the package, and the manifest that the
// changed chart does not have.
const (
	chartSource  = "../../vnf-packages/cnf-web-helm"
	chartID      = "2ad3f2c5-9b0c-4c8d-9b3f-8b9d8c2f6d41"
	chartNext    = "2ad3f2c5-9b0c-4c8d-9b3f-8b9d8c2f6d42"
	chartService = "Files/charts/web/templates/service.yaml"
)

// releaseSecrets are the Secrets in which Helm keeps the revisions of releases.
func (c *containers) releaseSecrets() (out []kubeapi.Object) {
	for _, s := range c.named("Secret", "") {
		if strings.HasPrefix(kubeapi.Name(s), "sh.helm.release.") {
			out = append(out, s)
		}
	}
	return out
}

// withoutChart wants nothing of the chart to be in the cluster.
func (c *containers) withoutChart() {
	c.t.Helper()
	for _, kind := range []string{"Deployment", "Pod"} {
		require.Empty(c.t, c.named(kind, ""), kind)
	}
	require.Empty(c.t, c.named("Service", "web"))
	require.Empty(c.t, c.named("ConfigMap", "web-page"))
	require.Empty(c.t, c.releaseSecrets())
}

// TestChartsOverTheAPI: a package with a Helm chart lives its whole life through the API.
func TestChartsOverTheAPI(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	w.access.VimType = helm.VimType
	s := sourceOf(t, chartSource)
	id := w.create(w.onboardShape(s, chartID, nil).VnfdID)
	params := map[string]any{
		"flavourId": "simple", "vimConnectionInfo": map[string]any{"vim1": w.access},
		"additionalParams": map[string]any{
			"namespace": "default", "helm_chart_path": "Files/charts/web",
			"helm_parameters":  map[string]any{"page": "Hello, world."},
			"helm_value_names": map[string]any{"VDU1": map[string]any{"replica": "replicaCount"}},
		},
	}
	plan, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, params),
	})
	require.NoError(t, err)
	require.True(t, plan.Possible)
	require.NotEmpty(t, plan.Add)
	w.withoutChart()

	w.completed(w.instantiate(id, params))
	require.Len(t, w.serverIDs(id), 2)
	require.Len(t, w.named("Service", "web"), 1)
	pages := w.named("ConfigMap", "web-page")
	require.Len(t, pages, 1)
	require.Contains(t, string(encode(t, pages[0])), "Hello, world.")

	scale := func(direction sol.ScaleType) {
		w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": direction, "aspectId": "web"}))
	}
	scale(sol.ScaleTypeOut)
	was := w.serverIDs(id)
	require.Len(t, was, 3)
	vnfc := w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo[1]
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc.ID}}))
	healed := w.serverIDs(id)
	require.Len(t, healed, 3)
	require.NotEqual(t, was, healed)
	scale(sol.ScaleTypeIn)
	require.Len(t, w.serverIDs(id), 2)
	require.Subset(t, healed, w.serverIDs(id))

	// Another version of the chart: another image, and no Service.
	s.edit(t, "Files/charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	s.edit(t, "Files/charts/web/values.yaml", `tag: "1.27"`, `tag: "1.28"`)
	delete(s, chartService)
	s.edit(t, metaFile, "Name: "+chartService+"\nContent-Type: application/x-iso9066-yaml\n\n", "")
	for name, text := range s {
		s[name] = strings.ReplaceAll(text, chartID, chartNext)
	}
	w.onboardShape(s, chartNext, nil)
	w.completed(w.task(id, sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": chartNext}))
	require.Len(t, w.serverIDs(id), 2)
	require.Empty(t, w.named("Service", "web"), "the chart does not have it any more")
	pods := w.named("Pod", "")
	require.Len(t, pods, 2)
	for _, p := range pods {
		require.Contains(t, string(encode(t, p)), "nginx:1.28")
	}
	require.Contains(t, string(encode(t, w.named("ConfigMap", "web-page")[0])), "Hello, world.", "parameters stay")

	before, deployment := w.serverIDs(id), kubeapi.String(w.named("Deployment", "web")[0], "metadata", "uid")
	plan, err = w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationHeal, Params: encode(t, map[string]any{}),
	})
	require.NoError(t, err)
	require.Len(t, plan.Replace, 4, "two pods, a Deployment and a ConfigMap")
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{}))
	require.Len(t, w.serverIDs(id), 2)
	for _, pod := range w.serverIDs(id) {
		require.NotContains(t, before, pod)
	}
	deployments := w.named("Deployment", "web")
	require.Len(t, deployments, 1)
	require.NotEqual(t, deployment, kubeapi.String(deployments[0], "metadata", "uid"))
	require.Len(t, w.releaseSecrets(), 1, "the history starts again")

	w.completed(w.terminate(id))
	w.withoutChart()
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))
}

// TestChartsThroughVersion1: requests of version 1 have a connection of type kubernetes and use_helm.
func TestChartsThroughVersion1(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	var made v1.VnfInstance
	w.v1(http.MethodPost, "", map[string]any{"vnfdId": w.onboard(chartSource)}, 201, &made)
	id := "/" + made.ID
	w.doneV1(id+"/instantiate", map[string]any{
		"flavourId": "simple",
		"vimConnectionInfo": []any{map[string]any{
			"id": "vim1", "vimType": "kubernetes",
			"interfaceInfo": w.access.InterfaceInfo, "accessInfo": w.access.AccessInfo,
		}},
		"additionalParams": map[string]any{
			"namespace": "default", "use_helm": "true",
			"using_helm_install_param": []any{map[string]any{
				"exthelmchart": "false", "helmchartfile_path": "Files/charts/web", "helmreleasename": "pages",
				"helmparameter": []string{"service.port=8081"},
			}},
			"helm_replica_values": map[string]any{"web": "replicaCount"},
			"vdu_mapping": map[string]any{
				"VDU1": map[string]any{"kind": "Deployment", "name": "web", "helmreleasename": "pages"},
			},
		},
	})
	require.Len(t, w.serverIDs(made.ID), 2)
	services := w.named("Service", "web")
	require.Len(t, services, 1)
	require.Contains(t, string(encode(t, services[0])), "8081")
	require.Len(t, w.releaseSecrets(), 1)
	require.Contains(t, kubeapi.Name(w.releaseSecrets()[0]), ".pages.")
	w.doneV1(id+"/scale", map[string]any{"type": "SCALE_OUT", "aspectId": "web", "numberOfSteps": "1"})
	require.Len(t, w.serverIDs(made.ID), 3)
	w.doneV1(id+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
	w.withoutChart()
	w.v1(http.MethodDelete, id, nil, 204, nil)
}
