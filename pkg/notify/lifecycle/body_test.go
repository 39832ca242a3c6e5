package lifecycle

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestConnectivityInBothVersions: a subscriber of version 1 gets the changed connectivity with a list of configurations
// (SOL003 v2.6.1 clause 4.4.1.10b), one of version 2 with an object (v3.3.1), unless it wants SHORT notifications.
func TestConnectivityInBothVersions(t *testing.T) {
	t.Parallel()
	message := notify.Message{Kind: lcm.KindOperation, Body: []byte(`{
		"id":"n","notificationType":"VnfLcmOperationOccurrenceNotification","notificationStatus":"RESULT",
		"operationState":"COMPLETED","operation":"CHANGE_EXT_CONN","vnfInstanceId":"i","vnfLcmOpOccId":"o",
		"timeStamp":"2026-11-23T10:00:00Z",
		"changedInfo":{"vimConnectionInfo":{"vim1":{"vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3"}}},
		"changedExtConnectivity":[{"id":"net","resourceHandle":{"resourceId":"r"},"currentVnfExtCpData":[
			{"cpdId":"CP1","cpConfig":{"x":{"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}}}]}]}`)}
	for name, tt := range map[string]struct {
		version   string
		verbosity sol.LcmOpOccNotificationVerbosityType
		instance  string // link
		links     string // changedExtConnectivity; "" = absent
		vims      string // vimConnectionInfo of changedInfo
	}{
		"version 1": {
			"1.3.0", sol.VerbosityFull, "/vnflcm/v1/vnf_instances/i",
			`[{"id":"net","resourceHandle":{"resourceId":"r"},"currentVnfExtCpData":[{"cpdId":"CP1","cpConfig":[
				{"cpInstanceId":"x","cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}]}]}]`,
			`[{"id":"vim1","vimType":"openstack"}]`,
		},
		"version 2": {
			"2.0.0", sol.VerbosityFull, "/vnflcm/v2/vnf_instances/i",
			`[{"id":"net","resourceHandle":{"resourceId":"r"},"currentVnfExtCpData":[{"cpdId":"CP1","cpConfig":{
				"x":{"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}}}]}]`,
			`{"vim1":{"vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3"}}`,
		},
		"version 2, short": {"2.0.0", sol.VerbosityShort, "/vnflcm/v2/vnf_instances/i", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := render(message, &notify.Subscription{ID: "s", Version: tt.version, Verbosity: tt.verbosity},
				func(path string) sol.Link { return sol.Link{Href: path} })
			require.NoError(t, err)
			var got struct {
				Subscription string          `json:"subscriptionId"`
				Operation    string          `json:"operation"`
				Links        json.RawMessage `json:"changedExtConnectivity"`
				Changed      struct {
					Vims json.RawMessage `json:"vimConnectionInfo"`
				} `json:"changedInfo"`
				Refs sol.LccnLinks `json:"_links"`
			}
			require.NoError(t, json.Unmarshal(raw, &got))
			require.Equal(t, "s", got.Subscription)
			require.Equal(t, "CHANGE_EXT_CONN", got.Operation)
			require.Equal(t, tt.instance, got.Refs.VnfInstance.Href)
			if tt.links == "" {
				require.Empty(t, got.Links)
				require.Empty(t, got.Changed.Vims)
				return
			}
			require.JSONEq(t, tt.links, string(got.Links))
			require.JSONEq(t, tt.vims, string(got.Changed.Vims))
		})
	}
}
