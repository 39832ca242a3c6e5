package cnf_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const packages = "../../../vnf-packages/"

// copied is a copy of a sample package with more files. replace are pairs of old and new texts of its files.
func copied(t *testing.T, sample string, more map[string]string, replace ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(packages+sample)))
	for name, text := range more {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	change := strings.NewReplacer(replace...)
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".yaml" {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, []byte(change.Replace(string(raw))), 0o600)
	}))
	return dir
}

// testdata reads a file.
func testdata(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(raw)
}

// manifests makes a package from the sample: its Deployment, objects of the usual kinds, and no mgmt driver.
func manifests(t *testing.T, replace ...string) string {
	t.Helper()
	const flavour = "Definitions/cnf_nodeport_df_simple.yaml"
	raw, err := os.ReadFile(packages + "cnf-nodeport/" + flavour)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(raw), "      interfaces:\n")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "    VDU1:\n")
	require.True(t, found)
	return copied(t, "cnf-nodeport", map[string]string{
		flavour:                         before + "    VDU1:\n" + after,
		"Files/kubernetes/objects.yaml": testdata(t, "objects.yaml"),
	}, replace...)
}

// TestManifests: objects of the usual kinds live the whole life of an instance in a real cluster.
func TestManifests(t *testing.T) {
	w := start(t)
	all := []string{"Files/kubernetes/deployment.yaml", "Files/kubernetes/objects.yaml"}
	id := w.create(manifests(t))
	request := w.encode(sol.InstantiateVnfRequest{
		FlavourID: "simple", VimConnectionInfo: w.vim(kubernetes.VimType),
		AdditionalParams: sol.KeyValuePairs{"lcm-kubernetes-def-files": all},
	})
	w.possible(id, sol.LcmOperationInstantiate, request)
	require.False(t, w.exists("apps/v1", "Deployment", "default", "vdu1"), "a plan changes nothing")
	op, err := w.api.Instantiate(t.Context(), id, request)
	w.completed("instantiate", op, err)
	require.True(t, w.exists("lab.gybe.io/v1", "Page", "default", "front"))
	require.True(t, w.exists("v1", "PersistentVolume", "", "gybe-lab-files"))

	op, err = w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{
		Type: sol.ScaleTypeOut, AspectID: "vdu1_aspect", NumberOfSteps: 2,
	})
	w.completed("scale out", op, err)
	before := w.pods(id)
	require.Len(t, before, 3)
	op, err = w.api.Heal(t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{"VDU1-1"}})
	w.completed("heal a VNFC", op, err)
	after := w.pods(id)
	require.Equal(t, before["VDU1-0"], after["VDU1-0"])
	require.NotEqual(t, before["VDU1-1"], after["VDU1-1"])
	op, err = w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{
		Type: sol.ScaleTypeIn, AspectID: "vdu1_aspect", NumberOfSteps: 1,
	})
	w.completed("scale in", op, err)
	require.Len(t, w.pods(id), 2)

	other := manifests(t, thisVNFD, nextVNFD, "image: nginx", "image: nginx:2")
	change := sol.ChangeCurrentVnfPkgRequest{
		VnfdID:           w.onboard(other),
		AdditionalParams: sol.KeyValuePairs{"lcm-kubernetes-def-files": all[:1]},
	}
	plan := w.possible(id, sol.LcmOperationChangeVnfpkg, w.encode(change))
	t.Logf("plan of the change: %s", w.encode(plan))
	require.Len(t, plan.Change, 1)
	require.Contains(t, plan.Change[0].Detail, "image: nginx -> nginx:2")
	op, err = w.api.ChangePackage(t.Context(), id, change)
	w.completed("change the package", op, err)
	require.False(t, w.exists("apps/v1", "StatefulSet", "default", "store"), "the manifests do not have it any more")
	require.Len(t, w.pods(id), 2)

	w.end(id)
	require.False(t, w.exists("apps/v1", "Deployment", "default", "vdu1"))
}

// end stops and starts an instance, heals it as a whole, and terminates it.
func (w *world) end(id string) {
	w.t.Helper()
	for _, state := range []sol.VnfOperationalState{sol.VnfOperationalStateStopped, sol.VnfOperationalStateStarted} {
		op, err := w.api.Operate(w.t.Context(), id, sol.OperateVnfRequest{ChangeStateTo: state})
		w.completed("operate: "+string(state), op, err)
	}
	before := w.pods(id)
	op, err := w.api.Heal(w.t.Context(), id, sol.HealVnfRequest{})
	w.completed("heal the CNF", op, err)
	require.NotEqual(w.t, before, w.pods(id))
	w.terminate(id)
}

// terminate deletes everything of an instance.
func (w *world) terminate(id string) {
	w.t.Helper()
	op, err := w.api.Terminate(w.t.Context(), id, sol.TerminateVnfRequest{
		TerminationType: sol.TerminationTypeForceful,
	})
	w.completed("terminate", op, err)
	require.NoError(w.t, w.api.DeleteInstance(w.t.Context(), id))
}

