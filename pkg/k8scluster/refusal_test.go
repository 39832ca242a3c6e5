package k8scluster_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// What would leave a cluster without its control plane, or with another number of masters or storage servers, is
// refused before anything is done.
func TestOperationsThatWouldBreakTheClusterAreRefused(t *testing.T) {
	t.Parallel()
	request := func(flavour string, typ sol.LcmOperationType, s lcm.Scope, body string) error {
		var req struct {
			AdditionalParams sol.KeyValuePairs `json:"additionalParams"`
		}
		require.NoError(t, json.Unmarshal(paramFile(t, flavour), &req))
		masters := map[string]int{"simple": 1, "complex": 3, "storage": 1}[flavour]
		info := &sol.InstantiatedVnfInfo{}
		f := vnfd.Flavour{ID: flavour}
		for _, vdu := range []struct {
			name string
			size int
		}{{"masterNode", masters}, {"workerNode", 2}, {"storage_server", 1}} {
			f.VDUs = append(f.VDUs, vnfd.VDU{Name: vdu.name, MinInstances: vdu.size})
			for n := range vdu.size {
				info.VnfcInfo = append(
					info.VnfcInfo, sol.VnfcInfo{ID: fmt.Sprintf("%s-%d", vdu.name, n), VduID: vdu.name},
				)
			}
		}
		s.Counts = map[string]int{"masterNode": masters, "workerNode": 2}
		return k8scluster.New(k8scluster.Options{}).Validate(t.Context(), withTemplates(t, lcm.Request{
			Type: typ, Instance: &lcm.Instance{Instantiated: info}, VNFD: model(), Flavour: &f, Package: packageFS,
			Params: json.RawMessage(body), AdditionalParams: req.AdditionalParams, Scope: &s,
		}))
	}
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
		"nothing at all of a scaling": {"simple", sol.LcmOperationScale, lcm.Scope{}, `{}`, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := request(tt.flavour, tt.typ, tt.scope, tt.body)
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
