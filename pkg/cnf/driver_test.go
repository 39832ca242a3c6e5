package cnf_test

import (
	"log/slog"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cnf"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// validation is a request to instantiate the package of the tests.
func validation(params sol.KeyValuePairs, files fstest.MapFS) lcm.Request {
	m := model()
	return lcm.Request{
		Type: sol.LcmOperationInstantiate, VNFD: m, Flavour: m.Flavour("simple"), Package: files,
		Params: []byte(`{"flavourId":"simple"}`), AdditionalParams: params,
		Instance: &lcm.Instance{ID: "4d5ffa3b-9dde-45a9-a805-659dc8df0c02", VimConnections: connection()},
	}
}

func connection() map[string]sol.VimConnectionInfo {
	return map[string]sol.VimConnectionInfo{"vim1": {
		VimType: cnf.VimType, InterfaceInfo: sol.KeyValuePairs{"endpoint": "https://192.0.2.1:6443"},
		AccessInfo: sol.KeyValuePairs{"bearer_token": "token"},
	}}
}

func newDriver(t *testing.T) *cnf.Driver {
	t.Helper()
	d := cnf.New(cnf.Config{}, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	return d
}

// TestInvalidRequests: each mistake is reported at its member, before the cluster is asked.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	const list = "/additionalParams/lcm-kubernetes-def-files"
	more := func(name, content string) fstest.MapFS {
		all := files()
		all[name] = &fstest.MapFile{Data: []byte(content)}
		return all
	}
	manifests := func(names ...any) sol.KeyValuePairs {
		return sol.KeyValuePairs{"lcm-kubernetes-def-files": names}
	}
	const web = "Files/kubernetes/deployment.yaml"
	for name, c := range map[string]struct {
		params  sol.KeyValuePairs
		files   fstest.MapFS
		pointer string
		detail  string
	}{
		"no list":          {sol.KeyValuePairs{}, files(), list, "is missing"},
		"no list of paths": {sol.KeyValuePairs{"lcm-kubernetes-def-files": web}, files(), list, "is not a list"},
		"empty list":       {manifests(), files(), list, "names no manifest"},
		"a number":         {manifests(web, 7.0), files(), list + "/1", "is not a path"},
		"another server":   {manifests("http://192.0.2.1/a.yaml"), files(), list + "/0", "nothing is fetched"},
		"outside":          {manifests("../secret.yaml"), files(), list + "/0", "below the package's root"},
		"absent":           {manifests(web, "Files/no.yaml"), files(), list + "/1", "no file Files/no.yaml"},
		"a folder":         {manifests(web, "Files"), files(), list + "/1", "is a folder"},
		"not YAML":         {manifests(web, "a.yaml"), more("a.yaml", "a: [\n"), list + "/1", "a.yaml"},
		"no name": {
			manifests(web, "a.yaml"), more("a.yaml", "apiVersion: v1\nkind: Secret\n"), list + "/1", "name",
		},
		"no workload":    {manifests("Files/kubernetes/service.yaml"), files(), list, "VDU VDU1"},
		"the same twice": {manifests(web, web), files(), list, "is there twice"},
		"namespace invalid": {
			sol.KeyValuePairs{"namespace": "A_b"}, files(), "/additionalParams/namespace", "namespace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := newDriver(t).Validate(t.Context(), validation(c.params, c.files))
			require.Error(t, err)
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			n := slices.IndexFunc(e.Params, func(p lcm.InvalidParam) bool { return p.Pointer == c.pointer })
			require.GreaterOrEqual(t, n, 0, "%+v", e.Params)
			require.Contains(t, e.Params[n].Detail, c.detail)
		})
	}
	require.NoError(t, newDriver(t).Validate(t.Context(), validation(request().AdditionalParams, files())))
}

// TestEveryDefectiveManifestIsReported: one request gets all mistakes of all its files, each at its place in the list.
func TestEveryDefectiveManifestIsReported(t *testing.T) {
	t.Parallel()
	all := files()
	all["broken.yaml"] = &fstest.MapFile{Data: []byte("a: [\n")}
	all["nameless.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: Secret\n")}
	names := []any{"absent.yaml", "Files/kubernetes/service.yaml", "broken.yaml", "../up.yaml", "nameless.yaml", 7.0}
	e := lcm.AsError(newDriver(t).Validate(t.Context(), validation(
		sol.KeyValuePairs{"lcm-kubernetes-def-files": names}, all,
	)))
	require.NotNil(t, e)
	var pointers []string
	for _, p := range e.Params {
		pointers = append(pointers, p.Pointer)
	}
	const list = "/additionalParams/lcm-kubernetes-def-files/"
	require.ElementsMatch(t, []string{list + "0", list + "2", list + "3", list + "4", list + "5"}, pointers)
}

