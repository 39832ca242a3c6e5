package selector_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

func instance() sol.VnfInstance {
	return sol.VnfInstance{
		ID: "i1", VnfInstanceName: "name", VnfdID: "d1", VnfProvider: "p", VnfProductName: "n",
		VnfSoftwareVersion: "1", VnfdVersion: "2",
		VnfConfigurableProperties: sol.KeyValuePairs{"a": "b"},
		VimConnectionInfo: map[string]sol.VimConnectionInfo{
			"vim1": {
				VimType: "T", InterfaceInfo: sol.KeyValuePairs{"endpoint": "e"}, Extra: sol.KeyValuePairs{"x": 1.0},
			},
			"vim2": {VimType: "T"},
		},
		InstantiationState: sol.InstantiationStateInstantiated,
		InstantiatedVnfInfo: &sol.InstantiatedVnfInfo{
			FlavourID: "simple", VnfState: sol.VnfOperationalStateStarted,
			ScaleStatus: []sol.ScaleInfo{{AspectID: "asp", ScaleLevel: 1}},
			VnfcResourceInfo: []sol.VnfcResourceInfo{
				{
					ID:              "r1",
					VduID:           "v1",
					ZoneID:          "z",
					ComputeResource: sol.ResourceHandle{ResourceID: "s1", VimConnectionID: "vim1"},
				},
				{ID: "r2", VduID: "v2", ZoneID: "z", Metadata: sol.KeyValuePairs{
					"k": map[string]any{"deep": 1.0, "er": 2.0},
				}},
			},
		},
		Metadata: sol.KeyValuePairs{"m": "1", "n": map[string]any{"o": "2", "p": "3"}},
		Links:    &sol.VnfInstanceLinks{Self: sol.Link{Href: "h"}, Heal: &sol.Link{Href: "h/heal"}},
	}
}

const mandatory = `"id":"i1","vnfdId":"d1","vnfProvider":"p","vnfProductName":"n","vnfSoftwareVersion":"1","vnfdVersion":"2","instantiationState":"INSTANTIATED"`

