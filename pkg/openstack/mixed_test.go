package openstack_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// mixedPackage has a VDU of servers with a port (VDU1), one whose server boots from a volume (VDU2), and one whose
// server is in the top stack (VDU3).
func mixedPackage() onePackage {
	cirros := &vnfd.SwImage{Name: "cirros-0.5.2-x86_64-disk"}
	f := vnfd.Flavour{
		ID: "default",
		VDUs: []vnfd.VDU{
			{Name: "VDU1", ComputeFlavour: "m1.tiny", Image: cirros},
			{Name: "VDU2", ComputeFlavour: "m1.tiny", Storages: []string{"VDU2-VirtualStorage"}},
			{Name: "VDU3", ComputeFlavour: "m1.tiny", Image: cirros},
		},
		Storages: []vnfd.Storage{{Name: "VDU2-VirtualStorage", Type: "BLOCK", SizeBytes: 1 << 30, Image: cirros}},
		CPs: []vnfd.CP{
			{Name: "VDU1_CP1", VDU: "VDU1", External: true}, {Name: "VDU2_CP1", VDU: "VDU2", External: true},
		},
		Levels: []vnfd.InstantiationLevel{
			{ID: "two", VDUs: map[string]int{"VDU1": 2, "VDU2": 1, "VDU3": 1}},
			{ID: "one", VDUs: map[string]int{"VDU1": 1}},
		},
		DefaultLevel: "two",
	}
	return onePackage{
		&vnfd.VNFD{ID: "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177", Flavours: []vnfd.Flavour{f}},
		os.DirFS(filepath.Join("testdata", "mixed")),
	}
}

// newMixed is a world with an instance of the mixed package, not instantiated yet.
func newMixed(tb testing.TB, cloud *simcloud.Cloud) *world {
	tb.Helper()
	w := newWorld(tb, cloud)
	w.pkg = mixedPackage()
	w.store.instance.VnfdID = w.pkg.model.ID
	return w
}

// networkID is net0 of the simulated cloud.
const networkID = "bbc012e1-6619-4fe6-aaac-0668a4974313"

// mixed instantiates the mixed package at a level.
func (w *world) mixed(level string) {
	w.t.Helper()
	w.mixedWith(level, nil)
}

// mixedWith does so with an nfv of the request.
func (w *world) mixedWith(level string, nfv map[string]any) {
	w.t.Helper()
	params := map[string]any{
		"lcm-operation-user-data":       "./UserData/userdata_standard.py",
		"lcm-operation-user-data-class": "StandardUserData",
	}
	if nfv != nil {
		params["nfv"] = nfv
	}
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "instantiationLevelId": level, "additionalParams": params,
		"extVirtualLinks": []any{map[string]any{
			"id": "ext-1", "resourceId": networkID,
			"extCps": []any{
				map[string]any{"cpdId": "VDU1_CP1", "cpConfig": map[string]any{"VDU1_CP1_1": map[string]any{}}},
				map[string]any{"cpdId": "VDU2_CP1", "cpConfig": map[string]any{"VDU2_CP1_1": map[string]any{}}},
			},
		}},
	})
	w.store.instance.Params = encoded(w.t, params)
}

// change admits an operation on the instance as it is now.
func (w *world) change(typ sol.LcmOperationType, params any, scope lcm.Scope) {
	w.t.Helper()
	before := copied(w.store.instance)
	w.admit(typ, params)
	scope.Counts = map[string]int{}
	for _, c := range before.Instantiated.VnfcInfo {
		scope.Counts[c.VduID]++
	}
	w.store.op.Scope, w.store.op.Before = &scope, &before
}

// vnfc is the vnfcInfo id of the VNFC with this index of a VDU.
func (w *world) vnfc(vdu string, index int) string {
	w.t.Helper()
	for _, r := range w.store.instance.Inventory {
		if r.VDU == vdu && r.Index == index && r.Type == "OS::Nova::Server" {
			return r.VNFC
		}
	}
	require.Fail(w.t, "there is no VNFC", "%s-%d", vdu, index)
	return ""
}

// ids are the VIM's ids of the instance's resources of a type, by place: "VDU1-0 VDU1_CP1".
func (w *world) ids(typ string) map[string]string {
	out := map[string]string{}
	for _, r := range w.store.instance.Inventory {
		if r.Type == typ {
			out[r.VDU+"-"+string(rune('0'+r.Index))+" "+r.Name] = r.ID
		}
	}
	return out
}

// differing lists the places where two sets of ids differ.
func differing(a, b map[string]string) []string {
	var out []string
	for k := range a {
		if a[k] != b[k] {
			out = append(out, k)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// ask makes a call to a service of the cloud that no node makes, and returns its JSON answer.
func (w *world) ask(service, method, path string, body any) map[string]any {
	w.t.Helper()
	provider, err := simcloud.Login(context.WithoutCancel(w.t.Context()), w.cloud.AuthOptions())
	require.NoError(w.t, err)
	defer provider.HTTPClient.CloseIdleConnections()
	base, err := provider.EndpointLocator(
		gophercloud.EndpointOpts{Type: service, Region: simcloud.Region, Availability: gophercloud.AvailabilityPublic},
	)
	require.NoError(w.t, err)
	var out map[string]any
	opts := &gophercloud.RequestOpts{OkCodes: []int{200, 201, 202, 204}, JSONBody: body}
	if method == http.MethodGet {
		opts.JSONResponse = &out
	}
	res, err := provider.Request(context.WithoutCancel(w.t.Context()), method, strings.TrimSuffix(base, "/")+path, opts)
	require.NoError(w.t, err)
	require.NoError(w.t, res.Body.Close())
	return out
}

// made counts how often Heat has made the resource of a VNFC.
func (w *world) made(vdu string, index int) int {
	w.t.Helper()
	_, res, ok := w.store.instance.VNFC(w.vnfc(vdu, index))
	require.True(w.t, ok)
	n := 0
	list, _ := w.ask("orchestration", http.MethodGet, "/stacks/"+res.Metadata["stack_id"].(string)+"/events",
		nil)["events"].([]any)
	for _, e := range list {
		ev, _ := e.(map[string]any)
		if ev["resource_name"] == vdu && ev["resource_status"] == "CREATE_COMPLETE" {
			n++
		}
	}
	return n
}

// updates counts how often the instance's stack was updated since the last reset.
func (w *world) updates() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if strings.HasPrefix(c, "PATCH ") && !strings.Contains(c, "/resources/") {
			n++
		}
	}
	return n
}
