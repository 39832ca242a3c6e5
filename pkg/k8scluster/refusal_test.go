package k8scluster_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// submit asks the driver about an operation on an instance of a flavour with two workers. The VNFCs in stopped are
// STOPPED, the others STARTED.
func submit(
	t *testing.T, flavour string, typ sol.LcmOperationType, s lcm.Scope, body string, stopped ...string,
) error {
	t.Helper()
	var req struct {
		AdditionalParams sol.KeyValuePairs `json:"additionalParams"`
	}
	require.NoError(t, json.Unmarshal(paramFile(t, flavour), &req))
	masters := map[string]int{"simple": 1, "complex": 3, "storage": 1}[flavour]
	info := &sol.InstantiatedVnfInfo{}
	f := vnfd.Flavour{ID: flavour, LCM: map[string]vnfd.Implementation{
		string(lcm.HookChangeVnfpkgEnd): {Name: k8scluster.Name},
	}}
	for _, vdu := range []struct {
		name string
		size int
	}{{"masterNode", masters}, {"workerNode", 2}, {"storage_server", 1}} {
		f.VDUs = append(f.VDUs, vnfd.VDU{Name: vdu.name, MinInstances: vdu.size})
		for n := range vdu.size {
			c := sol.VnfcInfo{
				ID: fmt.Sprintf("%s-%d", vdu.name, n), VduID: vdu.name, VnfcState: sol.VnfOperationalStateStarted,
			}
			if slices.Contains(stopped, c.ID) {
				c.VnfcState = sol.VnfOperationalStateStopped
			}
			info.VnfcInfo = append(info.VnfcInfo, c)
		}
	}
	s.Counts = map[string]int{"masterNode": masters, "workerNode": 2}
	i := &lcm.Instance{ID: "i", Instantiated: info}
	return k8scluster.New(k8scluster.Options{}).Validate(t.Context(), withTemplates(t, lcm.Request{
		Type: typ, Instance: i, VNFD: model(), Flavour: &f, Package: packageFS,
		Params: json.RawMessage(body), AdditionalParams: req.AdditionalParams, Scope: &s,
	}))
}

// An operation that would leave a cluster without its control plane, or with another number of masters or storage
// servers, is refused before anything is done.
func TestOperationsThatWouldBreakTheClusterAreRefused(t *testing.T) {
	t.Parallel()
	const all = `{"vnfcInstanceId":["x"]}` // the scope has the VNFCs that it stands for
	vnfcs := func(ids ...string) lcm.Scope { return lcm.Scope{VNFCs: ids} }
	tests := map[string]struct {
		flavour         string
		typ             sol.LcmOperationType
		scope           lcm.Scope
		body            string
		pointer, detail string // no pointer: accepted
	}{
		"another master": {
			"complex", sol.LcmOperationScale,
			lcm.Scope{Add: map[string]int{"masterNode": 1}},
			`{}`, "/aspectId",
			"masters cannot be scaled: only aspects of workerNode can.",
		},
		"a master less": {
			"complex", sol.LcmOperationScale,
			lcm.Scope{Remove: []string{"masterNode-2"}},
			`{}`, "/aspectId", "masters cannot be scaled: only aspects of workerNode can.",
		},
		"a level with more masters": {
			"complex", sol.LcmOperationScaleToLevel,
			lcm.Scope{Add: map[string]int{"masterNode": 2, "workerNode": 1}},
			`{}`, "", "masters cannot be scaled: the level would change the number of masterNode.",
		},
		"more workers": {
			"complex", sol.LcmOperationScale, lcm.Scope{Add: map[string]int{"workerNode": 1}}, `{}`, "", "",
		},
		"another storage server": {
			"storage", sol.LcmOperationScale,
			lcm.Scope{Add: map[string]int{"storage_server": 1}},
			`{}`, "/aspectId",
			"the storage server storage_server cannot be scaled.",
		},
		"the storage server less": {
			"storage", sol.LcmOperationScale,
			lcm.Scope{Remove: []string{"storage_server-0"}},
			`{}`, "/aspectId",
			"the storage server storage_server cannot be scaled.",
		},
		"a level with it": {
			"storage", sol.LcmOperationScaleToLevel,
			lcm.Scope{Add: map[string]int{"storage_server": 1}},
			`{}`, "",
			"the storage server storage_server cannot be scaled.",
		},
		"heal of the only master": {
			"simple", sol.LcmOperationHeal, vnfcs("masterNode-0"), all, "/vnfcInstanceId",
			"The number of Master-Nodes is 1 or less",
		},
		"heal of it among workers": {
			"simple", sol.LcmOperationHeal, vnfcs("workerNode-0", "masterNode-0"), all,
			"/vnfcInstanceId", "The number of Master-Nodes is 1 or less",
		},
		"heal of all masters": {
			"complex", sol.LcmOperationHeal, vnfcs("masterNode-0", "masterNode-1", "masterNode-2"), all,
			"/vnfcInstanceId", "The masters cannot all be healed at the same time",
		},
		"heal of two masters": {
			"complex", sol.LcmOperationHeal, vnfcs("masterNode-0", "masterNode-2"), all, "", "",
		},
		"heal of a worker":           {"simple", sol.LcmOperationHeal, vnfcs("workerNode-1"), all, "", ""},
		"heal of the storage server": {"storage", sol.LcmOperationHeal, vnfcs("storage_server-0"), all, "", ""},
		"heal of the whole VNF": {
			"simple", sol.LcmOperationHeal, vnfcs("masterNode-0", "workerNode-0", "workerNode-1"), `{}`, "", "",
		},
		"heal of the whole stack": {
			"simple", sol.LcmOperationHeal, lcm.Scope{Whole: true}, `{"additionalParams":{"all":true}}`, "", "",
		},
		"workers to a smaller level": {
			"simple", sol.LcmOperationScaleToLevel, lcm.Scope{Remove: []string{"workerNode-1"}}, `{}`, "", "",
		},
		"another flavour": {
			"complex", sol.LcmOperationChangeFlavour,
			lcm.Scope{Remove: []string{"masterNode-1", "masterNode-2"}},
			`{}`,
			"/newFlavourId", "a cluster keeps its flavour",
		},
		"revert of a master": {
			"complex", sol.LcmOperationRevertToSnapshot, vnfcs("masterNode-0"), `{}`,
			"/vnfcSnapshotInfoId", "single nodes of a Kubernetes cluster cannot be reverted",
		},
		"revert of the masters without the workers": {
			"complex", sol.LcmOperationRevertToSnapshot,
			vnfcs("masterNode-0", "masterNode-1", "masterNode-2"), `{}`,
			"/vnfcSnapshotInfoId", "single nodes of a Kubernetes cluster cannot be reverted",
		},
		"snapshot of a cluster": {
			"simple", sol.LcmOperationCreateSnapshot,
			vnfcs("masterNode-0", "workerNode-0", "workerNode-1"), `{}`, "", "",
		},
		"revert of a cluster": {
			"simple", sol.LcmOperationRevertToSnapshot,
			vnfcs("masterNode-0", "workerNode-0", "workerNode-1", "storage_server-0"), `{}`, "", "",
		},
		"nothing at all of a scaling": {"simple", sol.LcmOperationScale, lcm.Scope{}, `{}`, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := submit(t, tt.flavour, tt.typ, tt.scope, tt.body)
			if tt.detail == "" {
				require.NoError(t, err)
				return
			}
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			require.Len(t, e.Params, 1)
			require.Equal(t, tt.pointer, e.Params[0].Pointer)
			require.Contains(t, e.Params[0].Detail, tt.detail)
		})
	}
}

