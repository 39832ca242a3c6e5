package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

const (
	cnfWebSource  = "../../vnf-packages/cnf-web"
	cnfWebFlavour = "Definitions/cnf_web_df_simple.yaml"
	cnfWebID      = "6c1f1b0e-2f6f-4a83-9a3b-1c6e7d1f0a52"
	cnfWebImage   = "docker.io/library/nginx:1.27"
)

// request is the instantiation of a CNF in the cluster.
func (c *containers) request(params map[string]any) map[string]any {
	out := map[string]any{"flavourId": "simple", "vimConnectionInfo": map[string]any{"vim1": c.access}}
	if params != nil {
		out["additionalParams"] = params
	}
	return out
}

// vnfcs are the ids of the VNFCs of an instance.
func (w *world) vnfcs(id string) (ids []string) {
	w.t.Helper()
	for _, c := range w.instance(id).InstantiatedVnfInfo.VnfcInfo {
		ids = append(ids, c.ID)
	}
	return ids
}

// TestContainersChangeTheirFlavour: the manifests of the new flavour are applied, an object that it does not have is
// deleted, and VNFCs keep their ids.
func TestContainersChangeTheirFlavour(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	s := sourceOf(t, cnfWebSource)
	const large, deployment = "Definitions/cnf_web_df_large.yaml", "Files/kubernetes/deployment.yaml"
	s[large] = strings.NewReplacer(
		"flavour_id: simple", "flavour_id: large", "number_of_instances: 2", "number_of_instances: 3",
		"deployment.yaml", "large.yaml",
		"        service: { type: tosca.artifacts.File, file: ../Files/kubernetes/service.yaml }\n", "",
	).Replace(s[cnfWebFlavour])
	s["Files/kubernetes/large.yaml"] = strings.Replace(s[deployment], "nginx:1.27", "nginx:1.28", 1)
	s.edit(t, "Definitions/cnf_web_types.yaml", "valid_values: [ simple ]", "valid_values: [ simple, large ]")
	s.edit(t, "Definitions/cnf_web_top.vnfd.yaml", "  - cnf_web_df_simple.yaml\n",
		"  - cnf_web_df_simple.yaml\n  - cnf_web_df_large.yaml\n")
	id := w.create(w.onboardShape(s, cnfWebID, nil).VnfdID)
	w.completed(w.instantiate(id, w.request(nil)))
	require.ElementsMatch(t, []string{"VDU1-0", "VDU1-1"}, w.vnfcs(id))
	require.Len(t, w.named("Service", "web"), 1)

	shown, _, code := w.gybe("vnf", "change-flavour", id, "--flavour", "large", "--plan")
	require.Zero(t, code, shown)
	require.Contains(t, shown, "spec.replicas: 2 -> 3; ")
	require.Contains(t, shown, ".image: "+cnfWebImage+" -> docker.io/library/nginx:1.28")
	require.Len(t, w.named("Service", "web"), 1, "a plan changes nothing")
	w.completed(w.task(id, sol.LcmOperationChangeFlavour, map[string]any{"newFlavourId": "large"}))
	require.Equal(t, "large", w.instance(id).InstantiatedVnfInfo.FlavourID)
	require.ElementsMatch(t, []string{"VDU1-0", "VDU1-1", "VDU1-2"}, w.vnfcs(id))
	require.Empty(t, w.named("Service", "web"), "the flavour does not have it")
	require.Len(t, w.named("ConfigMap", "web-page"), 1)
	for _, p := range w.named("Pod", "") {
		require.Contains(t, string(encode(t, p)), "nginx:1.28")
	}

	w.completed(w.task(id, sol.LcmOperationChangeFlavour, map[string]any{"newFlavourId": "simple"}))
	require.ElementsMatch(t, []string{"VDU1-0", "VDU1-1"}, w.vnfcs(id))
	require.Len(t, w.named("Service", "web"), 1)
	w.completed(w.terminate(id))
	require.Empty(t, w.named("Pod", ""))
}

