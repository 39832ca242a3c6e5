package openstack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// asked is the request of the sample cluster as a JSON object, for tests that spoil it.
func asked(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(
		"..", "..", "vnf-packages", "kubernetes-cluster", "params", "complex_kubernetes_param_file_v2.json",
	))
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// TestValidate: whatever can be known to be wrong is refused with a pointer, before the VIM is asked.
func TestValidate(t *testing.T) {
	t.Parallel()
	withFile := func(name, file string) *vnfd.SwImage { return &vnfd.SwImage{Name: name, File: file} }
	for name, tt := range map[string]struct {
		spoil    func(req map[string]any, r *lcm.Request)
		pointers []string
		detail   string
	}{
		"as it is": {func(map[string]any, *lcm.Request) {}, nil, ""},
		"another operation": {func(_ map[string]any, r *lcm.Request) {
			r.Type, r.Params = sol.LcmOperationTerminate, json.RawMessage(`{"terminationType": "FORCEFUL"}`)
		}, nil, ""},
		"connection": {
			func(_ map[string]any, r *lcm.Request) {
				r.Instance.VimConnections = map[string]sol.VimConnectionInfo{"vim1": {VimType: VimType}}
			},
			[]string{
				"/vimConnectionInfo/vim1/accessInfo/password", "/vimConnectionInfo/vim1/accessInfo/project",
				"/vimConnectionInfo/vim1/accessInfo/username", "/vimConnectionInfo/vim1/interfaceInfo/endpoint",
			},
			"Keystone",
		},
		"class": {func(req map[string]any, _ *lcm.Request) {
			req["additionalParams"].(map[string]any)["lcm-operation-user-data-class"] = "MyUserData"
		}, []string{"/additionalParams/lcm-operation-user-data-class"}, "StandardUserData, DefaultUserData"},
		"half a class": {func(req map[string]any, _ *lcm.Request) {
			delete(req["additionalParams"].(map[string]any), "lcm-operation-user-data")
		}, []string{"/additionalParams/lcm-operation-user-data"}, "go together"},
		"a link is missing": {func(req map[string]any, _ *lcm.Request) {
			req["extVirtualLinks"] = req["extVirtualLinks"].([]any)[:1]
		}, []string{"/extVirtualLinks", "/extVirtualLinks"}, "cpdId workerNode_CP1"},
		"nfv": {func(req map[string]any, _ *lcm.Request) {
			req["additionalParams"].(map[string]any)["nfv"] = []any{}
		}, []string{"/additionalParams/nfv"}, "not an object"},
		"no base HOT": {func(_ map[string]any, r *lcm.Request) {
			r.Package = fstest.MapFS{}
		}, []string{"/flavourId"}, "no base HOT"},
		"ambiguous image": {func(_ map[string]any, r *lcm.Request) {
			r.Flavour.VDUs[0].Image, r.Flavour.VDUs[1].Image = withFile("i", "a"), withFile("i", "b")
		}, []string{"/flavourId"}, `"i" stands for a and for b`},
		"unknown level": {func(req map[string]any, _ *lcm.Request) { req["instantiationLevelId"] = "huge" }, nil, ""},
		"several at a time": {
			func(req map[string]any, r *lcm.Request) {
				r.Instance.VimConnections["vim1"].AccessInfo["password"] = ""
				delete(req, "extVirtualLinks")
			},
			[]string{
				"/extVirtualLinks", "/extVirtualLinks", "/extVirtualLinks", "/extVirtualLinks", "/extVirtualLinks",
				"/vimConnectionInfo/vim1/accessInfo/password",
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := clusterFlavour()
			f.VDUs[0].MinInstances, f.VDUs[1].MinInstances = 3, 2
			req := asked(t)
			r := lcm.Request{
				Type: sol.LcmOperationInstantiate, Flavour: f,
				Package: os.DirFS(filepath.Join("..", "..", "vnf-packages", "kubernetes-cluster")),
				Instance: &lcm.Instance{VimConnections: map[string]sol.VimConnectionInfo{
					"vim1": stubcloud.VimAt("http://localhost/identity/v3"),
				}},
			}
			tt.spoil(req, &r)
			if r.Params == nil {
				raw, err := json.Marshal(req)
				require.NoError(t, err)
				r.Params = raw
			}
			err := testDriver(t, Config{}).Validate(t.Context(), r)
			if tt.pointers == nil {
				require.NoError(t, err)
				return
			}
			e := asError(t, err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			var pointers []string
			for _, p := range e.Params {
				pointers = append(pointers, p.Pointer)
			}
			require.Equal(t, tt.pointers, pointers)
			require.Contains(t, e.Detail, tt.detail)
		})
	}
}

// BenchmarkValidate is the driver's part of answering an instantiate request.
func BenchmarkValidate(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join(
		"..", "..", "vnf-packages", "kubernetes-cluster", "params", "complex_kubernetes_param_file_v2.json",
	))
	require.NoError(b, err)
	d := New(Config{}, nil)
	r := lcm.Request{
		Type: sol.LcmOperationInstantiate, Flavour: clusterFlavour(), Params: raw,
		Package: os.DirFS(filepath.Join("..", "..", "vnf-packages", "kubernetes-cluster")),
		Instance: &lcm.Instance{
			VimConnections: map[string]sol.VimConnectionInfo{"vim1": stubcloud.VimAt("http://localhost/identity/v3")},
		},
	}
	for b.Loop() {
		if err := d.Validate(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