// A cluster whose masters are stopped must be started before anything is done with its nodes. The request is refused,
// and so is its plan, before a machine is made.
func TestStoppedClusterHasToBeStartedFirst(t *testing.T) {
	t.Parallel()
	heal := func(vnfcs ...string) lcm.Scope { return lcm.Scope{VNFCs: vnfcs} }
	masters := []string{"masterNode-0", "masterNode-1", "masterNode-2"}
	tests := map[string]struct {
		typ     sol.LcmOperationType
		scope   lcm.Scope
		stopped []string
		detail  string // none: accepted
	}{
		"scale out": {
			sol.LcmOperationScale,
			lcm.Scope{Add: map[string]int{"workerNode": 1}},
			masters,
			"a majority of the masters started, and " +
				"masterNode-0, masterNode-1 and masterNode-2 of VNF instance i are STOPPED",
		},
		"scale in": {
			sol.LcmOperationScale,
			lcm.Scope{Remove: []string{"workerNode-1"}},
			masters,
			"SCALE needs a majority of the masters started",
		},
		"scale to level": {
			sol.LcmOperationScaleToLevel,
			lcm.Scope{Add: map[string]int{"workerNode": 1}},
			masters,
			"SCALE_TO_LEVEL needs a majority of the masters started",
		},
		"a level that changes nothing": {sol.LcmOperationScaleToLevel, lcm.Scope{}, masters, ""},
		"heal of a worker": {
			sol.LcmOperationHeal, heal("workerNode-0"), masters, "HEAL needs a majority of the masters started",
		},
		"heal of the masters that are started": {
			sol.LcmOperationHeal, heal("masterNode-0", "masterNode-1"),
			[]string{"masterNode-2"},
			"HEAL needs a majority of the masters started, and masterNode-2 of VNF instance i is STOPPED",
		},
		"heal of most masters, which are stopped": {
			sol.LcmOperationHeal, heal("masterNode-0", "masterNode-1"), masters[:2],
			"masterNode-0 and masterNode-1 of VNF instance i are STOPPED",
		},
		"heal of the stopped master": {sol.LcmOperationHeal, heal("masterNode-0"), masters[:1], ""},
		"heal of a started master beside a stopped one": {
			sol.LcmOperationHeal, heal("masterNode-0"), masters[1:2], "HEAL needs a majority of the masters started",
		},
		"scale out with two stopped masters": {
			sol.LcmOperationScale,
			lcm.Scope{Add: map[string]int{"workerNode": 1}},
			masters[1:],
			"masterNode-1 and masterNode-2 of VNF instance i are STOPPED",
		},
		"heal of all masters and a worker": {
			sol.LcmOperationHeal, heal(append([]string{"workerNode-0"}, masters...)...), masters, "",
		},
		"heal of the whole stack": {sol.LcmOperationHeal, lcm.Scope{Whole: true}, masters, ""},
		"scale out with one stopped master": {
			sol.LcmOperationScale, lcm.Scope{Add: map[string]int{"workerNode": 1}}, []string{"masterNode-1"}, "",
		},
		"upgrade": {
			sol.LcmOperationChangeVnfpkg,
			lcm.Scope{},
			[]string{"workerNode-1"},
			"CHANGE_VNFPKG needs every machine of the cluster started, and workerNode-1 of VNF instance i is STOPPED",
		},
		"terminate": {sol.LcmOperationTerminate, lcm.Scope{}, masters, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := submit(t, "complex", tt.typ, tt.scope, `{}`, tt.stopped...)
			if tt.detail == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeConflict, e.Code, e.Detail)
			require.Contains(t, e.Detail, tt.detail)
			require.Contains(t, e.Hint, "start the VNF first")
		})
	}
}
