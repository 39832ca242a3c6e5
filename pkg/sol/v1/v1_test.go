package v1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
)

// names are those of an instance with one VNFC.
type names struct{}

func (names) VNFC(id string) (string, bool)        { return "worker-1", id == "res-1" }
func (names) CpConfig(id string) (string, bool)    { return "left", id == "cp-1" }
func (names) CpConfigOf(cpd string) (string, bool) { return "left", cpd == "CP1" }

func TestRequestsGetTheFormOfVersion2(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ given, want string }{
		"nothing to do": {`{"terminationType":"GRACEFUL"}`, `{"terminationType":"GRACEFUL"}`},
		"connections": {
			`{"flavourId":"simple","vimConnectionInfo":[
				{"id":"a/b","vimId":"1","vimType":"openstack"},
				{"id":"k","vimType":"kubernetes","accessInfo":{"bearer_token":"t"}},
				{"id":"z","vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3"}]}`,
			`{"flavourId":"simple","vimConnectionInfo":{
				"a/b":{"vimId":"1","vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3"},
				"k":{"vimType":"ETSINFV.KUBERNETES.V_1","accessInfo":{"bearer_token":"t"}},
				"z":{"vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3"}}}`,
		},
		"Helm charts": {
			`{"vimConnectionInfo":[{"id":"k","vimType":"kubernetes"},{"id":"o","vimType":"openstack"}],
				"additionalParams":{"use_helm":true}}`,
			`{"vimConnectionInfo":{"k":{"vimType":"ETSINFV.HELM.V_3"},"o":{"vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3"}},
				"additionalParams":{"use_helm":true}}`,
		},
		"Helm charts, as a text": {
			`{"vimConnectionInfo":[{"id":"k","vimType":"kubernetes"}],"additionalParams":{"use_helm":"True"}}`,
			`{"vimConnectionInfo":{"k":{"vimType":"ETSINFV.HELM.V_3"}},"additionalParams":{"use_helm":"True"}}`,
		},
		"no Helm charts": {
			`{"vimConnectionInfo":[{"id":"k","vimType":"kubernetes"}],"additionalParams":{"use_helm":"false"}}`,
			`{"vimConnectionInfo":{"k":{"vimType":"ETSINFV.KUBERNETES.V_1"}},"additionalParams":{"use_helm":"false"}}`,
		},
		"URLs of Keystone": {
			`{"vimConnectionInfo":[
				{"id":"a","accessInfo":{"authUrl":"http://k","username":"u"}},
				{"id":"b","accessInfo":{"authUrl":"http://k"},"interfaceInfo":{"endpoint":"http://e"}},
				{"id":"c","accessInfo":{"authUrl":1}},
				{"id":"d","accessInfo":{"authUrl":"http://k"},"interfaceInfo":{"trustedCertificates":"PEM"}}]}`,
			`{"vimConnectionInfo":{
				"a":{"interfaceInfo":{"endpoint":"http://k"},"accessInfo":{"username":"u"}},
				"b":{"accessInfo":{"authUrl":"http://k"},"interfaceInfo":{"endpoint":"http://e"}},
				"c":{"accessInfo":{"authUrl":1}},
				"d":{"accessInfo":{},"interfaceInfo":{"endpoint":"http://k","trustedCertificates":"PEM"}}}}`,
		},
		"configurations": {
			`{"extVirtualLinks":[{"id":"n","resourceId":"r","extCps":[
				{"cpdId":"CP2","cpConfig":[{"linkPortId":"p"}]},
				{"cpdId":"CP1","cpConfig":[{"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}]},
				{"cpdId":"CP3","cpConfig":[{"cpInstanceId":"cp-1"},{"cpInstanceId":"own"}]},
				{"cpdId":"CP4"}]},{"id":"m","resourceId":"r"}]}`,
			`{"extVirtualLinks":[{"id":"n","resourceId":"r","extCps":[
				{"cpdId":"CP2","cpConfig":{"CP2":{"linkPortId":"p"}}},
				{"cpdId":"CP1","cpConfig":{"left":{"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}}},
				{"cpdId":"CP3","cpConfig":{"left":{},"own":{}}},
				{"cpdId":"CP4"}]},{"id":"m","resourceId":"r"}]}`,
		},
		"link ports that are links": {
			`{"extVirtualLinks":[
				{"id":"n","resourceId":"r","extCps":[{"cpdId":"C","cpConfig":[{"linkPortId":"n"}]}]},
				{"id":"m","resourceId":"r","extCps":[{"cpdId":"D","cpConfig":[{"linkPortId":"n"}]}]},
				{"id":"o","resourceId":"r","extLinkPorts":[{"id":"o"}],
					"extCps":[{"cpdId":"E","cpConfig":[{"linkPortId":"o"}]}]}]}`,
			`{"extVirtualLinks":[
				{"id":"n","resourceId":"r","extCps":[{"cpdId":"C","cpConfig":{"C":{
					"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}}}]},
				{"id":"m","resourceId":"r","extCps":[{"cpdId":"D","cpConfig":{"D":{"linkPortId":"n"}}}]},
				{"id":"o","resourceId":"r","extLinkPorts":[{"id":"o"}],
					"extCps":[{"cpdId":"E","cpConfig":{"E":{"linkPortId":"o"}}}]}]}`,
		},
		"steps as text":   {`{"numberOfSteps":"2"}`, `{"numberOfSteps":2}`},
		"steps as number": {`{"numberOfSteps":2}`, `{"numberOfSteps":2}`},
		"one VNFC":        {`{"vnfcInstanceId":"res-1"}`, `{"vnfcInstanceId":["worker-1"]}`},
		"VNFCs": {
			`{"vnfcInstanceId":["worker-1","res-1","other"]}`,
			`{"vnfcInstanceId":["worker-1","worker-1","other"]}`,
		},
		"null":          {`{"vnfcInstanceId":null,"cause":"c"}`, `{"cause":"c"}`},
		"large numbers": {`{"numberOfSteps":1,"additionalParams":{"n":12345678901234567890}}`, `{"numberOfSteps":1,"additionalParams":{"n":12345678901234567890}}`},
	} {
		got, err := v1.Request(json.RawMessage(tt.given), names{})
		require.NoError(t, err, name)
		require.JSONEq(t, tt.want, string(got.Body), name)
	}
}

