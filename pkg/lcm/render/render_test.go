package render_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

func connections() map[string]sol.VimConnectionInfo {
	return map[string]sol.VimConnectionInfo{
		"vim1": {VimType: "T", AccessInfo: sol.KeyValuePairs{"username": "u", "password": "p"}},
	}
}

// instance has a value for every attribute.
func instance() *lcm.Instance {
	const kv = sol.RawPairs(`{"k":"\u003cv\u003e"}`)
	return &lcm.Instance{
		ID: "i", Version: 7, Name: "n", Description: "d", VnfdID: "v", VnfPkgID: "pkg", Provider: "p",
		ProductName: "pn", SoftwareVersion: "1", VnfdVersion: "2", State: sol.InstantiationStateInstantiated,
		VimConnections: connections(), ConfigurableProperties: kv, Metadata: kv, Extensions: kv,
		Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "f", Metadata: sol.KeyValuePairs{"token": "t", "m": 1.0}},
	}
}

// operation has a value for every attribute.
func operation() *lcm.Operation {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("east", 3600))
	return &lcm.Operation{
		ID: "o", InstanceID: "i", Type: sol.LcmOperationInstantiate, State: sol.LcmOperationStateFailedTemp,
		StateEntered: now, Started: now, Version: 3,
		Params: json.RawMessage(`{"flavourId":"f","additionalParams":{"password":"p","n":12345678901234567890}}`),
		Cancel: sol.CancelModeGraceful, Grant: &lcm.Grant{ID: "g"},
		Error: &lcm.Failure{Status: 500, Detail: "d", Hint: "h"}, ResourceChanges: &sol.ResourceChanges{},
		ChangedInfo:            &sol.VnfInfoModifications{VnfInstanceName: "x", VimConnectionInfo: connections()},
		ChangedExtConnectivity: []sol.ExtVirtualLinkInfo{{ID: "l"}},
		Modifications:          &sol.ModificationsTriggeredByVnfPkgChange{VnfdID: "w"},
	}
}

func members(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	out := map[string]any{}
	if raw != nil {
		require.NoError(t, json.Unmarshal(raw, &out))
	}
	return out
}

// TestParamsOfAnInstanceAreRendered by the rules for operationParams, for an instance that has resources.
func TestParamsOfAnInstanceAreRendered(t *testing.T) {
	t.Parallel()
	i := instance()
	i.SecretNames = []string{"master_node/login", "additionalParams/pin"}
	i.Params = `{"pin":1,"k8s_param":{"master_node":{"ssh_cp_name":"c","password":"p","login":"l"},"login":"shown",
		"http_proxy":"http://u:p@h:1"},"n":12345678901234567890}`
	d, err := render.Instance(i)
	require.NoError(t, err)
	require.JSONEq(t, `{"k8sParam":{"httpProxy":"http://u@h:1","login":"shown","masterNode":{"sshCpName":"c"}},
		"n":12345678901234567890}`, string(d.Params))
	require.NotContains(t, string(d.Details), "k8s", "version 2 does not show them")
	for _, params := range []sol.RawPairs{"", "{}", `{"password":"p"}`} {
		i.Params = params
		d, err = render.Instance(i)
		require.NoError(t, err)
		require.Nil(t, d.Params, params)
	}
	i.Params, i.State = `{"a":1}`, sol.InstantiationStateNotInstantiated
	d, err = render.Instance(i)
	require.NoError(t, err)
	require.Nil(t, d.Params)
}

// TestInstanceIsCutWhereListsCutIt: brief lists are answered with Brief alone.
func TestInstanceIsCutWhereListsCutIt(t *testing.T) {
	t.Parallel()
	d, err := render.Instance(instance())
	require.NoError(t, err)
	require.Equal(t, selector.VnfInstances.ExcludedByDefault(), sorted(
		members(t, d.Details), selector.VnfInstances.ExcludedByDefault(),
	))
	for name := range members(t, d.Brief) {
		require.NotContains(t, selector.VnfInstances.ExcludedByDefault(), name)
	}
	// The two parts are the whole resource.
	i := instance()
	kv := sol.KeyValuePairs{"k": "<v>"}
	want, err := json.Marshal(redact.New().Instance(sol.VnfInstance{
		ID: i.ID, VnfInstanceName: i.Name, VnfInstanceDescription: i.Description, VnfdID: i.VnfdID,
		VnfProvider: i.Provider, VnfProductName: i.ProductName, VnfSoftwareVersion: i.SoftwareVersion,
		VnfdVersion: i.VnfdVersion, VnfConfigurableProperties: kv,
		VimConnectionInfo: i.VimConnections, InstantiationState: i.State, InstantiatedVnfInfo: i.Instantiated,
		Metadata: kv, Extensions: kv,
	}))
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(render.Join(d.Brief, d.Details)))
	require.NotContains(t, string(d.Details), "password")
	require.NotContains(t, string(d.Details), "token")
}

