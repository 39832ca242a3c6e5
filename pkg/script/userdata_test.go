package script_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
)

// userData is the input of a user-data class: a VNF with one VDU.
func userData() map[string]any {
	return map[string]any{
		"vnfd_id": "vnfd-1",
		"request": map[string]any{
			"flavourId": "simple", "extVirtualLinks": []any{map[string]any{
				"id": "link", "resourceId": "net-1", "extCps": []any{map[string]any{
					"cpdId": "VDU1_CP1", "cpConfig": map[string]any{"a": map[string]any{"cpProtocolData": []any{
						map[string]any{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
							"ipAddresses": []any{map[string]any{
								"type": "IPV4", "fixedAddresses": []any{"10.0.0.5"}, "subnetId": "subnet-1",
							}},
						}},
					}}},
				}},
			}},
			"extManagedVirtualLinks": []any{map[string]any{
				"id": "m", "vnfVirtualLinkDescId": "internal", "resourceId": "net-2",
			}},
		},
		"vnf_instance": map[string]any{"vnfdId": "vnfd-1"},
		"grant_request": map[string]any{"addResources": []any{
			map[string]any{"id": "VDU1-0", "type": "COMPUTE", "resourceTemplateId": "VDU1"},
			map[string]any{"id": "VDU1-1", "type": "COMPUTE", "resourceTemplateId": "VDU1"},
		}},
		"grant_response": map[string]any{
			"zones":        []any{map[string]any{"id": "z", "zoneId": "az-1"}},
			"addResources": []any{map[string]any{"resourceDefinitionId": "VDU1-1", "zoneId": "z"}},
			"vimAssets": map[string]any{"softwareImages": []any{
				map[string]any{"vnfdSoftwareImageId": "VDU1", "vimSoftwareImageId": "image-1"},
			}},
		},
		"yaml": map[string]any{
			"Definitions/df.yaml": map[string]any{"topology_template": map[string]any{
				"substitution_mappings": map[string]any{"properties": map[string]any{"flavour_id": "simple"}},
				"node_templates": map[string]any{"VDU1": map[string]any{
					"type": "tosca.nodes.nfv.Vdu.Compute",
					"capabilities": map[string]any{"virtual_compute": map[string]any{"properties": map[string]any{
						"requested_additional_capabilities": map[string]any{"properties": map[string]any{
							"requested_additional_capability_name": "m1.tiny",
						}},
					}}},
				}},
			}},
			"BaseHOT/simple/top.yaml": map[string]any{
				"heat_template_version": "2013-05-23",
				"resources": map[string]any{
					"VDU1": map[string]any{"type": "VDU1.yaml", "properties": map[string]any{
						"flavor": map[string]any{"get_param": []any{"nfv", "VDU", "VDU1", "computeFlavourId"}},
						"net":    map[string]any{"get_resource": "internal"},
						"subnet": map[string]any{"get_param": []any{"nfv", "CP", "VDU1_CP1", "fixed_ips", 0, "subnet"}},
					}},
					"internal": map[string]any{"type": "OS::Neutron::Net"},
					"internal_subnet": map[string]any{"type": "OS::Neutron::Subnet", "properties": map[string]any{
						"network": map[string]any{"get_resource": "internal"},
					}},
				},
			},
			"BaseHOT/simple/nested/VDU1.yaml": map[string]any{"heat_template_version": "2013-05-23"},
		},
	}
}

// call runs a method of the class C.
func call(t *testing.T, r *script.Runner, text, method string) (any, []string, error) {
	t.Helper()
	key := keyOf(t)
	require.NoError(t, r.StartJob(t.Context(), key, script.Job{
		Package: fstest.MapFS{
			"UserData/c.py": {Data: []byte(text)}, "UserData/beside.py": {Data: []byte("word = 'beside'")},
		},
		Script: "./UserData/c.py", Kind: script.UserData, Class: "C", Method: method, Input: userData(), Timeout: limit,
	}))
	var lines []string
	known, over, err := true, false, error(nil)
	for known && !over { // a call waits for a part of the time after which a run is abandoned
		known, over, err = r.Follow(t.Context(), key, limit, func(l string) { lines = append(lines, l) })
	}
	require.True(t, known)
	raw := r.Result(key)
	r.Stop(key)
	require.Nil(t, r.Result(key))
	var value any
	if raw != nil {
		require.NoError(t, json.Unmarshal(raw, &value))
	}
	return value, lines, err
}