func TestARequestThatCannotBeTranslatedIsRejectedAtItsMember(t *testing.T) {
	t.Parallel()
	for given, pointer := range map[string]string{
		`{"vimConnectionInfo":[{"id":"a"},{"id":"a"}]}`: "/vimConnectionInfo/1/id",
		`{"vimConnectionInfo":[{"vimId":"a"}]}`:         "/vimConnectionInfo/0/id",
		`{"vimConnectionInfo":{"a":{}}}`:                "/vimConnectionInfo",
		`{"extVirtualLinks":[{"extCps":[{"cpdId":"C","cpConfig":[{},{}]}]}]}`: "/extVirtualLinks/0/extCps/0/cpConfig/1/" +
			"cpInstanceId",
		`{"extVirtualLinks":[{"extCps":[{"cpdId":"C","cpConfig":{}}]}]}`: "/extVirtualLinks/0/extCps/0/cpConfig",
		`{"numberOfSteps":"99999999999"}`:                                "/numberOfSteps",
		`{"vnfcInstanceId":[1]}`:                                         "/vnfcInstanceId",
		`[]`:                                                             "",
	} {
		_, err := v1.Request(json.RawMessage(given), names{})
		var bad *v1.Error
		require.ErrorAs(t, err, &bad, given)
		require.Equal(t, pointer, bad.Pointer, given)
	}
}

func TestPointersLeadIntoTheRequest(t *testing.T) {
	t.Parallel()
	got, err := v1.Request(json.RawMessage(`{"vimConnectionInfo":[{"id":"x"},
		{"id":"a/b","accessInfo":{"authUrl":"http://k"}}],"vnfcInstanceId":"one",
		"extVirtualLinks":[{"extCps":[{"cpdId":"C","cpConfig":[{}]}]}]}`), names{})
	require.NoError(t, err)
	for given, want := range map[string]string{
		"/vimConnectionInfo/a~1b/interfaceInfo/endpoint":    "/vimConnectionInfo/1/accessInfo/authUrl",
		"/vimConnectionInfo/a~1b/vimType":                   "/vimConnectionInfo/1/vimType",
		"/vimConnectionInfo":                                "/vimConnectionInfo",
		"/extVirtualLinks/0/extCps/0/cpConfig/C/linkPortId": "/extVirtualLinks/0/extCps/0/cpConfig/0/linkPortId",
		"/vnfcInstanceId/0":                                 "/vnfcInstanceId", "/flavourId": "/flavourId", "": "",
	} {
		require.Equal(t, want, got.Pointer(given))
	}
}

