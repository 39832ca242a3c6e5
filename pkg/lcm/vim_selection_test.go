package lcm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestVimOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, conns, vdu, want string }{
		{"one connection", `{"b":{}}`, "VDU1", "b"},
		{"the first by key", `{"b":{},"a":{}}`, "VDU1", "a"},
		{"not that of the own cluster", `{"b":{},"a":{"extra":{"gybe.vnfInstanceId":"i"}}}`, "VDU1", "b"},
		{"selected", `{"b":{"extra":{"gybe.vdus":["VDU1"]}},"a":{}}`, "VDU1", "b"},
		{"selected for another VDU", `{"a":{"extra":{"gybe.vdus":["VDU1"]}},"b":{}}`, "VDU2", "b"},
		{"all selected", `{"b":{"extra":{"gybe.vdus":["VDU1"]}},"a":{"extra":{"gybe.vdus":["VDU3"]}}}`, "VDU2", "a"},
		{"none", `{}`, "VDU1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var conns map[string]sol.VimConnectionInfo
			require.NoError(t, json.Unmarshal([]byte(tt.conns), &conns))
			key, _, ok := lcm.VimOf(conns, tt.vdu)
			require.Equal(t, tt.want, key)
			require.Equal(t, tt.want != "", ok)
		})
	}
}

// TestSelectionOfConnections: errors in the selection are reported before anything is created, and VNFCs do not move.
func TestSelectionOfConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const at = "/vimConnectionInfo/two/extra/gybe.vdus"
	body := func(vimType, list string) string {
		return `{"flavourId":"simple","vimConnectionInfo":{"one":{"vimType":"TEST"},` +
			`"two":{"vimType":"` + vimType + `","extra":{"gybe.vdus":` + list + `}}}}`
	}
	for list, want := range map[string][]string{
		`"workerNode"`: {at}, `[1]`: {at}, `["none"]`: {at}, `["workerNode","workerNode"]`: {at},
	} {
		_, err := w.do(sol.LcmOperationInstantiate, body("TEST", list))
		require.Equal(t, want, pointers(err), list)
	}
	_, err := w.do(sol.LcmOperationInstantiate, body("OTHER", `["workerNode"]`))
	require.Equal(t, []string{at}, pointers(err))

	w.done(sol.LcmOperationInstantiate, body("TEST", `["workerNode"]`))
	for _, r := range w.instance().Instantiated.VnfcResourceInfo {
		want := map[string]string{"masterNode": "one", "workerNode": "two"}[r.VduID]
		require.Equal(t, want, r.ComputeResource.VimConnectionID)
	}
	_, err = w.do(sol.LcmOperationModifyInfo, `{"vimConnectionInfo":{"two":{"extra":{"gybe.vdus":null}}}}`)
	require.Equal(t, []string{"/vimConnectionInfo/one"}, pointers(err))
	for patch, want := range map[string]string{
		`{"two":null}`: "/vimConnectionInfo/one",
		`{"one":null}`: "/vimConnectionInfo/two",
		`{"two":null,"three":{"vimType":"TEST","extra":{"gybe.vdus":["workerNode"]}}}`: "/vimConnectionInfo/three",
	} {
		_, err = w.do(sol.LcmOperationModifyInfo, `{"vimConnectionInfo":`+patch+`}`)
		require.Equal(t, []string{want}, pointers(err), patch)
	}
	w.done(sol.LcmOperationModifyInfo, `{"vimConnectionInfo":{"one":null,"uno":{"vimType":"TEST"}}}`)
}
