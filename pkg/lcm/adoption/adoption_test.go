package adoption_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/adoption"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const id = "4cdc110f-b21e-4b79-b3f5-252ee5937a36"

// version1 is an instance as version 1 of Tacker shows it: lists, nulls, and names in camel case.
const version1 = `{
	"id": "` + id + `", "vnfInstanceName": "vnf", "vnfInstanceDescription": null, "vnfdId": "vnfd",
	"instantiationState": "INSTANTIATED",
	"vimConnectionInfo": [
		{"id": "one", "vimId": "vim", "vimType": "openstack", "interfaceInfo": {}, "accessInfo": {}},
		{"id": "two", "vimId": "k8s", "vimType": "kubernetes", "interfaceInfo": null, "accessInfo": {"authUrl": "https://192.0.2.1:6443"}}
	],
	"instantiatedVnfInfo": {
		"flavourId": "simple", "scaleStatus": [{"aspectId": "worker_instance", "scaleLevel": 1}],
		"extVirtualLinkInfo": [{"id": "link", "resourceHandle": {"vimConnectionId": null, "resourceId": "net", "vimLevelResourceType": null}}],
		"vnfcResourceInfo": [{"id": "r1", "vduId": "worker", "computeResource": {"resourceId": "server"}}],
		"vnfcInfo": [{"id": "c1", "vduId": "worker", "vnfcState": "STARTED"}],
		"additionalParams": {"k8sClusterInstallationParam": {"masterNode": {"password": "***", "podCidr": "10.0.0.0/8"}}}
	}
}`

// instantiation is its INSTANTIATE operation; the parameters are a text in some releases.
const instantiation = `{"id": "op", "operation": "INSTANTIATE", "operationState": "COMPLETED", "operationParams": PARAMS}`

const params = `{"flavourId": "simple", "instantiationLevelId": "l", "vimConnectionInfo": [{"id": "one", "vimType": "openstack"}],
	"extVirtualLinks": [{"id": "link", "resourceId": "net", "extCps": [{"cpdId": "CP1", "cpConfig": [{"cpProtocolData": [
	{"layerProtocol": "IP_OVER_ETHERNET"}]}]}]}], "additionalParams": {"a": 1, "b": {"c": 2}}}`

func request(operations ...string) adoption.Request {
	req := adoption.Request{System: adoption.Tacker, Version: 1, Instance: json.RawMessage(version1)}
	for _, op := range operations {
		req.Operations = append(req.Operations, json.RawMessage(op))
	}
	return req
}

func withParams(params string) string { return strings.Replace(instantiation, "PARAMS", params, 1) }

