package openstack_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// refused are the pointers, with their texts, for which the driver refuses a request on the instance.
func (w *world) refused(t *testing.T, typ sol.LcmOperationType, to string, params map[string]any) map[string]string {
	t.Helper()
	d := openstack.New(openstack.Config{Scripts: w.cfg.Scripts}, slog.New(slog.DiscardHandler))
	defer d.Close()
	raw, err := json.Marshal(params)
	require.NoError(t, err)
	var own struct {
		AdditionalParams sol.KeyValuePairs `json:"additionalParams"`
	}
	require.NoError(t, json.Unmarshal(raw, &own))
	all, _ := w.pkgs.(packages)
	i := copied(w.store.instance)
	r := lcm.Request{
		Type: typ, Instance: &i, VNFD: all[to].model, Flavour: &all[to].model.Flavours[0], Package: all[to].files,
		Params: raw, AdditionalParams: own.AdditionalParams, Scope: &lcm.Scope{Flavour: "default"},
	}
	if to != "pkg-1" {
		r.Previous = &lcm.Revision{
			VNFD: all["pkg-1"].model, Flavour: &all["pkg-1"].model.Flavours[0], Package: all["pkg-1"].files,
		}
		r.Scope.Counts = map[string]int{"VDU1": 2, "VDU2": 1, "VDU4": 1}
	}
	out := map[string]string{}
	if e := lcm.AsError(d.Validate(t.Context(), r)); e != nil {
		require.Equal(t, lcm.CodeUnprocessable, e.Code, e)
		for _, p := range e.Params {
			out[p.Pointer] = p.Detail
		}
	}
	return out
}