func TestSelect(t *testing.T) {
	t.Parallel()
	const name = `,"vnfInstanceName":"name"`
	const links = `,"_links":{"self":{"href":"h"},"heal":{"href":"h/heal"}}`
	const always = mandatory + name + links
	whole, err := json.Marshal(instance())
	require.NoError(t, err)
	tests := []struct{ query, want string }{
		{"", `{` + always + `}`},
		{"exclude_default", `{` + always + `}`},
		{"all_fields", string(whole)},
		{"all_fields=true", string(whole)},
		{"fields=vnfInstanceName", `{` + always + `}`},
		{"fields=metadata/m", `{` + always + `,"metadata":{"m":"1"}}`},
		{"fields=metadata/n/o,metadata/zzz", `{` + always + `,"metadata":{"n":{"o":"2"}}}`},
		{"fields=metadata/m,metadata", `{` + always + `,"metadata":{"m":"1","n":{"o":"2","p":"3"}}}`},
		{"fields=metadata,metadata/m", `{` + always + `,"metadata":{"m":"1","n":{"o":"2","p":"3"}}}`},
		{
			"fields=vimConnectionInfo/vim1/extra",
			`{` + always + `,"vimConnectionInfo":{"vim1":{"vimType":"T","extra":{"x":1}}}}`,
		},
		{
			"fields=instantiatedVnfInfo/vnfcResourceInfo/zoneId",
			`{` + always + `,"instantiatedVnfInfo":{"flavourId":"simple","vnfState":"STARTED","vnfcResourceInfo":[` +
				`{"id":"r1","vduId":"v1","zoneId":"z","computeResource":{"resourceId":"s1","vimConnectionId":"vim1"}},` +
				`{"id":"r2","vduId":"v2","zoneId":"z","computeResource":{"resourceId":""}}]}}`,
		},
		{
			"fields=_links/self",
			`{` + mandatory + name + `,"_links":{"self":{"href":"h"}}}`,
		},
		{
			"fields=metadata/m&exclude_default",
			`{` + mandatory + name + `,"metadata":{"m":"1","n":{"o":"2","p":"3"}}` + links + `}`,
		},
		{
			"exclude_fields=vnfInstanceName,instantiatedVnfInfo/vnfcResourceInfo/metadata/k/deep,instantiatedVnfInfo/" +
				"scaleStatus,vimConnectionInfo/vim1,metadata/n/o,vnfConfigurableProperties,_links",
			`{` + always + `,"vimConnectionInfo":{"vim2":{"vimType":"T"}},"metadata":{"m":"1","n":{"p":"3"}},` +
				`"instantiatedVnfInfo":{"flavourId":"simple","vnfState":"STARTED","vnfcResourceInfo":[` +
				`{"id":"r1","vduId":"v1","zoneId":"z","computeResource":{"resourceId":"s1","vimConnectionId":"vim1"}},` +
				`{"id":"r2","vduId":"v2","zoneId":"z","computeResource":{"resourceId":""},"metadata":{"k":{"er":2}}}]}}`,
		},
		{
			"exclude_fields=id,vnfConfigurableProperties,vimConnectionInfo,instantiatedVnfInfo,metadata",
			`{` + always + `}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			query, err := url.ParseQuery(tt.query)
			require.NoError(t, err)
			sel, err := selector.VnfInstances.Parse(query)
			require.NoError(t, err)
			original := instance()
			got, err := json.Marshal(sel.Apply(original))
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(got))
			require.Equal(t, instance(), original, "selecting must not change the stored resource")
		})
	}
}

func TestSelectInsideRawJSON(t *testing.T) {
	t.Parallel()
	op := sol.VnfLcmOpOcc{
		ID:              "o",
		StartTime:       time.Unix(0, 0),
		OperationParams: json.RawMessage(`{"flavourId":"f","additionalParams":{"a":1,"b":2}}`),
	}
	sel, err := selector.VnfLcmOpOccs.Parse(url.Values{"fields": {"operationParams/additionalParams/a"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"additionalParams":{"a":1}}`, string(sel.Apply(op).OperationParams))
	sel, err = selector.VnfLcmOpOccs.Parse(url.Values{"exclude_fields": {"operationParams/additionalParams/a"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"flavourId":"f","additionalParams":{"b":2}}`, string(sel.Apply(op).OperationParams))
	require.JSONEq(
		t,
		`{"flavourId":"f","additionalParams":{"a":1,"b":2}}`,
		string(op.OperationParams),
		"selecting must not change the stored resource",
	)
}

func TestSelectorIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ query, want string }{
		{"all_fields&fields=id", "all_fields: cannot be combined"},
		{"all_fields&exclude_default", "all_fields: cannot be combined"},
		{"all_fields&exclude_fields=metadata", "all_fields: cannot be combined"},
		{"fields=id&exclude_fields=metadata", "exclude_fields: cannot be combined"},
		{"exclude_default&exclude_fields=metadata", "exclude_fields: cannot be combined"},
		{"all_fields=no", "takes no value"},
		{"fields=", "name is empty"},
		{"fields=id,", "name is empty"},
		{"fields=vnfInstanceNam", `"vnfInstanceNam" is not an attribute`},
		{
			"fields=instantiatedVnfInfo/vnfcResourceInfo/vdu",
			`"instantiatedVnfInfo/vnfcResourceInfo/vdu" is not an attribute`,
		},
		{"exclude_fields=id/x", `"id" has no parts`},
		{"fields=metadata" + strings.Repeat("/a", 20), "more than 16 parts"},
		{"fields=id" + strings.Repeat(",id", 200), "more than 128 attributes"},
	}
	for _, tt := range tests {
		t.Run(tt.query[:min(len(tt.query), 40)], func(t *testing.T) {
			t.Parallel()
			query, err := url.ParseQuery(tt.query)
			require.NoError(t, err)
			_, err = selector.VnfInstances.Parse(query)
			var wrong *selector.Error
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestWantsSparesTheStoreWhatIsDropped(t *testing.T) {
	t.Parallel()
	parse := func(q url.Values) selector.Selection[sol.VnfInstance] {
		sel, err := selector.VnfInstances.Parse(q)
		require.NoError(t, err)
		return sel
	}
	require.False(t, parse(nil).Wants("instantiatedVnfInfo"))
	require.True(t, parse(nil).Wants("id"))
	require.True(t, parse(url.Values{"all_fields": {""}}).Wants("instantiatedVnfInfo"))
	require.True(t, parse(url.Values{"fields": {"instantiatedVnfInfo/vnfState"}}).Wants("instantiatedVnfInfo"))
	require.False(t, parse(url.Values{"fields": {"metadata"}}).Wants("instantiatedVnfInfo"))
	require.True(t, parse(url.Values{"exclude_fields": {"instantiatedVnfInfo/vnfState"}}).Wants("instantiatedVnfInfo"))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"fields=id,metadata/a", "exclude_fields=vimConnectionInfo/vim1/extra", "all_fields",
		"fields=metadata~1x&exclude_default",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		sel, err := selector.VnfInstances.Parse(query)
		if err != nil {
			return
		}
		original := instance()
		got := sel.Apply(original)
		require.True(t, reflect.DeepEqual(instance(), original))
		require.Equal(t, original.ID, got.ID)
		require.Equal(t, original.InstantiationState, got.InstantiationState)
		_, err = json.Marshal(got)
		require.NoError(t, err)
		encoded, err := json.Marshal(original)
		require.NoError(t, err)
		requireSame(t, sel, original, encoded)
	})
}

func TestSelectionsOfJSONAreThoseOfValues(t *testing.T) {
	t.Parallel()
	v := instance()
	v.Metadata["qu\"ote\\"] = "a \\\" } ] , : \\"
	v.Metadata["<&>"] = []any{map[string]any{"x": 1.5, "y": nil}, true, "z"}
	v.Metadata["only"] = map[string]any{"one": "1"}
	v.Extensions = sol.KeyValuePairs{"e": "1"}
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	for _, q := range []string{
		"", "all_fields", "fields=vnfInstanceName", "fields=metadata", "fields=metadata/none",
		"fields=metadata/m,extensions/none", "fields=metadata/n/o,metadata/zzz", "fields=metadata/only/none",
		"fields=metadata/qu\"ote\\", "fields=metadata/%3C%26%3E/x", "fields=vimConnectionInfo/vim1/extra",
		"fields=vimConnectionInfo/none", "fields=instantiatedVnfInfo/vnfcResourceInfo/zoneId",
		"fields=instantiatedVnfInfo/vnfcResourceInfo/metadata/k/deep",
		"fields=instantiatedVnfInfo/scaleStatus&exclude_default", "fields=_links/heal", "exclude_fields=_links/heal",
		"exclude_fields=extensions/e,metadata/only/one", "exclude_fields=metadata/%3C%26%3E/y",
		"exclude_fields=id,instantiatedVnfInfo/vnfcResourceInfo/id",
		"exclude_fields=instantiatedVnfInfo/vnfcResourceInfo/computeResource,vimConnectionInfo/vim2",
	} {
		query, err := url.ParseQuery(q)
		require.NoError(t, err)
		sel, err := selector.VnfInstances.Parse(query)
		require.NoError(t, err, q)
		requireSame(t, sel, v, raw)
	}
	only := selector.KeepOnly[sol.VnfInstance](
		[]string{"instantiatedVnfInfo", "vnfcResourceInfo", "zoneId"}, []string{"extensions"}, []string{"id"},
	)
	got, err := only.AppendJSON(nil, raw)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"i1","instantiatedVnfInfo":{"vnfcResourceInfo":[{"zoneId":"z"},{"zoneId":"z"}]},
		"extensions":{"e":"1"}}`, string(got), "a filter reads what it needs and no more")

	op := sol.VnfLcmOpOcc{ID: "o", StartTime: time.Unix(0, 0), OperationParams: json.RawMessage(
		`{"flavourId":"f","additionalParams":{"a":1,"b":[{"c":2}]}}`,
	)}
	raw, err = json.Marshal(op)
	require.NoError(t, err)
	for _, path := range []string{
		"operationParams/additionalParams/a", "operationParams/additionalParams/b/c",
		"operationParams/x", "operationParams",
	} {
		for _, param := range []string{"fields", "exclude_fields"} {
			sel, err := selector.VnfLcmOpOccs.Parse(url.Values{param: {path}})
			require.NoError(t, err)
			requireSame(t, sel, op, raw)
		}
	}
}

// requireSame compares the two ways to select.
func requireSame[T any](t require.TestingT, sel selector.Selection[T], v T, raw []byte) {
	want, err := json.Marshal(sel.Apply(v))
	require.NoError(t, err)
	got, err := sel.AppendJSON([]byte("x"), raw)
	require.NoError(t, err)
	require.True(t, json.Valid(got[1:]), "%s", got)
	require.JSONEq(t, string(want), string(got[1:]))
}

func TestBrokenJSONIsAnError(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(instance())
	require.NoError(t, err)
	sel, err := selector.VnfInstances.Parse(
		url.Values{"fields": {"metadata/n/o,instantiatedVnfInfo/vnfcResourceInfo/metadata/k"}},
	)
	require.NoError(t, err)
	for n := range len(raw) - 1 {
		_, err := sel.AppendJSON(nil, raw[:n])
		require.Error(t, err, "%s", raw[:n])
	}
}