// made is the request that would make the instance.
func made(t *testing.T, req adoption.Request) sol.InstantiateVnfRequest {
	t.Helper()
	s, err := adoption.Read(req)
	require.NoError(t, err)
	raw, err := s.Request()
	require.NoError(t, err)
	var out sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

func TestTheRequestThatMadeAnInstanceIsRecovered(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(params)
	require.NoError(t, err)
	for name, operation := range map[string]string{"object": withParams(params), "text": withParams(string(quoted))} {
		req := request(operation)
		req.Connections = map[string]string{"one": "here"}
		req.AdditionalParams = json.RawMessage(`{"b": {"c": null, "d": 3}}`)
		got := made(t, req)
		require.Equal(t, "simple", got.FlavourID, name)
		require.Equal(t, "l", got.InstantiationLevelID, name)
		require.Equal(t, "here", got.VimConnectionInfo["one"].VimID, name)
		require.Equal(t, sol.KeyValuePairs{"a": 1.0, "b": map[string]any{"d": 3.0}}, got.AdditionalParams, name)
		require.Equal(t, "net", got.ExtVirtualLinks[0].ResourceID, name)
		require.Contains(t, got.ExtVirtualLinks[0].ExtCps[0].CpConfig, "CP1", name)
	}
}

func TestLaterOperationsChangeTheRequest(t *testing.T) {
	t.Parallel()
	reconnected := `{"operation": "CHANGE_EXT_CONN", "operationState": "STATE", "operationParams": {"extVirtualLinks":
		[{"id": "other", "resourceId": "net2", "extCps": [{"cpdId": "CP1", "cpConfig": [{"linkPortId": "p"}]}]}]}}`
	got := made(t, request(strings.Replace(reconnected, "STATE", "COMPLETED", 1), withParams(params)))
	require.Len(t, got.ExtVirtualLinks, 1)
	require.Equal(t, "net2", got.ExtVirtualLinks[0].ResourceID)
	got = made(t, request(strings.Replace(reconnected, "STATE", "ROLLED_BACK", 1), withParams(params)))
	require.Equal(t, "net", got.ExtVirtualLinks[0].ResourceID)
	// an instance that was terminated and instantiated again has only the new links
	again := strings.Replace(withParams(params), `"net"`, `"net3"`, 1)
	got = made(t, request(again, strings.Replace(reconnected, "STATE", "COMPLETED", 1), withParams(params)))
	require.Len(t, got.ExtVirtualLinks, 1)
	require.Equal(t, "net3", got.ExtVirtualLinks[0].ResourceID)
}

func TestParametersAreTakenFromTheInstanceWithoutOperations(t *testing.T) {
	t.Parallel()
	got := made(t, request())
	require.Equal(t, sol.KeyValuePairs{"k8s_cluster_installation_param": map[string]any{
		"master_node": map[string]any{"pod_cidr": "10.0.0.0/8"},
	}}, got.AdditionalParams, "a hidden password is not taken for one")
}

func TestWhatTheDocumentsAllowIsRefusedTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*adoption.Request)
		want   map[string]string // details by pointers
	}{
		"as it should be": {func(*adoption.Request) {}, map[string]string{}},
		"unfinished operations": {
			func(r *adoption.Request) {
				r.Operations = append([]json.RawMessage{
					json.RawMessage(`{"id": "a", "operation": "HEAL", "operationState": "PROCESSING"}`),
					json.RawMessage(`{"id": "b", "operation": "SCALE", "operationState": "FAILED_TEMP"}`),
				}, r.Operations...)
			},
			map[string]string{
				"/operations/0/operationState": "operation a (HEAL) of the instance is PROCESSING",
				"/operations/1/operationState": "operation b (SCALE) of the instance is FAILED_TEMP",
			},
		},
		"not instantiated": {
			func(r *adoption.Request) {
				r.Instance = json.RawMessage(strings.Replace(version1, `"INSTANTIATED"`, `"NOT_INSTANTIATED"`, 1))
			},
			map[string]string{
				"/vnfInstance/instantiationState": `the instance is "NOT_INSTANTIATED", so it has no resources`,
			},
		},
		"another type of VIM": {
			func(r *adoption.Request) {
				r.Instance = json.RawMessage(strings.Replace(version1, `"openstack"`, `"ETSINFV.HELM.V_3"`, 1))
			},
			map[string]string{
				"/vnfInstance/vimConnectionInfo": `has no connection to an OpenStack; its types are "ETSINFV.HELM.V_3, kubernetes"`,
			},
		},
		"a connection that is not there": {
			func(r *adoption.Request) { r.Connections = map[string]string{"a/b": "vim"} },
			map[string]string{"/vimConnections/a~1b": "the instance has no VIM connection with this key"},
		},
		"no INSTANTIATE": {
			func(r *adoption.Request) { r.Operations = nil },
			map[string]string{
				"/operations": "the INSTANTIATE operation is not among the operations, and the instance does not say " +
					"which connection points its external virtual links have",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(withParams(params))
			tt.change(&req)
			s, err := adoption.Read(req)
			require.NoError(t, err)
			p := &adoption.Plan{}
			s.Check(p)
			got := map[string]string{}
			for _, r := range p.Refusals {
				got[r.Pointer] = r.Detail
			}
			require.Equal(t, tt.want, got)
			if len(tt.want) == 0 {
				require.NoError(t, p.Err())
				return
			}
			e := lcm.AsError(p.Err())
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			require.Len(t, e.Params, len(tt.want))
		})
	}
}

