package script_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/test/sandbox"
)

// describeLibrary prints the members of the modules that scripts can import, as an import finds them, and the methods
// of Vnfd.
const describeLibrary = `
import importlib.util, json, sys
sys.path.insert(0, sys.argv[1])
import gybe_names

def members(module):
    return sorted(name for name in vars(module) if not name.startswith("__"))

gybe_names.install()
found = {name: members(importlib.import_module(name)) for name in gybe_names.PROVIDED}
fallbacks = gybe_names._Finder(gybe_names.FALLBACKS)
for name in gybe_names.FALLBACKS:
    module = importlib.util.module_from_spec(fallbacks.find_spec(name))
    module.__spec__.loader.exec_module(module)
    found[name] = members(module)
vnfd = importlib.import_module("tacker.sol_refactored.common.vnfd_utils").Vnfd
found["Vnfd"] = sorted(name for name in vars(vnfd) if not name.startswith("_"))
print(json.dumps(found))
`

// quoted matches code in the documentation.
var quoted = regexp.MustCompile("`([^`]+)`")

// documentedModules reads the modules and members of the documentation, and the methods of Vnfd.
func documentedModules(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "package-scripts.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Modules\n")
	require.True(t, found)
	names := func(cell string) (out []string) {
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			out = append(out, m[1])
		}
		return out
	}
	out := map[string][]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for _, module := range names(cells[1]) {
				out[module] = names(cells[2])
			}
		}
	}
	_, methods, found := strings.Cut(section, "- `Vnfd` has the methods ")
	require.True(t, found)
	methods, _, _ = strings.Cut(methods, ".\n")
	out["Vnfd"] = names(methods)
	return out
}

// TestModulesAreDocumented: the documentation lists each module and member that scripts can import, and no others.
func TestModulesAreDocumented(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, false)
	raw, err := exec.CommandContext(t.Context(), python, "-I", "-B", "-c", describeLibrary, "library").CombinedOutput()
	require.NoError(t, err, "%s", raw)
	var has map[string][]string
	require.NoError(t, json.Unmarshal(raw, &has), "%s", raw)
	documented := documentedModules(t)
	for module, members := range has {
		require.ElementsMatch(t, members, documented[module], module)
		delete(documented, module)
	}
	require.Empty(t, documented, "modules that do not exist")
}

// TestImportsOfClassesAndDrivers: the imports that user-data classes, mgmt drivers and coordination scripts for Tacker
// have work, or fail with the name of the module that is not there.
func TestImportsOfClassesAndDrivers(t *testing.T) {
	t.Parallel()
	r := start(t, options(t, script.Bwrap))
	const missing = "the script imports %, which is not available here"
	for line, want := range map[string]string{
		"from tacker.sol_refactored.common import common_script_utils":                             "",
		"from tacker.sol_refactored.common import vnf_instance_utils as inst_utils":                "",
		"from tacker.sol_refactored.infra_drivers.openstack import userdata_utils":                 "",
		"from tacker.sol_refactored.common import exceptions as sol_ex":                            "",
		"from tacker.sol_refactored.common import coord_client":                                    "",
		"from tacker.common import config, exceptions":                                             "",
		"from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData":                "",
		"from tacker.vnfm.lcm_user_data.constants import USER_DATA_TIMEOUT":                        "",
		"import tacker.vnfm.lcm_user_data.utils as UserDataUtil; UserDataUtil.create_network_dict": "",
		"from oslo_log import log as logging; logging.getLogger(__name__)":                         "",

		"from tacker.sol_refactored.infra_drivers.openstack import heat_utils": "tacker.sol_refactored.infra_drivers." +
			"openstack.heat_utils",
		"from tacker.sol_refactored.infra_drivers.openstack import userdata_default": "tacker.sol_refactored." +
			"infra_drivers.openstack.userdata_default",
		"from tacker.sol_refactored import objects":                    "tacker.sol_refactored.objects",
		"from tacker.sol_refactored.common import config as cfg":       "tacker.sol_refactored.common.config",
		"from tacker.sol_refactored.common import http_client":         "tacker.sol_refactored.common.http_client",
		"from tacker.sol_refactored.conductor import conductor_rpc_v2": "tacker.sol_refactored.conductor",
		"from tacker.common import cmd_executer":                       "tacker.common.cmd_executer",
		"from tacker.common import rpc":                                "tacker.common.rpc",
		"from tacker import context":                                   "tacker.context",
		"from tacker.vnfm.mgmt_drivers import vnflcm_abstract_driver":  "tacker.vnfm.mgmt_drivers",
		"import tacker.vnfm.infra_drivers.openstack.heat_client as hc": "tacker.vnfm.infra_drivers",
		"from tacker.tosca import utils":                               "tacker.tosca",
		"import tacker.vnfm.lcm_user_data.utils as u; u.no_such_member": "tacker.vnfm.lcm_user_data.utils has no " +
			"no_such_member here",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, r, line, nil)
			if want == "" {
				require.NoError(t, err)
				return
			}
			if !strings.Contains(want, " ") {
				want = strings.Replace(missing, "%", want, 1)
			}
			require.ErrorContains(t, err, want)
		})
	}
}