// TestUserDataClassIsCalled: a class that imports modules of Tacker finds them, without Tacker, and its dict is
// returned.
func TestUserDataClassIsCalled(t *testing.T) {
	t.Parallel()
	const text = `
import logging
import os
import sys

import beside
from oslo_log import log
from UserData import beside as again
from tacker.sol_refactored.common import common_script_utils as utils
from tacker.sol_refactored.common import vnf_instance_utils as inst_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_utils

LOG = log.getLogger(__name__)


class C(userdata_utils.AbstractUserData):

    @staticmethod
    def instantiate(req, inst, grant_req, grant, tmp_csar_dir):
        LOG.info("begins with %s", beside.word)
        print("to the log")
        vnfd = utils.get_vnfd(inst['vnfdId'], tmp_csar_dir)
        hot = vnfd.get_base_hot(req['flavourId'])
        top = hot['template']
        nfv = utils.init_nfv_dict(top)
        utils.apply_ext_managed_vls(top, req, grant)
        return {
            'nfv': nfv, 'template': top, 'files': sorted(hot['files']),
            'flavour': utils.get_param_flavor('VDU1', req['flavourId'], vnfd, grant),
            'image': utils.get_param_image('VDU1', req['flavourId'], vnfd, grant),
            'zone': utils.get_param_zone('VDU1', grant_req, grant),
            'zones': [utils.get_param_zone_by_vnfc(r['id'], grant) for r in grant_req['addResources']],
            'capacity': utils.get_param_capacity('VDU1', inst, grant_req),
            'network': utils.get_param_network('VDU1_CP1', grant, req),
            'ips': utils.get_param_fixed_ips('VDU1_CP1', grant, req),
            'merged': inst_utils.json_merge_patch({'a': {'b': 1, 'c': 2}}, {'a': {'b': None}, 'd': [3]}),
            'here': os.path.exists(os.path.join(tmp_csar_dir, 'UserData/c.py')),
        }
`
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		value, lines, err := call(t, r, text, "instantiate")
		require.NoError(t, err)
		require.Equal(t, map[string]any{
			"nfv": map[string]any{
				"VDU": map[string]any{"VDU1": map[string]any{"computeFlavourId": nil}},
				"CP": map[string]any{"VDU1_CP1": map[string]any{"fixed_ips": map[string]any{
					"0": map[string]any{"subnet": nil},
				}}},
			},
			"template": map[string]any{
				"heat_template_version": "2013-05-23",
				"resources": map[string]any{"VDU1": map[string]any{
					"type": "VDU1.yaml", "properties": map[string]any{
						"flavor": map[string]any{"get_param": []any{"nfv", "VDU", "VDU1", "computeFlavourId"}},
						"net":    "net-2",
						"subnet": map[string]any{
							"get_param": []any{"nfv", "CP", "VDU1_CP1", "fixed_ips", 0.0, "subnet"},
						},
					},
				}},
			},
			"files": []any{"VDU1.yaml"}, "flavour": "m1.tiny", "image": "image-1", "zone": "az-1",
			"zones": []any{nil, "az-1"}, "capacity": 2.0, "network": "net-1",
			"ips":    []any{map[string]any{"ip_address": "10.0.0.5", "subnet": "subnet-1"}},
			"merged": map[string]any{"a": map[string]any{"c": 2.0}, "d": []any{3.0}}, "here": true,
		}, value)
		require.ElementsMatch(t, []string{"INFO begins with beside", "to the log"}, lines)
	})
}