func TestDocumentsThatCannotBeReadAreRejectedAtTheirMember(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*adoption.Request)
		at     string
	}{
		"system":    {func(r *adoption.Request) { r.System = "other" }, "/source/system"},
		"version":   {func(r *adoption.Request) { r.Version = 3 }, "/source/apiVersion"},
		"instance":  {func(r *adoption.Request) { r.Instance = json.RawMessage(`[]`) }, "/vnfInstance"},
		"id":        {func(r *adoption.Request) { r.Instance = json.RawMessage(`{"id": "x"}`) }, "/vnfInstance/id"},
		"operation": {func(r *adoption.Request) { r.Operations[0] = json.RawMessage(`1`) }, "/operations/0"},
		"parameters": {
			func(r *adoption.Request) { r.Operations[0] = json.RawMessage(withParams(`"x"`)) },
			"/operations/0/operationParams",
		},
		"vim": {func(r *adoption.Request) { r.Vims = []json.RawMessage{json.RawMessage(`1`)} }, "/vims/0"},
	} {
		req := request(withParams(params))
		tt.change(&req)
		_, err := adoption.Read(req)
		require.Error(t, err, name)
		require.Equal(t, tt.at, lcm.AsError(err).Params[0].Pointer, name)
	}
}

func TestConnectionsOfClustersAreRecognised(t *testing.T) {
	t.Parallel()
	req := request(withParams(params))
	req.Vims = []json.RawMessage{json.RawMessage(`{"id": "k8s", "type": "kubernetes", "auth_url": "https://192.0.2.1:6443",
		"auth_cred": {"bearer_token": "t", "ssl_ca_cert": "ca", "password": "***"}}`)}
	s, err := adoption.Read(req)
	require.NoError(t, err)
	require.Equal(t, []sol.VimConnectionInfo{
		{
			VimType:       "ETSINFV.KUBERNETES.V_1",
			InterfaceInfo: sol.KeyValuePairs{"endpoint": "https://192.0.2.1:6443"}, AccessInfo: sol.KeyValuePairs{},
		},
		{
			VimType:       "ETSINFV.KUBERNETES.V_1",
			InterfaceInfo: sol.KeyValuePairs{"endpoint": "https://192.0.2.1:6443", "ssl_ca_cert": "ca"},
			AccessInfo:    sol.KeyValuePairs{"bearer_token": "t"},
		},
	}, s.Clusters())
	require.Equal(t, []sol.VnfcInfo{{ID: "r1", VduID: "worker", VnfcResourceInfoID: "server"}}, s.VNFCs())
	require.Equal(t, map[string]int{"worker_instance": 1}, s.Levels())
}

// The instance itself says in version 2 how it is connected; the ports of the consumer have a prefix there.
func TestConnectionsOfVersion2AreThoseOfTheInstance(t *testing.T) {
	t.Parallel()
	req := request()
	req.Version = 2
	req.Instance = json.RawMessage(`{"id": "` + id + `", "vnfdId": "vnfd", "instantiationState": "INSTANTIATED",
		"vimConnectionInfo": {"vim1": {"vimId": "vim", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}},
		"instantiatedVnfInfo": {"flavourId": "simple", "extVirtualLinkInfo": [{"id": "link",
			"resourceHandle": {"resourceId": "net"},
			"extLinkPorts": [{"id": "req-p1", "resourceHandle": {"resourceId": "port"}}, {"id": "own", "resourceHandle": {}}],
			"currentVnfExtCpData": [{"cpdId": "CP1", "cpConfig": {"key": {"linkPortId": "p1"}}}]}]}}`)
	require.Equal(t, []sol.ExtVirtualLinkData{{
		ID: "link", ResourceID: "net",
		ExtCps: []sol.VnfExtCpData{
			{CpdID: "CP1", CpConfig: map[string]sol.VnfExtCpConfig{"key": {LinkPortID: "p1"}}},
		},
		ExtLinkPorts: []sol.ExtLinkPortData{{ID: "p1", ResourceHandle: sol.ResourceHandle{ResourceID: "port"}}},
	}}, made(t, req).ExtVirtualLinks)
}
