package tacker_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tacker"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func TestLastingLeavesOutParametersOfOneOperation(t *testing.T) {
	t.Parallel()
	got := tacker.Lasting(sol.KeyValuePairs{
		"k8s_cluster_installation_param": map[string]any{"a": 1.0}, "lcm-operation-user-data": "u",
		"nfv": 1, "all": true,
		"upgrade_type": "RollingUpdate", "vdu_params": []any{},
		"lcm-operation-coordinate-new-vnf": "c", "lcm-operation-coordinate-old-vnf": "c",
	})
	want := sol.KeyValuePairs{
		"k8s_cluster_installation_param": map[string]any{"a": 1.0}, "lcm-operation-user-data": "u",
	}
	require.Equal(t, want, got)
	require.Nil(t, tacker.Lasting(nil))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	flavour := func(vdus ...string) *vnfd.Flavour {
		f := &vnfd.Flavour{}
		for _, name := range vdus {
			f.VDUs = append(f.VDUs, vnfd.VDU{Name: name})
		}
		return f
	}
	const at = "/additionalParams/"
	for _, tt := range []struct {
		name, params string
		typ          sol.LcmOperationType
		want         lcm.Options
		bad          []string
	}{
		{"nothing", `{}`, sol.LcmOperationHeal, lcm.Options{}, nil},
		{"whole", `{"all":true}`, sol.LcmOperationHeal, lcm.Options{Whole: true}, nil},
		{"null", `{"all":null}`, sol.LcmOperationHeal, lcm.Options{}, nil},
		{"no boolean", `{"all":"true"}`, sol.LcmOperationHeal, lcm.Options{}, []string{at + "all"}},
		{"another operation", `{"all":1,"vdu_params":1}`, sol.LcmOperationScale, lcm.Options{}, nil},
		{"all VDUs", `{"upgrade_type":"RollingUpdate"}`, sol.LcmOperationChangeVnfpkg, lcm.Options{}, nil},
		{
			"a null type", `{"upgrade_type":null}`, sol.LcmOperationChangeVnfpkg,
			lcm.Options{},
			[]string{at + "upgrade_type"},
		},
		{
			"some VDUs", `{"vdu_params":[{"vdu_id":"b"},{"vdu_id":"a"}]}`, sol.LcmOperationChangeVnfpkg,
			lcm.Options{VDUs: []string{"b", "a"}},
			nil,
		},
		{
			"wrong VDUs",
			`{"upgrade_type":"BlueGreen","vdu_params":[{},1,{"vdu_id":"c"},{"vdu_id":"d"},{"vdu_id":"a"}]}`,
			sol.LcmOperationChangeVnfpkg,
			lcm.Options{VDUs: []string{"a"}},
			[]string{
				at + "upgrade_type", at + "vdu_params/0/vdu_id", at + "vdu_params/1/vdu_id",
				at + "vdu_params/2/vdu_id", at + "vdu_params/3/vdu_id",
			},
		},
		{
			"an empty list", `{"vdu_params":[]}`, sol.LcmOperationChangeVnfpkg,
			lcm.Options{},
			[]string{at + "vdu_params"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tacker.Options(lcm.Request{
				Type: tt.typ, Params: json.RawMessage(`{"additionalParams":` + tt.params + `}`),
				Flavour: flavour("a", "b", "c"), Previous: &lcm.Revision{Flavour: flavour("a", "b", "d")},
			})
			var bad []string
			if err != nil {
				for _, p := range lcm.AsError(err).Params {
					bad = append(bad, p.Pointer)
				}
			}
			require.Equal(t, tt.bad, bad)
			require.Equal(t, tt.want, got)
		})
	}
}
