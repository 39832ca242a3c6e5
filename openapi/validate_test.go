package openapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func validate(t *testing.T, name, method, target, contentType, body string) error {
	t.Helper()
	doc, err := openapi.Load(name)
	require.NoError(t, err)
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	req := httptest.NewRequestWithContext(t.Context(), method, target, io.NopCloser(strings.NewReader(body)))
	req.Header.Set("Version", "2.0.0")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	route, params, err := router.FindRoute(req)
	require.NoError(t, err)
	return openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		},
	})
}

func TestRequestsAreJudged(t *testing.T) {
	t.Parallel()
	const instantiate = "/vnflcm/v2/vnf_instances/i/instantiate"
	link := func(cp string) string {
		return `{"flavourId":"f","extVirtualLinks":[{"id":"a","resourceId":"net","extCps":[{"cpdId":"c","cpConfig":{"k":` + cp + `}}]}]}`
	}
	address := func(a string) string {
		return link(
			`{"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET","ipOverEthernet":{"ipAddresses":[` + a + `]}}]}`,
		)
	}
	tests := []struct{ name, document, method, target, body, wrong string }{
		{"smallest create", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"d"}`, ""},
		{
			"unknown attributes are allowed",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances",
			`{"vnfdId":"d","x":{"y":[1]}}`,
			"",
		},
		{"a vnfdId is needed", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances", `{}`, "vnfdId"},
		{"an empty vnfdId", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":""}`, "vnfdId"},
		{"a number for a text", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":5}`, "vnfdId"},
		{
			"metadata of any type",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances",
			`{"vnfdId":"d","metadata":{"a":1,"b":null,"c":[{}],"d":true,"e":"x"}}`,
			"",
		},
		{
			"too long a metadata value",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances",
			`{"vnfdId":"d","metadata":{"a":"` + strings.Repeat("x", 1025) + `"}}`,
			"/metadata/a",
		},
		{
			"a long text deeper inside",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances",
			`{"vnfdId":"d","metadata":{"a":{"b":"` + strings.Repeat("x", 1025) + `"}}}`,
			"",
		},
		{
			"access information is not limited",
			openapi.VnfLcmV2,
			"POST",
			instantiate,
			`{"flavourId":"f","vimConnectionInfo":{"v":{"vimType":"T","accessInfo":{"cert":"` + strings.Repeat(
				"x",
				5000,
			) + `"}}}}`,
			"",
		},
		{
			"a connection needs a type",
			openapi.VnfLcmV2,
			"POST",
			instantiate,
			`{"flavourId":"f","vimConnectionInfo":{"v":{"vimId":"x"}}}`,
			"/vimConnectionInfo/v/vimType",
		},
		{
			"one dynamic address",
			openapi.VnfLcmV2,
			"POST",
			instantiate,
			address(`{"type":"IPV4","numDynamicAddresses":1,"subnetId":"s"}`),
			"",
		},
		{
			"a fixed address",
			openapi.VnfLcmV2,
			"POST",
			instantiate,
			address(`{"type":"IPV4","fixedAddresses":["10.0.0.1"]}`),
			"",
		},
		{
			"fixed and dynamic",
			openapi.VnfLcmV2,
			"POST",
			instantiate,
			address(`{"type":"IPV4","numDynamicAddresses":1,"fixedAddresses":["10.0.0.1"]}`),
			"ipAddresses/0",
		},
		{
			"no way to get an address", openapi.VnfLcmV2, "POST", instantiate, address(`{"type":"IPV4"}`),
			"ipAddresses/0",
		},
		{
			"an unknown address type",
			openapi.VnfLcmV2,
			"POST",
			instantiate,
			address(`{"type":"IPX","numDynamicAddresses":1}`),
			"ipAddresses/0/type",
		},
		{"a connection point configuration that is removed", openapi.VnfLcmV2, "POST", instantiate, link(`null`), ""},
		{
			"an empty connection point configuration",
			openapi.VnfLcmV2,
			"POST",
			instantiate,
			link(`{}`),
			"/extVirtualLinks/0/extCps/0/cpConfig/k",
		},
		{
			"terminate",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/terminate",
			`{"terminationType":"GRACEFUL","gracefulTerminationTimeout":5}`,
			"",
		},
		{
			"terminate in no known way",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/terminate",
			`{"terminationType":"NICE"}`,
			"/terminationType",
		},
		{
			"terminate in no time",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/terminate",
			`{"terminationType":"GRACEFUL","gracefulTerminationTimeout":0}`,
			"/gracefulTerminationTimeout",
		},
		{"a bare selector", openapi.VnfLcmV2, "GET", "/vnflcm/v2/vnf_instances?all_fields&filter=(eq,id,1)", "", ""},
		{"versions below the API", openapi.VnfLcmV2, "GET", "/vnflcm/api_versions", "", ""},
		{"versions below the major", openapi.VnfLcmV2, "GET", "/vnflcm/v2/api_versions", "", ""},
		{"retry has no body", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_lcm_op_occs/o/retry", "", ""},
		{
			"scale", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances/i/scale",
			`{"type":"SCALE_OUT","aspectId":"a"}`,
			"",
		},
		{
			"scale by nothing",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/scale",
			`{"type":"SCALE_OUT","aspectId":"a","numberOfSteps":0}`,
			"/numberOfSteps",
		},
		{
			"scale by half a step",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/scale",
			`{"type":"SCALE_IN","aspectId":"a","numberOfSteps":1.5}`,
			"/numberOfSteps",
		},
		{
			"scale to a level",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/scale_to_level",
			`{"instantiationLevelId":"l"}`,
			"",
		},
		{
			"scale to two kinds of level",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/scale_to_level",
			`{"instantiationLevelId":"l","scaleInfo":[]}`,
			"oneOf",
		},
		{
			"scale to no level", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances/i/scale_to_level", `{}`,
			"/scaleInfo",
		},
		{"heal all", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances/i/heal", `{}`, ""},
		{
			"heal as in SOL002",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/heal",
			`{"vnfcInstanceId":["a"],"cause":"c","healScript":"s","additionalParams":{"all":true}}`,
			"",
		},
		{
			"heal without a list",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/heal",
			`{"vnfcInstanceId":"a"}`,
			"/vnfcInstanceId",
		},
		{
			"operate without a state",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/operate",
			`{"stopType":"GRACEFUL"}`,
			"changeStateTo",
		},
		{
			"change a flavour without one",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/change_flavour",
			`{}`,
			"newFlavourId",
		},
		{
			"change connectivity of nothing",
			openapi.VnfLcmV2,
			"POST",
			"/vnflcm/v2/vnf_instances/i/change_ext_conn",
			`{}`,
			"extVirtualLinks",
		},
		{
			"change the package to none", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_instances/i/change_vnfpkg", `{}`,
			"vnfdId",
		},
		{"modify nothing", openapi.VnfLcmV2, "PATCH", "/vnflcm/v2/vnf_instances/i", `{}`, ""},
		{
			"modify by removing",
			openapi.VnfLcmV2,
			"PATCH",
			"/vnflcm/v2/vnf_instances/i",
			`{"vnfInstanceName":null,"metadata":null,"extensions":{"a":null},"vimConnectionInfo":{"v":null,"w":{"accessInfo":{"x":null}}}}`,
			"",
		},
		{
			"modify to an odd type of VIM",
			openapi.VnfLcmV2,
			"PATCH",
			"/vnflcm/v2/vnf_instances/i",
			`{"vimConnectionInfo":{"v":{"vimType":null}}}`,
			"/vimConnectionInfo/v/vimType",
		},
		{
			"modify to too long a value",
			openapi.VnfLcmV2,
			"PATCH",
			"/vnflcm/v2/vnf_instances/i",
			`{"metadata":{"a":"` + strings.Repeat("x", 1025) + `"}}`,
			"/metadata/a",
		},
		{"cancel needs a mode", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_lcm_op_occs/o/cancel", `{}`, "cancelMode"},
		{"cancel", openapi.VnfLcmV2, "POST", "/vnflcm/v2/vnf_lcm_op_occs/o/cancel", `{"cancelMode":"FORCEFUL"}`, ""},
		{"plan", openapi.GybeV1, "POST", "/gybe/v1/plan", `{"vnfInstanceId":"i","operation":"HEAL"}`, ""},
		{
			"plan of what has no plan",
			openapi.GybeV1,
			"POST",
			"/gybe/v1/plan",
			`{"vnfInstanceId":"i","operation":"REBOOT"}`,
			"/operation",
		},
		{"create a package", openapi.VnfPkgmV1, "POST", "/vnfpkgm/v1/vnf_packages", `{}`, ""},
		{
			"create a package with odd data",
			openapi.VnfPkgmV1,
			"POST",
			"/vnfpkgm/v1/vnf_packages",
			`{"userDefinedData":[]}`,
			"/userDefinedData",
		},
		{
			"enable a package", openapi.VnfPkgmV1, "PATCH", "/vnfpkgm/v1/vnf_packages/p",
			`{"operationalState":"ENABLED"}`,
			"",
		},
		{
			"remove user data", openapi.VnfPkgmV1, "PATCH", "/vnfpkgm/v1/vnf_packages/p",
			`{"userDefinedData":{"k":null}}`,
			"",
		},
		{"change nothing", openapi.VnfPkgmV1, "PATCH", "/vnfpkgm/v1/vnf_packages/p", `{}`, "anyOf"},
		{"progress", openapi.GybeV1, "GET", "/gybe/v1/vnf_lcm_op_occs/o/progress?since=5-7&limit=10", "", ""},
		{"progress limit never", openapi.GybeV1, "GET", "/gybe/v1/vnf_lcm_op_occs/o/progress?limit=x", "", "limit"},
		{
			"register a VIM",
			openapi.VimsV1,
			"POST",
			"/v1.0/vims",
			`{"vim":{"type":"openstack","auth_url":"http://k","auth_cred":{},"vim_project":{"name":"nfv"}}}`,
			"",
		},
		{
			"register a VIM of no known kind",
			openapi.VimsV1,
			"POST",
			"/v1.0/vims",
			`{"vim":{"type":"abacus","auth_url":"http://k","auth_cred":{},"vim_project":{}}}`,
			"/vim/type",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			contentType := "application/json"
			if tt.body == "" {
				contentType = ""
			}
			err := validate(t, tt.document, tt.method, tt.target, contentType, tt.body)
			if tt.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.wrong)
		})
	}
}

func TestMergePatchIsAMediaTypeOfItsOwn(t *testing.T) {
	t.Parallel()
	const target, body = "/vnfpkgm/v1/vnf_packages/p", `{"operationalState":"DISABLED"}`
	require.NoError(t, validate(t, openapi.VnfPkgmV1, http.MethodPatch, target, "application/merge-patch+json", body))
	require.Error(t, validate(t, openapi.VnfPkgmV1, http.MethodPatch, target, "text/html", body))
}

// The parameter files that come with the sample packages are what users start
// from; they have to pass.
func TestSampleParametersAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../vnf-packages/*/params/*_param_file_v2.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(
			t,
			validate(
				t,
				openapi.VnfLcmV2,
				http.MethodPost,
				"/vnflcm/v2/vnf_instances/i/instantiate",
				"application/json",
				string(body),
			),
			file,
		)

		var request sol.InstantiateVnfRequest
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&request), file)
		again, err := json.Marshal(request)
		require.NoError(t, err)
		require.JSONEq(t, string(body), string(again), "the wire types keep every attribute of %s", file)
	}
}
