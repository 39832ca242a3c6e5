package granting_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/granting"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/oracle"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a request with its file, and validates it.
func golden(t *testing.T, name string, r *sol.GrantRequest) {
	t.Helper()
	raw, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	path := filepath.Join("testdata", name+".json")
	if *update {
		require.NoError(t, os.WriteFile(path, append(raw, '\n'), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(raw)+"\n")
	require.Empty(t, oracle.Request(http.MethodPost, "/grant/v1/grants", raw))
}

// flavour has two VDUs on one internal link, of which the masters are kept apart.
func flavour(id string, more ...string) *vnfd.Flavour {
	f := &vnfd.Flavour{
		ID: id,
		VDUs: []vnfd.VDU{
			{Name: "masterNode", MinInstances: 1, MaxInstances: 3, Storages: []string{"masterDisk"}},
			{Name: "workerNode", MaxInstances: 9},
		},
		Storages: []vnfd.Storage{{Name: "masterDisk", Type: "BLOCK"}},
		CPs: []vnfd.CP{
			{Name: "masterNode_CP1", VDU: "masterNode", External: true},
			{Name: "masterNode_CP2", VDU: "masterNode", VL: "internalVL"},
			{Name: "workerNode_CP1", VDU: "workerNode", External: true},
			{Name: "workerNode_CP2", VDU: "workerNode", VL: "internalVL"},
		},
		VLs: []vnfd.VL{{Name: "internalVL"}},
		Levels: []vnfd.InstantiationLevel{
			{ID: "small", VDUs: map[string]int{"masterNode": 2, "workerNode": 1}},
		},
		DefaultLevel: "small",
		Placement: []vnfd.PlacementRule{
			{Name: "apart", Anti: true, Scope: "zone", Targets: []string{"masterNode"}},
			{Name: "near", Scope: "nfvi_node", Targets: []string{"workerNode"}},
			{Name: "unknown", Anti: true, Scope: "network_link_and_node", Targets: []string{"masterNode"}},
		},
	}
	for _, vdu := range more {
		f.VDUs = append(f.VDUs, vnfd.VDU{Name: vdu})
		f.Levels[0].VDUs[vdu] = 1
	}
	return f
}

func handle(id, kind string) sol.ResourceHandle {
	return sol.ResourceHandle{VimConnectionID: "vim1", ResourceID: id, VimLevelResourceType: kind}
}

// instance has two masters and one worker.
func instance() *lcm.Instance {
	info := &sol.InstantiatedVnfInfo{
		FlavourID:   "simple",
		ScaleStatus: []sol.ScaleInfo{{AspectID: "workers", ScaleLevel: 1}},
		VnfVirtualLinkResourceInfo: []sol.VnfVirtualLinkResourceInfo{{
			ID: "vl", VnfVirtualLinkDescID: "internalVL", NetworkResource: handle("net-internal", "OS::Neutron::Net"),
		}},
		ExtVirtualLinkInfo: []sol.ExtVirtualLinkInfo{{ID: "ext", ResourceHandle: handle("net-ext",
			"OS::Neutron::Net")}},
	}
	i := &lcm.Instance{
		ID: "i-1", VnfdID: "vnfd-1", Instantiated: info,
		VimConnections: map[string]sol.VimConnectionInfo{"vim1": {VimType: "T"}},
	}
	add := func(vnfc, vdu string, index int, storages ...string) {
		info.VnfcInfo = append(info.VnfcInfo, sol.VnfcInfo{ID: vnfc, VduID: vdu, VnfcResourceInfoID: "res-" + vnfc})
		res := sol.VnfcResourceInfo{
			ID: "res-" + vnfc, VduID: vdu, ComputeResource: handle("server-"+vnfc, "OS::Nova::Server"),
			VnfcCpInfo: []sol.VnfcCpInfo{
				{ID: "cp1-" + vnfc, CpdID: vdu + "_CP1", VnfExtCpID: "extcp-" + vnfc},
				{ID: "cp2-" + vnfc, CpdID: vdu + "_CP2"},
			},
		}
		for _, s := range storages {
			id := s + "-" + vnfc
			res.StorageResourceIds = append(res.StorageResourceIds, id)
			info.VirtualStorageResourceInfo = append(info.VirtualStorageResourceInfo, sol.VirtualStorageResourceInfo{
				ID: id, VirtualStorageDescID: s, StorageResource: handle("volume-"+vnfc, "OS::Cinder::Volume"),
			})
		}
		info.VnfcResourceInfo = append(info.VnfcResourceInfo, res)
		info.ExtCpInfo = append(info.ExtCpInfo, sol.VnfExtCpInfo{ID: "extcp-" + vnfc, CpdID: vdu + "_CP1"})
		info.ExtVirtualLinkInfo[0].ExtLinkPorts = append(info.ExtVirtualLinkInfo[0].ExtLinkPorts, sol.ExtLinkPortInfo{
			ID: "lp-" + vnfc, ResourceHandle: handle("port-"+vnfc, "OS::Neutron::Port"), CpInstanceID: "extcp-" + vnfc,
		})
		i.Inventory = append(i.Inventory, lcm.Resource{VNFC: vnfc, VDU: vdu, Index: index})
	}
	add("m1", "masterNode", 1, "masterDisk")
	add("m0", "masterNode", 0, "masterDisk")
	add("w0", "workerNode", 0)
	return i
}

// execution is the operation of a request on the instance.
func execution(kind sol.LcmOperationType, params string, scope *lcm.Scope) *lcm.Execution {
	before := instance()
	return &lcm.Execution{
		Op: &lcm.Operation{
			ID: "op-1", InstanceID: "i-1", Type: kind, Params: json.RawMessage(params), Scope: scope, Before: before,
		},
		Instance: before, VNFD: &vnfd.VNFD{ID: "vnfd-1"}, Flavour: flavour("simple"),
	}
}

func executions() map[string]*lcm.Execution {
	instantiate := execution(sol.LcmOperationInstantiate,
		`{"flavourId":"simple","instantiationLevelId":"small","additionalParams":{"nfv":{"a":1},"password":"secret"}}`, nil)
	instantiate.Op.Before, instantiate.Instance = nil, &lcm.Instance{ID: "i-1"}
	managed := execution(sol.LcmOperationInstantiate, `{"flavourId":"simple","extManagedVirtualLinks":[
		{"id":"l","vnfVirtualLinkDescId":"internalVL","resourceId":"net"}]}`, nil)
	managed.Op.Before, managed.Instance = nil, &lcm.Instance{ID: "i-1"}

	flavoured := execution(sol.LcmOperationChangeFlavour, `{"newFlavourId":"big"}`, &lcm.Scope{
		Flavour: "big", Counts: map[string]int{"masterNode": 1, "workerNode": 1, "storageNode": 1},
		Add: map[string]int{"storageNode": 1}, Remove: []string{"m1"}, Replace: []string{"m0"},
	})
	flavoured.Previous = &lcm.Revision{VNFD: flavoured.VNFD, Flavour: flavoured.Flavour}
	flavoured.Flavour = flavour("big", "storageNode")
	flavoured.Flavour.VLs = append(flavoured.Flavour.VLs, vnfd.VL{Name: "storageVL"})

	packaged := execution(sol.LcmOperationChangeVnfpkg, `{"vnfdId":"vnfd-2"}`, &lcm.Scope{
		Flavour: "simple", Counts: map[string]int{"masterNode": 2, "workerNode": 1}, Replace: []string{"w0"},
		VNFCs: []string{"m0", "m1", "w0"},
	})
	packaged.Previous = &lcm.Revision{VNFD: packaged.VNFD, Flavour: packaged.Flavour}
	packaged.VNFD, packaged.Flavour = &vnfd.VNFD{ID: "vnfd-2"}, flavour("simple")
	packaged.Flavour.VLs = nil

	return map[string]*lcm.Execution{
		"instantiate": instantiate, "instantiate_managed": managed, "change_flavour": flavoured,
		"change_vnfpkg": packaged,
		"scale": execution(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`, &lcm.Scope{
			Flavour: "simple", Counts: map[string]int{"masterNode": 3, "workerNode": 2},
			Add: map[string]int{"masterNode": 1, "workerNode": 1},
		}),
		"scale_to_level": execution(sol.LcmOperationScaleToLevel, `{"instantiationLevelId":"small"}`, &lcm.Scope{
			Flavour: "simple", Counts: map[string]int{"masterNode": 1, "workerNode": 1}, Remove: []string{"m1"},
		}),
		"heal": execution(sol.LcmOperationHeal, `{"vnfcInstanceId":["m1"]}`, &lcm.Scope{
			Flavour: "simple", Counts: map[string]int{"masterNode": 2, "workerNode": 1}, VNFCs: []string{"m1"},
		}),
		"heal_storages": execution(sol.LcmOperationHeal, `{"vnfcInstanceId":["m1"]}`, &lcm.Scope{
			Flavour: "simple", VNFCs: []string{"m1"}, Storages: true,
		}),
		"heal_whole": execution(sol.LcmOperationHeal, `{}`, &lcm.Scope{
			Flavour: "simple", Counts: map[string]int{"masterNode": 2, "workerNode": 1}, Whole: true,
			VNFCs: []string{"m1", "m0", "w0"},
		}),
		"operate": execution(sol.LcmOperationOperate, `{"changeStateTo":"STOPPED"}`, &lcm.Scope{
			Flavour: "simple", VNFCs: []string{"m1", "m0", "w0"},
		}),
		"create_snapshot": execution(sol.LcmOperationCreateSnapshot, `{"vnfSnapshotInfoId":"s"}`, &lcm.Scope{
			Flavour: "simple", VNFCs: []string{"m1", "m0", "w0"}, Snapshot: &lcm.SnapshotScope{ID: "s"},
		}),
		"revert_to_snapshot": execution(sol.LcmOperationRevertToSnapshot, `{"vnfSnapshotInfoId":"s"}`, &lcm.Scope{
			Flavour: "simple", VNFCs: []string{"m1"}, Snapshot: &lcm.SnapshotScope{ID: "s"},
		}),
		"change_ext_conn": execution(sol.LcmOperationChangeExtConn,
			`{"extVirtualLinks":[{"id":"ext","resourceId":"n","extCps":[{"cpdId":"workerNode_CP1"}]}]}`,
			&lcm.Scope{Flavour: "simple"}),
		"terminate": execution(sol.LcmOperationTerminate, `{"terminationType":"FORCEFUL"}`, nil),
	}
}

// The golden files say what an NFVO is asked for, per type of operation.
func TestRequestOfEveryOperation(t *testing.T) {
	t.Parallel()
	asked := map[sol.LcmOperationType]bool{}
	for name, w := range executions() {
		t.Run(name, func(t *testing.T) {
			r, err := granting.Request(w, "https://vnfm.example")
			require.NoError(t, err)
			golden(t, name, r)
			unique(t, r)
			again, err := granting.Request(w, "https://vnfm.example")
			require.NoError(t, err)
			require.Equal(t, r, again, "a node that takes over has to ask for the same")
		})
		asked[w.Op.Type] = true
	}
	for _, k := range lcm.OperationKinds() {
		require.Equal(t, k.NeedsGrant, asked[k.Type], "%s", k.Type)
	}
}

// unique fails for definition ids that occur twice, and for references to definitions that do not exist.
func unique(t *testing.T, r *sol.GrantRequest) {
	t.Helper()
	var ids []string
	for _, d := range slices.Concat(r.AddResources, r.RemoveResources, r.UpdateResources, r.TempResources) {
		require.NotContains(t, ids, d.ID)
		ids = append(ids, d.ID)
	}
	check := func(refs []sol.ConstraintResourceRef) {
		for _, ref := range refs {
			if ref.IDType == sol.ResourceIDTypeGrant {
				require.Contains(t, ids, ref.ResourceID)
			}
		}
	}
	for _, c := range r.PlacementConstraints {
		check(c.Resource)
	}
	for _, c := range r.VimConstraints {
		check(c.Resource)
	}
}

// Secrets of a request do not leave for the NFVO.
func TestRequestHasNoSecrets(t *testing.T) {
	t.Parallel()
	w := executions()["instantiate"]
	w.Op.SecretNames = []string{"a"}
	r, err := granting.Request(w, "https://vnfm.example")
	require.NoError(t, err)
	require.Equal(t, sol.KeyValuePairs{"nfv": map[string]any{}}, r.AdditionalParams)
}
