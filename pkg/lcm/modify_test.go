package lcm_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/apitest"
)

func TestAModificationMergesAsTheRFCSaysAndTellsExactlyWhatChanged(t *testing.T) {
	t.Parallel()
	w := running(t)
	op := w.done(sol.LcmOperationModifyInfo, `{"vnfInstanceName":"new","vnfInstanceDescription":"d","metadata":{"a":{"b":1,"c":2},"k":null,"same":1},
		"extensions":{"e":[1]},"vnfConfigurableProperties":{"isAutoscaleEnabled":true}}`)
	i := w.instance()
	require.Equal(t, "new", i.Name)
	require.JSONEq(t, `{"a":{"b":1,"c":2},"same":1}`, string(i.Metadata))
	require.Equal(t, &sol.VnfInfoModifications{
		VnfInstanceName: "new", VnfInstanceDescription: "d",
		Metadata:                  sol.KeyValuePairs{"a": map[string]any{"b": 1.0, "c": 2.0}, "k": nil, "same": 1.0},
		Extensions:                sol.KeyValuePairs{"e": []any{1.0}},
		VnfConfigurableProperties: sol.KeyValuePairs{"isAutoscaleEnabled": true},
	}, op.ChangedInfo)
	require.Equal(t, []string{"modify_information_start 1.0 3", "modify_information_end 1.0 3"}, w.Hooks.Take())
	require.Nil(t, op.Grant, "it needs no grant")

	op = w.done(
		sol.LcmOperationModifyInfo,
		`{"vnfInstanceName":null,"metadata":{"a":{"b":null,"d":3},"same":1},"extensions":null}`,
	)
	i = w.instance()
	require.Empty(t, i.Name)
	require.JSONEq(t, `{"a":{"c":2,"d":3},"same":1}`, string(i.Metadata))
	require.Empty(t, i.Extensions)
	require.Equal(t, &sol.VnfInfoModifications{
		Metadata: sol.KeyValuePairs{"a": map[string]any{"b": nil, "d": 3.0}}, Extensions: sol.KeyValuePairs{"e": nil},
	}, op.ChangedInfo)

	op = w.done(sol.LcmOperationModifyInfo, `{"metadata":{"same":1}}`)
	require.Nil(t, op.ChangedInfo)

	vnfc := w.vnfcs("")[0]
	op = w.done(sol.LcmOperationModifyInfo, `{"vnfcInfoModifications":[{"id":"`+vnfc+`","vnfcConfigurableProperties":{"p":1}}],"metadata":{"VDU_VNFc_mapping":{"workerNode":["a","b"]}}}`)
	c, _, _ := w.instance().VNFC(vnfc)
	require.Equal(t, sol.KeyValuePairs{"p": 1.0}, c.VnfcConfigurableProperties)
	require.Equal(t, []sol.VnfcInfoModifications{{ID: vnfc, VnfcConfigurableProperties: sol.KeyValuePairs{"p": 1.0}}},
		op.ChangedInfo.VnfcInfoModifications)
}

func TestVIMConnectionsCanBeAddedChangedAndTakenAway(t *testing.T) {
	t.Parallel()
	w := running(t)
	w.done(sol.LcmOperationModifyInfo, `{"vimConnectionInfo":{"vim1":{"vimType":"TEST","accessInfo":{"password":"new"}},"vim2":{"vimType":"OTHER"}}}`)
	conns := w.instance().VimConnections
	require.Equal(
		t, sol.KeyValuePairs{"username": "nfv_user", "password": "new", "project": "nfv"}, conns["vim1"].AccessInfo,
	)
	require.Contains(t, conns, "vim2")
	w.done(sol.LcmOperationModifyInfo, `{"vimConnectionInfo":{"vim2":null}}`)
	require.NotContains(t, w.instance().VimConnections, "vim2")
}