// TestManifestsOfTheVNFD: the manifests of object packages are used when a request names none, and a mistake in them
// names the object package.
func TestManifestsOfTheVNFD(t *testing.T) {
	t.Parallel()
	request := func(params sol.KeyValuePairs, all fstest.MapFS) lcm.Request {
		r := validation(params, all)
		r.Flavour.VDUs[0].DisplayName = "web servers"
		r.Flavour.VDUs[0].Workload = &vnfd.Workload{Kind: "Deployment", Name: "web"}
		r.Flavour.Mciops = []vnfd.Mciop{
			{Name: "chart", Chart: "Files/charts/web"},
			{Name: "web", VDUs: []string{"VDU1"}, Manifests: []string{"Files/kubernetes/deployment.yaml"}},
		}
		return r
	}
	require.NoError(t, newDriver(t).Validate(t.Context(), request(nil, files())))

	const list = "/additionalParams/lcm-kubernetes-def-files"
	broken := files()
	broken["Files/kubernetes/deployment.yaml"] = &fstest.MapFile{Data: []byte("a: [\n")}
	e := lcm.AsError(newDriver(t).Validate(t.Context(), request(nil, broken)))
	require.NotNil(t, e)
	require.Equal(t, list, e.Params[0].Pointer)
	require.Contains(t, e.Params[0].Detail, "the object package web of the VNFD: ")

	other := request(nil, files())
	other.Flavour.VDUs[0].Workload.Kind = "StatefulSet"
	e = lcm.AsError(newDriver(t).Validate(t.Context(), other))
	require.NotNil(t, e)
	require.Contains(t, e.Params[0].Detail, "no StatefulSet web for the VDU VDU1")

	named := request(sol.KeyValuePairs{"lcm-kubernetes-def-files": []any{"absent.yaml"}}, files())
	e = lcm.AsError(newDriver(t).Validate(t.Context(), named))
	require.NotNil(t, e)
	require.Equal(t, list+"/0", e.Params[0].Pointer, "the request decides")
}

// TestRefusedOperations: operations that have no meaning for pods are refused with the reason.
func TestRefusedOperations(t *testing.T) {
	t.Parallel()
	for typ, why := range map[sol.LcmOperationType]string{
		sol.LcmOperationChangeExtConn:    "in its manifests",
		sol.LcmOperationCreateSnapshot:   "no snapshot",
		sol.LcmOperationRevertToSnapshot: "no snapshot",
	} {
		r := validation(request().AdditionalParams, files())
		r.Type = typ
		err := newDriver(t).Validate(t.Context(), r)
		require.ErrorContains(t, err, why)
		require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
	}
}

const autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  minReplicas: 2
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`

// TestAutoscalerIsRespected: the number of pods of a workload with an autoscaler cannot be scaled by an operation.
func TestAutoscalerIsRespected(t *testing.T) {
	t.Parallel()
	all := files()
	all["hpa.yaml"] = &fstest.MapFile{Data: []byte(autoscaler)}
	r := validation(sol.KeyValuePairs{
		"lcm-kubernetes-def-files": []any{"Files/kubernetes/deployment.yaml", "hpa.yaml"},
	}, all)
	require.NoError(t, newDriver(t).Validate(t.Context(), r))
	r.Type, r.Params = sol.LcmOperationScale, []byte(`{"type":"SCALE_OUT","aspectId":"web"}`)
	r.Instance.Instantiated = &sol.InstantiatedVnfInfo{VnfcInfo: []sol.VnfcInfo{{ID: "VDU1-0", VduID: "VDU1"}}}
	r.Scope = &lcm.Scope{Counts: map[string]int{"VDU1": 2}, Add: map[string]int{"VDU1": 1}}
	e := lcm.AsError(newDriver(t).Validate(t.Context(), r))
	require.NotNil(t, e)
	require.Equal(t, "/aspectId", e.Params[0].Pointer)
	require.Contains(t, e.Params[0].Detail, "HorizontalPodAutoscaler web")
}

// TestReplaces: a change of the package replaces the pods of workloads whose template changes, and no others.
func TestReplaces(t *testing.T) {
	t.Parallel()
	change := func(deployment string) lcm.Request {
		next := files()
		next["Files/kubernetes/deployment.yaml"] = &fstest.MapFile{Data: []byte(deployment)}
		r := validation(request().AdditionalParams, next)
		r.Type, r.Params = sol.LcmOperationChangeVnfpkg, []byte(`{}`)
		r.Previous = &lcm.Revision{VNFD: r.VNFD, Flavour: r.Flavour, Package: files()}
		r.Instance.Params = `{"lcm-kubernetes-def-files":["Files/kubernetes/deployment.yaml"]}`
		r.Instance.Instantiated = &sol.InstantiatedVnfInfo{VnfcInfo: []sol.VnfcInfo{{ID: "VDU1-0", VduID: "VDU1"}}}
		r.Scope = &lcm.Scope{Counts: map[string]int{"VDU1": 1}}
		return r
	}
	same, err := newDriver(t).Replaces(change(deployment))
	require.NoError(t, err)
	require.Empty(t, same)
	other, err := newDriver(t).Replaces(change(deployment + "        env: [{name: A, value: b}]\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"VDU1-0"}, other)
}