// TestReplicaSetsGetTheirNewTemplate: a ReplicaSet keeps its pods when its template changes, so a change deletes those
// of the old one, and so does its rollback. VNFCs keep their ids.
func TestReplicaSetsGetTheirNewTemplate(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	const manifest = "Files/kubernetes/deployment.yaml"
	s := sourceOf(t, cnfWebSource)
	s.edit(t, manifest, "kind: Deployment", "kind: ReplicaSet")
	s.edit(t, cnfWebFlavour, "type: Deployment", "type: ReplicaSet")
	id := w.create(w.onboardShape(s, cnfWebID, nil).VnfdID)
	w.completed(w.instantiate(id, w.request(nil)))
	vnfcs, first := w.vnfcs(id), w.serverIDs(id)

	const next, newer = "6c1f1b0e-2f6f-4a83-9a3b-1c6e7d1f0a53", "docker.io/library/nginx:1.28"
	s.edit(t, manifest, cnfWebImage, newer)
	s.edit(t, "Definitions/cnf_web_top.vnfd.yaml", cnfWebID, next)
	s.edit(t, "Definitions/cnf_web_types.yaml", cnfWebID, next)
	w.onboardShape(s, next, nil)
	images := func(want string) {
		t.Helper()
		require.Len(t, w.named("Pod", ""), 2)
		for _, p := range w.named("Pod", "") {
			require.Contains(t, string(encode(t, p)), want)
		}
		require.ElementsMatch(t, vnfcs, w.vnfcs(id))
	}
	w.cluster.SetImageFault(newer, kubeapi.ImagePullFault)
	op := w.task(id, sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": next})
	require.Eventually(t, func() bool {
		return strings.Contains(w.progress(op).Waiting, "ImagePullBackOff")
	}, patience, interval)
	require.Len(t, running(w.named("Pod", "")), 1, "one pod is replaced at a time")
	require.NoError(t, w.api.Cancel(t.Context(), op, sol.CancelModeForceful))
	w.failed(op)
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	images(cnfWebImage)

	w.cluster.SetImageFault(newer, kubeapi.NoPodFault)
	w.completed(w.task(id, sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": next}))
	images(newer)
	for _, pod := range w.serverIDs(id) {
		require.NotContains(t, first, pod)
	}
	w.completed(w.terminate(id))
	require.Empty(t, w.named("Pod", ""))
}

// running are the pods that are ready.
func running(pods []kubeapi.Object) (out []kubeapi.Object) {
	for _, p := range pods {
		if kubeapi.String(p, "status", "phase") == "Running" {
			out = append(out, p)
		}
	}
	return out
}

// TestAutoscalerChangesTheNumberOfPods: operations take over the number of pods that an autoscaler has set, give the
// new pods ids, and do not set another number.
func TestAutoscalerChangesTheNumberOfPods(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	s := cnfWithout(t)
	s["Files/kubernetes/hpa.yaml"] = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: curry-probe-test001}
spec:
  minReplicas: 1
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ` + nameOf(t, s["Files/kubernetes/deployment.yaml"]) + `}
`
	id := w.create(w.onboardShape(s, cnfID, nil).VnfdID)
	w.completed(w.instantiate(id, w.request(manifests("deployment", "hpa"))))
	require.Equal(t, []string{"VDU1-0"}, w.vnfcs(id))
	first := w.serverIDs(id)

	w.autoscale(3)
	_, err := w.api.Start(t.Context(), id, sol.LcmOperationScale, map[string]any{
		"type": "SCALE_OUT", "aspectId": "vdu1_aspect",
	})
	e := refusedAt(t, http.StatusUnprocessableEntity, err)
	require.Equal(t, "/aspectId", e.Problem.InvalidParams[0].Pointer)
	require.Contains(t, e.Problem.InvalidParams[0].Detail, "HorizontalPodAutoscaler")
	require.Len(t, w.named("Pod", ""), 3)

	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{"VDU1-0"}}))
	require.Len(t, w.named("Pod", ""), 3, "a heal leaves the number to the autoscaler")
	require.ElementsMatch(t, []string{"VDU1-0", "VDU1-1", "VDU1-2"}, w.vnfcs(id))
	require.NotContains(t, w.serverIDs(id), first[0])
	healed := w.serverIDs(id)

	w.autoscale(2)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{
		"vnfcInstanceId": []string{"VDU1-2"}, "additionalParams": map[string]any{"all": false},
	}))
	require.Len(t, w.named("Pod", ""), 2)
	require.Len(t, w.vnfcs(id), 2)
	require.Subset(t, []string{"VDU1-0", "VDU1-1", "VDU1-2"}, w.vnfcs(id))
	require.NotEqual(t, healed, w.serverIDs(id))
	w.completed(w.terminate(id))
	require.Empty(t, w.named("Pod", ""))
}

// nameOf is the name of the object of a manifest.
func nameOf(t *testing.T, manifest string) string {
	t.Helper()
	list, err := objects.Parse("manifest.yaml", []byte(manifest))
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0].GetName()
}

// autoscale sets the number of pods of the only Deployment as an autoscaler does, and waits for them.
func (c *containers) autoscale(replicas int) {
	c.t.Helper()
	all := c.named("Deployment", "")
	require.Len(c.t, all, 1)
	path := kubeapi.Kind("Deployment").Path("default", kubeapi.Name(all[0])) + "/scale"
	body := encode(c.t, map[string]any{"spec": map[string]any{"replicas": replicas}})
	code, answer := c.cluster.Do(
		c.t.Context(), kubeapi.Admin, http.MethodPatch, path, "application/merge-patch+json", body,
	)
	require.Equal(c.t, http.StatusOK, code, "%s", answer)
	require.Eventually(c.t, func() bool { return len(c.named("Pod", "")) == replicas }, patience, interval)
}

// TestContainersAreCancelled: an operation that waits for an image is cancelled, and goes on or back.
func TestContainersAreCancelled(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	id := w.create(w.onboard(cnfWebSource))
	w.completed(w.instantiate(id, w.request(nil)))
	out := map[string]any{"type": "SCALE_OUT", "aspectId": "web"}
	cancelled := func(mode sol.CancelModeType) string {
		t.Helper()
		w.cluster.SetImageFault(cnfWebImage, kubeapi.ImagePullFault)
		op := w.task(id, sol.LcmOperationScale, out)
		require.Eventually(t, func() bool {
			return strings.Contains(w.progress(op).Waiting, "ImagePullBackOff")
		}, patience, interval, "the operation says what it waits for")
		require.NoError(t, w.api.Cancel(t.Context(), op, mode))
		if mode == sol.CancelModeGraceful { // it waits until the cluster has done the step
			w.cluster.SetImageFault(cnfWebImage, kubeapi.NoPodFault)
		}
		require.Contains(t, w.failed(op).Error.Detail, "ancelled")
		w.cluster.SetImageFault(cnfWebImage, kubeapi.NoPodFault)
		return op
	}
	op := cancelled(sol.CancelModeForceful)
	require.Len(t, w.named("Pod", ""), 2, "pods that did not run are taken away")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	require.Len(t, w.vnfcs(id), 3)

	op = cancelled(sol.CancelModeGraceful)
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	require.Len(t, w.vnfcs(id), 3)
	w.completed(w.terminate(id))
	require.Empty(t, w.named("Pod", ""))
}

// TestContainersHaveLeftovers: an object with the label of an instance that is not in its inventory is found, and is
// removed by a request.
func TestContainersHaveLeftovers(t *testing.T) {
	t.Parallel()
	w := startContainers(t)
	id := w.create(w.onboard(cnfWebSource))
	w.completed(w.instantiate(id, w.request(nil)))
	none, err := w.api.Leftovers(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, none.Extra)
	require.Empty(t, none.Missing)

	_, err = w.cluster.Store().Create(kubeapi.Kind("ConfigMap"), "default", kubeapi.Object{
		"metadata": kubeapi.Object{"name": "forgotten", "labels": kubeapi.Object{objects.LabelInstance: id}},
	})
	require.NoError(t, err)
	found, err := w.api.Leftovers(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, found.Extra, 1)
	require.Equal(t, "default/forgotten", found.Extra[0].ID)
	removed, err := w.api.RemoveLeftovers(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, removed.Removed, 1)
	require.Empty(t, removed.Left)
	require.Empty(t, w.named("ConfigMap", "forgotten"))
	require.Len(t, w.named("ConfigMap", "web-page"), 1, "the objects of the inventory stay")
	w.completed(w.terminate(id))
}
