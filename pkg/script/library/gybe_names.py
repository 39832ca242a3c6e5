"""Gives scripts of packages the modules of Tacker that they import. Tacker itself is not installed.

Each name of PROVIDED stands for a module of this folder. Any other name below "tacker" is an error that names it.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

PROVIDED = {
    "tacker.common.config": "gybe_config",
    "tacker.sol_refactored.common.coord_client": "gybe_coordination",
    "tacker.sol_refactored.common.common_script_utils": "gybe_userdata",
    "tacker.sol_refactored.common.exceptions": "gybe_errors",
    "tacker.sol_refactored.common.vnf_instance_utils": "gybe_instance",
    "tacker.sol_refactored.common.vnfd_utils": "gybe_vnfd",
    "tacker.sol_refactored.infra_drivers.openstack.userdata_utils": "gybe_userdata",
    "tacker.sol_refactored.infra_drivers.openstack.userdata.userdata_utils": "gybe_userdata",
    "tacker.sol_refactored.infra_drivers.openstack.userdata.utils": "gybe_userdata",
    "tacker.vnfm.lcm_user_data.abstract_user_data": "gybe_userdata_v1",
    "tacker.vnfm.lcm_user_data.constants": "gybe_userdata_v1",
    "tacker.vnfm.lcm_user_data.utils": "gybe_userdata_v1",
}

# These are used only if the interpreter does not have them.
FALLBACKS = {"yaml": "gybe_yaml", "oslo_log.log": "gybe_log"}


class NotProvided(ImportError):
    """A module of Tacker that is not in PROVIDED."""


def _within(name, names):
    """Say whether a name is a package of one of the names."""
    return any(full.startswith(name + ".") for full in names)


class _Loader(importlib.abc.Loader):
    """Makes a module from one of this folder, or an empty package."""

    def __init__(self, source):
        self.source = source

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        if self.source is None:
            return
        source = importlib.import_module(self.source)
        vars(module).update((k, v) for k, v in vars(source).items() if not k.startswith("_"))
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
