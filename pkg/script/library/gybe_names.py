"""Gives scripts of packages the modules of Tacker that they import. Tacker itself is not installed.

Any name below "tacker" that is not in PROVIDED is an error that names it, and so is any other member of its modules.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

_USER_DATA = ("gybe_userdata", (
    "AbstractUserData", "get_vnfd", "init_nfv_dict", "get_param_flavor", "get_param_image", "get_param_zone",
    "get_param_zone_by_vnfc", "get_current_capacity", "get_param_capacity", "get_param_network", "get_param_fixed_ips",
    "get_param_network_from_inst", "get_param_fixed_ips_from_inst", "apply_ext_managed_vls",
    "apply_ext_managed_vls_from_inst", "json_merge_patch",
))

# The modules: the module of this folder that each stands for, and its members. docs/package-scripts.md lists them.
PROVIDED = {
    "tacker.common.config": ("gybe_config", ("init",)),
    "tacker.common.exceptions": ("gybe_errors", ("TackerException", "MgmtDriverOtherError", "NotAuthorized")),
    "tacker.sol_refactored.common.coord_client": ("gybe_coordination", ("create_coordination",)),
    "tacker.sol_refactored.common.common_script_utils": _USER_DATA,
    "tacker.sol_refactored.common.exceptions": ("gybe_errors", (
        "SolException", "SolHttpError400", "SolHttpError404", "SolHttpError409", "SolHttpError422",
    )),
    "tacker.sol_refactored.common.vnf_instance_utils": ("gybe_instance", ("json_merge_patch", "select_vim_info")),
    "tacker.sol_refactored.common.vnfd_utils": ("gybe_vnfd", ("Vnfd",)),
    "tacker.sol_refactored.infra_drivers.openstack.userdata_utils": _USER_DATA,
    "tacker.sol_refactored.infra_drivers.openstack.userdata.userdata_utils": _USER_DATA,
    "tacker.sol_refactored.infra_drivers.openstack.userdata.utils": _USER_DATA,
    "tacker.vnfm.lcm_user_data.abstract_user_data": ("gybe_userdata_v1", ("AbstractUserData",)),
    "tacker.vnfm.lcm_user_data.constants": ("gybe_userdata_v1", ("USER_DATA_TIMEOUT",)),
    "tacker.vnfm.lcm_user_data.utils": ("gybe_userdata_v1_utils", (
        "create_initial_param_dict", "create_initial_param_server_port_dict", "create_final_param_dict",
        "create_vdu_flavor_dict", "create_vdu_flavor_capability_name_dict", "create_vdu_image_dict",
        "create_sw_image_dict", "create_cpd_vl_dict", "create_network_dict", "create_desired_capacity_dict",
        "get_desired_capacity_dict", "get_diff_base_hot_param_from_api",
    )),
}

# These are used only if the interpreter does not have them.
FALLBACKS = {
    "oslo_log.log": ("gybe_log", ("getLogger", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")),
    "yaml": ("gybe_yaml", ("YAMLError", "dump", "safe_dump", "safe_load")),
}


class NotProvided(ImportError):
    """A module of Tacker that is not in PROVIDED."""


def _within(name, names):
    """Say whether a name is a package of one of the names."""
    return any(full.startswith(name + ".") for full in names)


class _Loader(importlib.abc.Loader):
    """Makes a module with members of one of this folder; without a source, an empty package."""

    def __init__(self, source):
        self.source = source

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        if self.source is None:
            return
        source, members = self.source
        found = importlib.import_module(source)
        vars(module).update((member, getattr(found, member)) for member in members)
        name = module.__name__

        def missing(attribute):
            raise AttributeError(name + " has no " + attribute + " here: see docs/package-scripts.md")

        module.__getattr__ = missing


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of a table; strict is the package of which nothing else exists."""

    def __init__(self, table, strict=None):
        self.table, self.strict = table, strict

    def find_spec(self, fullname, path=None, target=None):
        if fullname in self.table:
            return importlib.machinery.ModuleSpec(fullname, _Loader(self.table[fullname]))
        if _within(fullname, self.table):
            return importlib.machinery.ModuleSpec(fullname, _Loader(None), is_package=True)
        if self.strict and fullname.startswith(self.strict + "."):
            raise NotProvided(
                "the script imports " + fullname + ", which is not available here: see docs/package-scripts.md",
                name=fullname,
            )
        return None


def install():
    """Make the modules importable. Those of Tacker are ours even if the interpreter has Tacker."""
    sys.meta_path.insert(0, _Finder(PROVIDED, "tacker"))
    sys.meta_path.append(_Finder(FALLBACKS))