func TestAnswersGetTheFormOfVersion1(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		translate   func(dst, src []byte) []byte
		given, want string
	}{
		"connections": {
			instanceOf,
			`{"vimConnectionInfo":{"a":{"vimId":"1","vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3","accessInfo":{"vimType":"x"}},
				"b\"":{},"c": { } ,"d":{"vimType":"ETSINFV.HELM.V_3"}},"metadata":{"vimConnectionInfo":{"a":{}}}}`,
			`{"vimConnectionInfo":[{"id":"a","vimId":"1","vimType":"openstack","accessInfo":{"vimType":"x"}},
				{"id":"b\""},{"id":"c"},{"id":"d","vimType":"kubernetes"}],"metadata":{"vimConnectionInfo":{"a":{}}}}`,
		},
		"no connections": {instanceOf, `{"vimConnectionInfo":{}}`, `{"vimConnectionInfo":[]}`},
		"configurations": {
			instanceOf,
			`{"instantiatedVnfInfo":{"flavourId":"s","extVirtualLinkInfo":[{"id":"n","currentVnfExtCpData":[
				{"cpdId":"C","cpConfig":{"x":{"linkPortId":"p"},"y":{"cpProtocolData":[]}}},{"cpdId":"D"}]}],"vnfState":"STARTED"}}`,
			`{"instantiatedVnfInfo":{"flavourId":"s","extVirtualLinkInfo":[{"id":"n","currentVnfExtCpData":[
				{"cpdId":"C","cpConfig":[{"cpInstanceId":"x","linkPortId":"p"},{"cpInstanceId":"y","cpProtocolData":[]}]},
				{"cpdId":"D"}]}],"vnfState":"STARTED"}}`,
		},
		"an operation": {
			v1.Operation,
			`{"operationParams":{"flavourId":"s","vimConnectionInfo":{"v":{"vimType":"ETSINFV.KUBERNETES.V_1"}},
				"extVirtualLinks":[{"extCps":[{"cpConfig":{"x":null},"cpdId":"C"}]}],"additionalParams":{"cpConfig":{"a":{}}}},
				"changedInfo":{"vimConnectionInfo":{"v":{"vimId":"2"},"w":null}},
				"changedExtConnectivity":[{"currentVnfExtCpData":[{"cpConfig":{"x":{}}}]}]}`,
			`{"operationParams":{"flavourId":"s","vimConnectionInfo":[{"id":"v","vimType":"kubernetes"}],
				"extVirtualLinks":[{"extCps":[{"cpConfig":[{"cpInstanceId":"x"}],"cpdId":"C"}]}],
				"additionalParams":{"cpConfig":{"a":{}}}},
				"changedInfo":{"vimConnectionInfo":[{"id":"v","vimId":"2"},{"id":"w"}]},
				"changedExtConnectivity":[{"currentVnfExtCpData":[{"cpConfig":[{"cpInstanceId":"x"}]}]}]}`,
		},
		"other forms stay": {
			v1.Operation, `{"operationParams":{"vimConnectionInfo":[1],"extVirtualLinks":{"a":1}},"changedInfo":null}`,
			`{"operationParams":{"vimConnectionInfo":[1],"extVirtualLinks":{"a":1}},"changedInfo":null}`,
		},
	} {
		got := tt.translate([]byte("x"), []byte(tt.given))
		require.Equal(t, "x", string(got[:1]), "it appends")
		require.JSONEq(t, tt.want, string(got[1:]), name)
	}
}

// instanceOf is an instance without additionalParams.
func instanceOf(dst, details []byte) []byte { return v1.Instance(dst, details, nil) }

// TestParamsOfAnInstance: instantiatedVnfInfo gets them as its last member, and only there.
func TestParamsOfAnInstance(t *testing.T) {
	t.Parallel()
	const info = `{"instantiatedVnfInfo":{"flavourId":"s","metadata":{"instantiatedVnfInfo":{}}},"metadata":{}}`
	for given, want := range map[string]string{
		info:                            `{"instantiatedVnfInfo":{"flavourId":"s","metadata":{"instantiatedVnfInfo":{}},"additionalParams":{"a":1}},"metadata":{}}`,
		`{"instantiatedVnfInfo": { } }`: `{"instantiatedVnfInfo": { "additionalParams":{"a":1}} }`,
		`{"instantiatedVnfInfo":null}`:  `{"instantiatedVnfInfo":null}`,
		`{"metadata":{}}`:               `{"metadata":{}}`,
	} {
		require.Equal(t, want, string(v1.Instance(nil, []byte(given), []byte(`{"a":1}`))), given)
	}
}