// TestUserDataFaults: each fault of a class is explained.
func TestUserDataFaults(t *testing.T) {
	t.Parallel()
	r := start(t, options(t, script.Bwrap))
	class := func(body string) string {
		return "class C:\n    @staticmethod\n    def scale(*a):\n        " + body + "\n"
	}
	for name, tt := range map[string]struct{ text, want string }{
		"no class":  {"class D: pass\nclass E: pass", "UserData/c.py has no class C; its classes are: D, E"},
		"no method": {"class C: pass", "the class C has no method scale, which this operation calls"},
		"module":    {"import tacker.objects", "imports tacker.objects, which is not available here"},
		"module of many": {
			"from tacker.sol_refactored.common import coordinate",
			"imports tacker.sol_refactored.common.coordinate, which is not available here",
		},
		"function": {
			"from tacker.sol_refactored.common import common_script_utils as u\n" + class("return u.x()"),
			"tacker.sol_refactored.common.common_script_utils has no x here",
		},
		"no dict":      {class("return 1"), "C.scale has returned int instead of a dict"},
		"nothing":      {class("import os; os._exit(0)"), "ended without returning a value"},
		"no JSON":      {class("return {'a': {1}}"), "a value of the type set, which JSON does not have"},
		"no number":    {class("return {'a': float('nan')}"), "the result is not JSON"},
		"too large":    {class("return {'a': 'x' * (9 << 20)}"), "returned a value of more than 8 MiB"},
		"exception":    {class("return a[0]['flavourId'] + 1"), "TypeError: can only concatenate str"},
		"no such file": {class("open('/etc/shadow')"), "No such file or directory: '/etc/shadow'"},
		"other VNFD": {
			"from tacker.sol_refactored.common.common_script_utils import get_vnfd\n" +
				class("return get_vnfd('x', a[4])"),
			"the package of this operation has the VNFD vnfd-1",
		},
		"its own error": {
			"from tacker.sol_refactored.common import exceptions as sol_ex\n" +
				class("raise sol_ex.SolHttpError422(sol_detail='too small')"), "too small",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, _, err := call(t, r, tt.text, "scale")
			require.Nil(t, value)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, lcm.CodeUpstream, lcm.AsError(err).Code)
			require.NotContains(t, err.Error(), "gybe_run.py")
		})
	}
}

// TestTemplatesNeedNoYAMLModule: a class writes its template also where PyYAML is not installed, as JSON.
func TestTemplatesNeedNoYAMLModule(t *testing.T) {
	t.Parallel()
	const text = `
import sys


class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        return sys.meta_path[-1].find_spec(name) if name == 'yaml' else None


sys.meta_path.insert(0, NotInstalled())
import yaml
print(yaml.__name__, hasattr(yaml, 'Loader'))


class C:
    @staticmethod
    def heal(*a):
        return {'template': yaml.safe_dump({'a': 1}), 'read': yaml.safe_load('{"b": 2}')}
`
	value, lines, err := call(t, start(t, options(t, script.Bwrap)), text, "heal")
	require.NoError(t, err)
	require.Equal(t, []string{"yaml False"}, lines)
	require.Equal(t, map[string]any{"template": "{\n  \"a\": 1\n}", "read": map[string]any{"b": 2.0}}, value)
}

// TestClassWithAHostileResult: a class is stopped if its result would use too much of the node.
func TestClassWithAHostileResult(t *testing.T) {
	t.Parallel()
	opts := options(t, script.Bwrap)
	opts.Network = script.NetworkNone
	r := start(t, opts)
	for name, tt := range map[string]struct {
		body, want string
		code       lcm.Code
	}{
		"endless result": {
			"import os\n        while True:\n            os.write(3, b'x' * 65536)",
			"has not ended within 3s", lcm.CodeTimeout,
		},
		"memory": {"return {'a': 'x' * (8 << 30)}", "MemoryError", lcm.CodeUpstream},
		"another host": {
			"import socket; socket.create_connection(('192.0.2.1', 80), 1)", "Network is unreachable", lcm.CodeUpstream,
		},
		"a deep result": {
			"d = {}\n        for _ in range(100000): d = {'a': d}\n        return d", "the result is not JSON",
			lcm.CodeUpstream,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "class C:\n    @staticmethod\n    def heal(*a):\n        " + tt.body + "\n"
			require.NoError(t, r.StartJob(t.Context(), keyOf(t), script.Job{
				Package: fstest.MapFS{"UserData/c.py": {Data: []byte(text)}}, Script: "UserData/c.py",
				Kind: script.UserData, Class: "C", Method: "heal", Input: userData(), Timeout: 3 * time.Second,
			}))
			_, err := outcome(t, r, keyOf(t))
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.code, lcm.AsError(err).Code)
		})
	}
}