// TestPackageChangeIsRefused: everything that cannot work is said at once and where, before anything is touched.
func TestPackageChangeIsRefused(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	vdu := func(param any) []any { return []any{map[string]any{"vdu_id": "VDU1", "new_vnfc_param": param}} }
	const at = "/additionalParams/vdu_params/0/new_vnfc_param/"
	for name, tt := range map[string]struct {
		params map[string]any
		want   map[string]string
	}{
		"nothing is said": {nil, map[string]string{}},
		"all that there is": {map[string]any{"upgrade_type": "RollingUpdate", "vdu_params": vdu(map[string]any{
			"cp_name": "VDU1_CP1", "username": "u", "password": "p", "endpoint": "https://em:1234/x", "timeout": 30,
			"authentication": map[string]any{
				"authType": []any{"BASIC"}, "paramsBasic": map[string]any{"userName": "u", "password": "p"},
			},
		})}, map[string]string{}},
		"a script": {map[string]any{"lcm-operation-coordinate-new-vnf": "./Scripts/c.py"}, map[string]string{
			"/additionalParams/" +
				"lcm-operation-coordinate-new-vnf": "have the operator switch scripts on (scripts.python)",
		}},
		"a script and SSH": {map[string]any{
			"lcm-operation-coordinate-new-vnf": "./Scripts/c.py", "lcm-operation-coordinate-old-vnf": "./Scripts/d.py",
			"vdu_params": vdu(map[string]any{"cp_name": "VDU1_CP1", "username": "u", "password": "p"}),
		}, map[string]string{
			at + "endpoint": "./Scripts/c.py is not run",
			"/additionalParams/vdu_params/0/old_vnfc_param/endpoint": "./Scripts/d.py is not run; the coordination " +
				"server that it would ask is asked directly (SOL002 clause 10), or the operator switches scripts on " +
				"(scripts.python)",
		}},
		"an endpoint that is none": {
			map[string]any{"vdu_params": vdu(map[string]any{"endpoint": "ftp://em"})},
			map[string]string{at + "endpoint": "http"},
		},
		"no server to ask": {
			map[string]any{"vdu_params": vdu(map[string]any{"endpoint": "http://{ip}/"})},
			map[string]string{at + "cp_name": "address of the VNFC"},
		},
		"no host": {
			map[string]any{"vdu_params": vdu(map[string]any{"endpoint": "http:///x"})},
			map[string]string{at + "cp_name": "address of the VNFC"},
		},
		"no time": {map[string]any{
			"vdu_params": vdu(map[string]any{"endpoint": "http://em", "timeout": 0}),
		}, map[string]string{at + "timeout": "seconds"}},
		"words for a time": {map[string]any{
			"vdu_params": vdu(map[string]any{"endpoint": "http://em", "timeout": "soon"}),
		}, map[string]string{at + "timeout": "seconds"}},
		"a certificate that is none": {map[string]any{
			"vdu_params": vdu(map[string]any{"endpoint": "https://em", "trustedCertificate": "x"}),
		}, map[string]string{at + "trustedCertificate": "PEM"}},
		"unknown authentication": {
			map[string]any{"vdu_params": vdu(map[string]any{
				"endpoint": "https://em", "authentication": map[string]any{"authType": []any{"TLS_CERT"}},
			})},
			map[string]string{at + "authentication/authType": "BASIC"},
		},
		"half an authentication": {
			map[string]any{"vdu_params": vdu(map[string]any{"endpoint": "https://em", "authentication": map[string]any{
				"authType": []any{"OAUTH2_CLIENT_CREDENTIALS"},
			}})},
			map[string]string{
				at + "authentication/paramsOauth2ClientCredentials/clientId":       "missing",
				at + "authentication/paramsOauth2ClientCredentials/clientPassword": "missing",
				at + "authentication/paramsOauth2ClientCredentials/tokenEndpoint":  "URL",
			},
		},
		"a VDU twice": {map[string]any{"vdu_params": append(vdu(nil), vdu(nil)...)}, map[string]string{
			"/additionalParams/vdu_params/1/vdu_id": "twice",
		}},
		"of another type": {map[string]any{"vdu_params": vdu("em")}, map[string]string{
			"/additionalParams/vdu_params/new_vnfc_param": "string",
		}},
		"another class": {
			map[string]any{"lcm-operation-user-data": "x", "lcm-operation-user-data-class": "DefaultUserData"},
			map[string]string{
				"/additionalParams/lcm-operation-user-data-class": "made with StandardUserData",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.refused(t, sol.LcmOperationChangeVnfpkg, "pkg-2", map[string]any{
				"vnfdId": "vnfd-2", "additionalParams": tt.params,
			})
			require.Len(t, got, len(tt.want), "%v", got)
			for pointer, text := range tt.want {
				require.Contains(t, got[pointer], text, pointer)
			}
		})
	}
}