// chart is the sample package whose chart has objects of the usual kinds, too. replace is that of copied.
func chart(t *testing.T, replace ...string) string {
	t.Helper()
	var definitions, others []string
	for o := range strings.SplitSeq(testdata(t, "objects.yaml"), "\n---\n") {
		if strings.Contains(o, "kind: CustomResourceDefinition\n") {
			definitions = append(definitions, o)
		} else {
			others = append(others, o)
		}
	}
	require.Len(t, definitions, 1)
	return copied(t, "cnf-web-helm", map[string]string{
		"Files/charts/web/crds/pages.yaml":        definitions[0],
		"Files/charts/web/templates/objects.yaml": strings.Join(others, "\n---\n"),
	}, replace...)
}

// TestChart: a chart with objects of the usual kinds lives its whole life in a real cluster.
func TestChart(t *testing.T) {
	w := start(t)
	raw, err := os.ReadFile(packages + "cnf-web-helm/params/instantiate.json")
	require.NoError(t, err)
	var request sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(raw, &request))
	request.VimConnectionInfo = w.vim(helm.VimType)
	id := w.create(chart(t))
	t.Cleanup(func() { // Helm keeps definitions of kinds
		_ = w.cluster.Delete(context.WithoutCancel(t.Context()), objects.Ref{
			APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "pages.lab.gybe.io",
		}, objects.DeleteOptions{})
	})
	w.possible(id, sol.LcmOperationInstantiate, w.encode(request))
	require.False(t, w.exists("apps/v1", "Deployment", "default", "web"), "a plan changes nothing")
	op, err := w.api.Instantiate(t.Context(), id, w.encode(request))
	w.completed("instantiate", op, err)
	require.True(t, w.exists("apps/v1", "Deployment", "default", "web"))
	require.True(t, w.exists("lab.gybe.io/v1", "Page", "default", "front"))
	require.True(t, w.exists("v1", "PersistentVolume", "", "gybe-lab-files"))
	op, err = w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "web"})
	w.completed("scale out", op, err)
	before := w.pods(id)
	require.Len(t, before, 3)
	healed := slices.Sorted(maps.Keys(before))[0]
	op, err = w.api.Heal(t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{healed}})
	w.completed("heal a VNFC", op, err)
	require.NotEqual(t, before[healed], w.pods(id)[healed])
	op, err = w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{Type: sol.ScaleTypeIn, AspectID: "web"})
	w.completed("scale in", op, err)
	require.Len(t, w.pods(id), 2)

	const this, next = "2ad3f2c5-9b0c-4c8d-9b3f-8b9d8c2f6d41", "2ad3f2c5-9b0c-4c8d-9b3f-8b9d8c2f6d42"
	change := sol.ChangeCurrentVnfPkgRequest{
		VnfdID: w.onboard(chart(t, this, next, `tag: "1.27"`, `tag: "1.28"`, "maxReplicas: 3", "maxReplicas: 4")),
	}
	t.Logf("plan of the change: %s",
		w.encode(w.possible(id, sol.LcmOperationChangeVnfpkg, w.encode(change))))
	op, err = w.api.ChangePackage(t.Context(), id, change)
	w.completed("change the package", op, err)
	w.requireImage(id, "nginx:1.28")
	w.end(id)
	require.False(t, w.exists("apps/v1", "Deployment", "default", "web"))
	require.False(t, w.exists("apps/v1", "StatefulSet", "default", "store"))
	require.False(t, w.exists("v1", "PersistentVolume", "", "gybe-lab-files"))
	require.False(t, w.exists("lab.gybe.io/v1", "Page", "default", "front"))
}

// TestPage: the sample package with its parameter file serves a page at a port of the cluster's node.
func TestPage(t *testing.T) {
	w := start(t)
	raw, err := os.ReadFile(packages + "cnf-web/params/instantiate.json")
	require.NoError(t, err)
	var request sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(raw, &request))
	request.VimConnectionInfo = w.vim(kubernetes.VimType)
	id := w.create(packages + "cnf-web")
	op, err := w.api.Instantiate(t.Context(), id, w.encode(request))
	w.completed("instantiate", op, err)
	service, err := w.cluster.Get(t.Context(), objects.Ref{
		APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web",
	})
	require.NoError(t, err)
	ports, _, err := unstructured.NestedSlice(service.Object, "spec", "ports")
	require.NoError(t, err)
	require.Len(t, ports, 1)
	pods, err := w.cluster.Pods(t.Context(), objects.Ref{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web",
	})
	require.NoError(t, err)
	require.Len(t, pods, 2)
	page := fmt.Sprintf("http://%s:%v/", pods[0].Status.HostIP, ports[0].(map[string]any)["nodePort"])
	var text []byte
	require.Eventually(t, func() bool {
		text = w.page(page)
		return strings.Contains(string(text), "Service default/web,")
	}, time.Minute, 100*time.Millisecond)
	t.Logf("%s\n%s", page, text)
	w.terminate(id)
}

// page is the text at a URL; nil if it does not answer.
func (w *world) page(url string) []byte {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(w.t, err)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return nil
	}
	return text
}