// sorted returns the names that an object has, in the order of names; further ones follow.
func sorted(object map[string]any, names []string) []string {
	var out []string
	for _, n := range names {
		if _, ok := object[n]; ok {
			out = append(out, n)
			delete(object, n)
		}
	}
	return append(out, slices.Sorted(maps.Keys(object))...)
}

func TestOperationIsCutWhereListsCutIt(t *testing.T) {
	t.Parallel()
	d, err := render.Operation(operation())
	require.NoError(t, err)
	require.Equal(t, selector.VnfLcmOpOccs.ExcludedByDefault(), sorted(
		members(t, d.Details), selector.VnfLcmOpOccs.ExcludedByDefault(),
	))
	for name := range members(t, d.Brief) {
		require.NotContains(t, selector.VnfLcmOpOccs.ExcludedByDefault(), name)
	}
	var got sol.VnfLcmOpOcc
	require.NoError(t, json.Unmarshal(render.Join(d.Brief, d.Details), &got))
	require.Equal(t, "2026-01-02T02:04:05Z", got.StartTime.Format(time.RFC3339))
	require.JSONEq(t, `{"flavourId":"f","additionalParams":{"n":12345678901234567890}}`, string(got.OperationParams))
	require.Contains(t, string(d.Details), "12345678901234567890", "numbers stay as they were written")
	require.True(t, got.IsCancelPending)
	require.Equal(t, "g", got.GrantID)
	require.Equal(t, "h", got.Error.Hint)
	require.NotContains(t, got.ChangedInfo.VimConnectionInfo["vim1"].AccessInfo, "password")
	require.Equal(t, "retry rollback fail", d.Events)
}

func TestResourcesWithoutDetailsHaveNone(t *testing.T) {
	t.Parallel()
	d, err := render.Instance(&lcm.Instance{ID: "i", Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "f"}})
	require.NoError(t, err)
	require.Nil(t, d.Details, "instantiatedVnfInfo is of an INSTANTIATED instance only")
	require.Equal(t, "f", d.FlavourID)
	o, err := render.Operation(&lcm.Operation{ID: "o"})
	require.NoError(t, err)
	require.Nil(t, o.Details)
}

func TestJoinedObjectsAreOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want  string
		parts []string
	}{
		{"", nil},
		{"", []string{"", "{}"}},
		{`{"a":1}`, []string{"", `{"a":1}`}},
		{`{"a":1,"b":{},"c":[]}`, []string{`{"a":1}`, "", `{"b":{}}`, `{"c":[]}`}},
	} {
		var parts [][]byte
		for _, p := range tt.parts {
			parts = append(parts, []byte(p))
		}
		require.Equal(t, tt.want, string(render.Join(parts...)))
	}
}

// BenchmarkWrite is the part of a write that renders: an instance of five VNFCs, and an operation whose params do not
// change.
func BenchmarkWrite(b *testing.B) {
	i, op := instance(), operation()
	for n := range 5 {
		id := string(rune('a' + n))
		i.Instantiated.VnfcResourceInfo = append(i.Instantiated.VnfcResourceInfo, sol.VnfcResourceInfo{
			ID: id, VduID: "VDU1",
			ComputeResource: sol.ResourceHandle{
				VimConnectionID: "vim1", ResourceID: id, VimLevelResourceType: "server",
			},
			Metadata: sol.KeyValuePairs{
				"stack_id": "stack", "flavor": "m1.small", "creation_time": "2026-01-02T03:04:05Z", "vdu_idx": 1.0,
			},
		})
	}
	for name, parts := range map[string][]func() ([]byte, error){
		"instance": {func() ([]byte, error) {
			return render.InstanceBrief(i)
		}, func() ([]byte, error) { return render.InstanceDetails(i) }},
		"operation": {func() ([]byte, error) {
			return render.OperationBrief(op)
		}, func() ([]byte, error) { return render.OperationDetails(op) }},
		"params": {func() ([]byte, error) { return render.OperationParams(op) }},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, part := range parts {
					if _, err := part(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