// TestPackageScriptIsRefused: where scripts are run, a script that cannot be is refused before anything is touched,
// with the member to correct.
func TestPackageScriptIsRefused(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	w.cfg.Scripts = struct{ openstack.ScriptRunner }{} // nothing is run at the admission
	all := rolling(1)
	for id, name := range map[string]string{"pkg-1": "Scripts/old.py", "pkg-2": "Scripts/new.py"} {
		files, _ := all[id].files.(fstest.MapFS)
		files[name] = &fstest.MapFile{Data: []byte("pass")}
	}
	w.pkgs = all
	const (
		coordinateNew, coordinateOld = "lcm-operation-coordinate-new-vnf", "lcm-operation-coordinate-old-vnf"
		first                        = "/additionalParams/vdu_params/0/"
	)
	both := func(param any) []any {
		return []any{map[string]any{"vdu_id": "VDU1", "new_vnfc_param": param, "old_vnfc_param": param}}
	}
	forward := func(param any) []any { return []any{map[string]any{"vdu_id": "VDU1", "new_vnfc_param": param}} }
	good := map[string]any{
		"cp_name": "VDU1_CP1", "timeout": 30, "anything": []any{1}, "endpoint": "of another kind",
		"trustedCertificate": "too",
	}
	for name, tt := range map[string]struct {
		params map[string]any
		want   map[string]string
	}{
		"both": {map[string]any{
			coordinateNew: "./Scripts/new.py", coordinateOld: "Scripts/old.py", "vdu_params": both(good),
		}, map[string]string{}},
		"only forward": {
			map[string]any{coordinateNew: "./Scripts/new.py", "vdu_params": forward(good)}, map[string]string{},
		},
		"no script asks the server": {
			map[string]any{"vdu_params": both(map[string]any{"endpoint": "https://em"})}, map[string]string{},
		},
		"no script and a wrong server": {
			map[string]any{"vdu_params": forward(map[string]any{"endpoint": "ftp://em"})},
			map[string]string{first + "new_vnfc_param/endpoint": "http"},
		},
		"in the other package": {
			map[string]any{coordinateNew: "Scripts/old.py", coordinateOld: "Scripts/new.py", "vdu_params": both(good)},
			map[string]string{
				"/additionalParams/" + coordinateNew: "the package has no script Scripts/old.py",
				"/additionalParams/" + coordinateOld: "the package has no script Scripts/new.py",
			},
		},
		"a folder": {map[string]any{coordinateNew: "Scripts", "vdu_params": forward(good)}, map[string]string{
			"/additionalParams/" + coordinateNew: "no script",
		}},
		"outside": {
			map[string]any{coordinateNew: "../new.py", "vdu_params": forward(good)},
			map[string]string{"/additionalParams/" + coordinateNew: "not a path within the package"},
		},
		"from the top": {
			map[string]any{coordinateNew: "/Scripts/new.py", "vdu_params": forward(good)},
			map[string]string{"/additionalParams/" + coordinateNew: "not a path within the package"},
		},
		"no VNFC to run it for": {
			map[string]any{coordinateNew: "Scripts/new.py", coordinateOld: "Scripts/old.py"}, map[string]string{
				"/additionalParams/vdu_params": "is missing: the script Scripts/new.py is run for each VNFC",
			},
		},
		"nothing to tell it": {
			map[string]any{
				coordinateNew: "Scripts/new.py", coordinateOld: "Scripts/old.py", "vdu_params": forward(good),
			},
			map[string]string{first + "old_vnfc_param": "is missing: the script Scripts/old.py needs it"},
		},
		"no address": {
			map[string]any{coordinateNew: "Scripts/new.py", "vdu_params": both(map[string]any{"username": "u"})},
			map[string]string{
				first + "new_vnfc_param/cp_name": "the script Scripts/new.py receives the address",
			},
		},
		"no time": {
			map[string]any{coordinateNew: "Scripts/new.py", "vdu_params": both(
				map[string]any{"cp_name": "VDU1_CP1", "timeout": "soon"},
			)}, map[string]string{
				first + "new_vnfc_param/timeout": "seconds",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.refused(t, sol.LcmOperationChangeVnfpkg, "pkg-2", map[string]any{
				"vnfdId": "vnfd-2", "additionalParams": tt.params,
			})
			require.Len(t, got, len(tt.want), "%v", got)
			for pointer, text := range tt.want {
				require.Contains(t, got[pointer], text, pointer)
			}
		})
	}
}

// TestPackageWithoutTemplates: a new package that lacks what the flavour needs is refused, and the member of the
// request that named it is to blame.
func TestPackageWithoutTemplates(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	all := rolling(1)
	files, _ := all["pkg-2"].files.(fstest.MapFS)
	delete(files, "BaseHOT/default/nested/VDU2.yaml")
	w.pkgs = all
	got := w.refused(t, sol.LcmOperationChangeVnfpkg, "pkg-2", map[string]any{"vnfdId": "vnfd-2"})
	require.Contains(t, got["/vnfdId"], `it uses the nested template "VDU2.yaml"`)
	delete(files, "BaseHOT/default/top.yaml")
	got = w.refused(t, sol.LcmOperationChangeVnfpkg, "pkg-2", map[string]any{"vnfdId": "vnfd-2"})
	require.Contains(t, got["/vnfdId"], "no base HOT")
}