// TestNamesOfParams are in camel case, as the clients of OpenStack Tacker show them.
func TestNamesOfParams(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"k8s_cluster_installation_param":{"ssh_cp_name":"a_b","k8s_node_cidr":1}}`: `{"k8sClusterInstallationParam":{"k8sNodeCidr":1,"sshCpName":"a_b"}}`,
		`{"lcm-operation-user-data":"x"}`:                                            `{"lcm-operation-user-data":"x"}`,
		`{"a":[{"b_c":[{"d_e":12345678901234567890,"f":"<"}]}]}`:                     `{"a":[{"bC":[{"dE":12345678901234567890,"f":"<"}]}]}`,
		`{"_a":1,"a_":2,"a__b":3,"_":4,"a_1":5,"A_B":6,"":7}`:                        `{"":7,"A_B":6,"_":4,"_a":1,"a_":2,"a_1":5,"a_B":3}`,
		`{"a_b":1,"aB":2}`:                     `{"aB":2,"a_b":1}`,
		`{"x_yz":1,"xYz":2,"x_y_z":3,"p_q":4}`: `{"pQ":4,"xYZ":3,"xYz":2,"x_yz":1}`,
		`{"a_b_c":1,"a_bC":2}`:                 `{"a_bC":2,"a_b_c":1}`,
		`{"lcm-kubernetes-external-lb":{"script_path":"s","external_lb_param":{"ssh_ip":"i","ssh_username":"u"}}}`: "" +
			`{"lcm-kubernetes-external-lb":{"externalLbParam":{"sshIp":"i","sshUsername":"u"},"scriptPath":"s"}}`,
	} {
		got, err := v1.AdditionalParams([]byte(given))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := v1.AdditionalParams([]byte(`{`))
	require.Error(t, err)
}

// TestHelmIsKubernetesInVersion1: an instance from Helm charts has the type that its client gave.
func TestHelmIsKubernetesInVersion1(t *testing.T) {
	t.Parallel()
	got := instanceOf(nil, []byte(`{"vimConnectionInfo":{"k":{"vimType":"ETSINFV.HELM.V_3"}}}`))
	require.JSONEq(t, `{"vimConnectionInfo":[{"id":"k","vimType":"kubernetes"}]}`, string(got))
}

// FuzzAnswers: JSON stays JSON, a broken text ends, and all that is not named in version 1 stays as it is.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"vimConnectionInfo":{"a":{"vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3"}}}`, `{"vimConnectionInfo":{"a":{`,
		`{"operationParams":{"extVirtualLinks":[{"extCps":[{"cpConfig":{"x":null}}]}]}}`, `{"a":"\\"}`, `[1,2`, `"\`,
		`{"vimConnectionInfo": {"a" : { "b" : 1 } , "c":2}}`, `{"instantiatedVnfInfo":{"a":{"b":[]}}}`,
		`{"instantiatedVnfInfo":{"a":{}`, `{"instantiatedVnfInfo":[{}]}`, `{"instantiatedVnfInfo":}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, translate := range []func(dst, src []byte) []byte{instanceOf, v1.Operation} {
			require.NotPanics(t, func() {
				if with := v1.Instance(nil, []byte(text), []byte(`{"a":1}`)); json.Valid([]byte(text)) {
					require.True(t, json.Valid(with), "%s became %s", text, with)
				}
			})
			got := translate(nil, []byte(text))
			if json.Valid([]byte(text)) {
				require.True(t, json.Valid(got), "%s became %s", text, got)
				if !strings.Contains(text, "vimConnectionInfo") && !strings.Contains(text, "cpConfig") {
					require.Equal(t, text, string(got))
				}
			}
		}
	})
}

// FuzzRequests: a request is translated or rejected, and a translated one is a JSON object.
func FuzzRequests(f *testing.F) {
	for _, s := range []string{
		`{"vimConnectionInfo":[{"id":"a","vimType":"openstack"}]}`, `{"numberOfSteps":"1"}`, `{"vnfcInstanceId":"x"}`,
		`{"extVirtualLinks":[{"extCps":[{"cpdId":"C","cpConfig":[{"cpInstanceId":"cp-1"}]}]}]}`, `{"extVirtualLinks":[null]}`,
		`{"vimConnectionInfo":[null]}`, `null`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := v1.Request(json.RawMessage(text), names{})
		if err != nil {
			var bad *v1.Error
			require.ErrorAs(t, err, &bad)
			return
		}
		var body map[string]any
		require.NoError(t, json.Unmarshal(got.Body, &body))
	})
}