func TestTheProductOfAnInstanceCanBeChanged(t *testing.T) {
	t.Parallel()
	for _, instantiated := range []bool{false, true} {
		w := newWorld(t)
		if instantiated {
			w.instantiate()
			w.Hooks.Take()
		}
		op := w.done(sol.LcmOperationModifyInfo, `{"vnfdId":"`+apitest.NextID+`"}`)
		i := w.instance()
		require.Equal(t, []string{apitest.NextID, "2.0", "2.0"}, []string{i.VnfdID, i.VnfdVersion, i.SoftwareVersion})
		require.Equal(
			t, &sol.VnfInfoModifications{VnfdID: apitest.NextID, VnfdVersion: "2.0", VnfSoftwareVersion: "2.0"},
			op.ChangedInfo,
		)
		if instantiated {
			require.Equal(t, []string{"modify_information_start 2.0 3", "modify_information_end 2.0 3"}, w.Hooks.Take())
			_, err := w.do(sol.LcmOperationModifyInfo, `{"vnfdId":"`+apitest.ClusterID+`"}`)
			require.NoError(t, err, "it has the flavour and the VDUs, too")
		}
	}
	w := newWorld(t)
	w.Packages.Disable(apitest.NextID)
	_, err := w.do(sol.LcmOperationModifyInfo, `{"vnfdId":"`+apitest.NextID+`"}`)
	require.Equal(t, []string{"/vnfdId"}, pointers(err))
}

// TestVNFCsOfAnEarlierVNFD: VNFCs are recorded as made from the VNFD that the instance had, a rollback takes that back,
// and a VNFD without their VDU is refused.
func TestVNFCsOfAnEarlierVNFD(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.instantiate()
	made := func() map[any]int {
		out := map[any]int{}
		for _, r := range w.instance().Instantiated.VnfcResourceInfo {
			out[r.Metadata[lcm.MadeFromVnfd]]++
		}
		return out
	}
	vnfcs := len(w.instance().Instantiated.VnfcInfo)
	require.Equal(t, map[any]int{nil: vnfcs}, made())
	w.done(sol.LcmOperationModifyInfo, `{"vnfInstanceName":"other"}`)
	require.Equal(t, map[any]int{nil: vnfcs}, made())
	w.done(sol.LcmOperationModifyInfo, `{"vnfdId":"`+apitest.NextID+`"}`)
	require.Equal(t, map[any]int{apitest.ClusterID: vnfcs}, made())

	const lackingID = "5f1a9a3e-8d37-4c0b-9c55-2f3d53c0a003"
	lacking := apitest.Cluster(lackingID, "3.0")
	for n := range lacking.Flavours {
		lacking.Flavours[n].VDUs = slices.DeleteFunc(
			lacking.Flavours[n].VDUs, func(v vnfd.VDU) bool { return v.Name == "workerNode" },
		)
	}
	w.Add(t, "0d2b3f7e-7a2f-4a39-8a5e-3a4f4c6a1b14", lacking)
	_, err := w.do(sol.LcmOperationModifyInfo, `{"vnfdId":"`+lackingID+`"}`)
	require.Equal(t, []string{"/vnfdId"}, pointers(err))
	require.ErrorContains(t, err, `has no VDU "workerNode"`)
}

func TestModifyWithAnOldVersionIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	version := w.instance().Version
	modify := func(v int64) (*lcm.Operation, error) {
		task, err := lcm.ParseTask(sol.LcmOperationModifyInfo, []byte(`{"vnfInstanceName":"x"}`))
		require.NoError(t, err)
		task.IfVersion = &v
		return w.Service.Submit(t.Context(), w.id, task)
	}
	_, err := modify(version + 1)
	require.Equal(t, 412, lcm.AsError(err).Status())
	op, err := modify(version)
	require.NoError(t, err)
	require.Equal(t, sol.LcmOperationStateProcessing, op.State)
	w.Work(t, op.ID)
	_, err = modify(version)
	require.Equal(t, 412, lcm.AsError(err).Status())
}

func TestAMappingOfVNFCIdsIsCheckedAtTheBeginningToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Service.CreateInstance(t.Context(), sol.CreateVnfRequest{
		VnfdID:   apitest.ClusterID,
		Metadata: sol.KeyValuePairs{"VDU_VNFc_mapping": map[string]any{"a": []any{"x", "x"}}},
	})
	require.Equal(t, []string{"/metadata/VDU_VNFc_mapping/a/1"}, pointers(err))
}