// TestConnectivityChangeIsRefused: what would change nothing, or cannot, is said.
func TestConnectivityChangeIsRefused(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	all, _ := w.pkgs.(packages)
	all["pkg-1"].model.Flavours[0].CPs = append(
		all["pkg-1"].model.Flavours[0].CPs, all["pkg-1"].model.Flavours[0].CPs[0],
	)
	all["pkg-1"].model.Flavours[0].CPs[3].Name = "VDU1_CP3"
	config := func(cp string, keys map[string]any) map[string]any {
		return map[string]any{
			"id": "ext-1", "resourceId": "net", "extCps": []any{map[string]any{"cpdId": cp, "cpConfig": keys}},
		}
	}
	port := map[string]any{"linkPortId": "p1"}
	dynamic := map[string]any{"cpProtocolData": []any{map[string]any{"layerProtocol": "IP_OVER_ETHERNET"}}}
	for name, tt := range map[string]struct {
		link map[string]any
		want map[string]string
	}{
		"another link": {config("VDU1_CP1", map[string]any{"VDU1_CP1_1": dynamic}), map[string]string{}},
		"a CP with a network of its own": {config("VDU1_CP3", map[string]any{"VDU1_CP3_1": dynamic}), map[string]string{
			"/extVirtualLinks/0/extCps/0/cpdId": "does not take its network from nfv.CP.VDU1_CP3",
		}},
		"a port that the link has not": {config("VDU1_CP1", map[string]any{"VDU1_CP1_1": port}), map[string]string{
			"/extVirtualLinks/0/extCps/0/cpConfig/VDU1_CP1_1/linkPortId": `no extLinkPorts entry with the id "p1"`,
		}},
		"one configuration too many": {
			config("VDU2_CP1", map[string]any{"VDU2_CP1_1": dynamic, "VDU2_CP1_2": dynamic}), map[string]string{
				"/extVirtualLinks/0/extCps/0/cpConfig/" +
					"VDU2_CP1_2": "VDU2_CP1 has 1 instances, which have the configurations VDU2_CP1_1",
			},
		},
		"the only one under another key": {
			config("VDU2_CP1", map[string]any{"VDU2_CP1_2": dynamic}), map[string]string{},
		},
		"two for VNFCs that share one": {
			config("VDU1_CP1", map[string]any{"VDU1_CP1_2": dynamic, "VDU1_CP1_3": dynamic}), map[string]string{
				"/extVirtualLinks/0/extCps/0/cpConfig/VDU1_CP1_2": "2 VNFCs share the configuration VDU1_CP1_1 of " +
					"VDU1_CP1, and not all of them would get this one",
				"/extVirtualLinks/0/extCps/0/cpConfig/VDU1_CP1_3": "VDU1_CP1 has 2 instances",
			},
		},
		"one in the place of another": {
			config("VDU2_CP1", map[string]any{"VDU2_CP1_2": dynamic, "VDU2_CP1_1": nil}), map[string]string{},
		},
		"one for each VNFC": {
			config("VDU1_CP1", map[string]any{"VDU1_CP1_1": dynamic, "VDU1_CP1_2": dynamic}), map[string]string{},
		},
		"the same address twice": {fixed("ext-1", "net", "VDU1_CP2", "sub", "10.0.0.1"), map[string]string{
			"/extVirtualLinks/0/extCps/0/cpConfig/VDU1_CP2_1/cpProtocolData/0/ipOverEthernet/ipAddresses/0/" +
				"fixedAddresses": "would both get 10.0.0.1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.refused(
				t, sol.LcmOperationChangeExtConn, "pkg-1", map[string]any{"extVirtualLinks": []any{tt.link}},
			)
			require.Len(t, got, len(tt.want), "%v", got)
			for pointer, text := range tt.want {
				require.Contains(t, got[pointer], text, pointer)
			}
		})
	}
}
