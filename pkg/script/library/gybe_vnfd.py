"""The VNFD and the base HOT of a package (tacker.sol_refactored.common.vnfd_utils.Vnfd).

Gybe has parsed the YAML files, so PyYAML is not needed. provide() says what they contain.
"""

import copy
import os

COMPUTE = "tosca.nodes.nfv.Vdu.Compute"
STORAGE = "tosca.nodes.nfv.Vdu.VirtualBlockStorage"

_provided = {"id": None, "files": {}}


def provide(vnfd_id, files):
    """files has the contents of the package's YAML files by their paths."""
    _provided["id"], _provided["files"] = vnfd_id, files


def _down(value, *names):
    """Follow names through nested dicts; {} when one of them is missing."""
    for name in names:
        value = (value or {}).get(name) if isinstance(value, dict) else None
    return {} if value is None else value


def _merged(entries):
    """Return policies or groups as pairs: YAML has them as a list of dicts, or as one dict."""
    for entry in [entries] if isinstance(entries, dict) else entries or []:
        yield from entry.items()


class Vnfd:
    """The VNFD of the package that the script belongs to."""

    def __init__(self, vnfd_id):
        self.vnfd_id = vnfd_id
        self.csar_dir = None
        self.definitions = {}

    def init_from_csar_dir(self, csar_dir):
        if self.vnfd_id != _provided["id"]:
            raise ValueError(
                "there is no VNFD %s here: the package of this operation has the VNFD %s"
                % (self.vnfd_id, _provided["id"])
            )
        self.csar_dir = csar_dir
        files = _provided["files"]
        self.definitions = {
            path: files[path] for path in sorted(files) if not path.startswith("BaseHOT/") and isinstance(files[path], dict)
        }

    def get_vnfd_flavour(self, flavour_id):
        for content in self.definitions.values():
            mapping = _down(content, "topology_template", "substitution_mappings", "properties")
            if _down(mapping, "flavour_id") == flavour_id:
                return content
        return None

    def _templates(self, flavour_id):
        return _down(self.get_vnfd_flavour(flavour_id), "topology_template", "node_templates")

    def get_nodes(self, flavour_id, node_type):
        return {name: node for name, node in self._templates(flavour_id).items() if node.get("type") == node_type}

    def get_vdu_nodes(self, flavour_id):
        return self.get_nodes(flavour_id, COMPUTE)

    def get_storage_nodes(self, flavour_id):
        return self.get_nodes(flavour_id, STORAGE)

    def get_virtual_link_nodes(self, flavour_id):
        return self.get_nodes(flavour_id, "tosca.nodes.nfv.VnfVirtualLink")

    def get_vducp_nodes(self, flavour_id):
        return self.get_nodes(flavour_id, "tosca.nodes.nfv.VduCp")

    def get_vdu_cps(self, flavour_id, vdu_name):
        def bound(node):
            return any(r.get("virtual_binding") == vdu_name for r in node.get("requirements") or [])

        return [name for name, node in self.get_vducp_nodes(flavour_id).items() if bound(node)]

    def get_vdu_storages(self, vdu_node):
        return [r["virtual_storage"] for r in vdu_node.get("requirements") or [] if "virtual_storage" in r]

    def get_vl_name_from_cp(self, flavour_id, cp_data):
        return next((r["virtual_link"] for r in cp_data.get("requirements") or [] if "virtual_link" in r), None)

    def get_sw_image_data(self, flavour_id):
        images = {}
        for name, node in self._templates(flavour_id).items():
            data = _down(node, "properties", "sw_image_data")
            if node.get("type") in (COMPUTE, STORAGE) and data:
                images[name] = dict(data)
                file = _down(node, "artifacts", "sw_image", "file")
                if file:
                    images[name]["file"] = file
        return images

    def get_sw_image(self, flavour_id):
        return {name: data["name"] for name, data in self.get_sw_image_data(flavour_id).items()}

    def get_compute_flavor(self, flavour_id, vdu_name):
        name = _down(
            self._templates(flavour_id), vdu_name, "capabilities", "virtual_compute", "properties",
            "requested_additional_capabilities", "properties", "requested_additional_capability_name",
        )
        return name or None

    def get_base_hot(self, flavour_id):
        """Return {"template": the top template, "files": nested templates by file name}, as copies."""
        top = "BaseHOT/" + flavour_id + "/"
        found = {}
        for path in sorted(_provided["files"]):
            folder, name = os.path.split(path)
            content = _provided["files"][path]
            if folder + "/" == top and "template" not in found:
                found["template"] = copy.deepcopy(content)
            elif folder + "/" == top + "nested/":
                found.setdefault("files", {})[name] = copy.deepcopy(content)
        return found

    def get_policy_values_by_type(self, flavour_id, policy_type):
        policies = _down(self.get_vnfd_flavour(flavour_id), "topology_template", "policies")
        return [policy for _, policy in _merged(policies) if policy.get("type") == policy_type]

    def get_default_instantiation_level(self, flavour_id):
        levels = self.get_policy_values_by_type(flavour_id, "tosca.policies.nfv.InstantiationLevels")
        return _down(levels[0], "properties").get("default_level") if levels else None

    def get_vdu_num(self, flavour_id, vdu_name, instantiation_level):
        for policy in self.get_policy_values_by_type(flavour_id, "tosca.policies.nfv.VduInstantiationLevels"):
            if vdu_name in policy.get("targets") or []:
                return _down(policy, "properties", "levels", instantiation_level).get("number_of_instances")
        return 0

    def get_placement_groups(self, flavour_id):
        groups = _down(self.get_vnfd_flavour(flavour_id), "topology_template", "groups")
        return {
            name: group["members"] for name, group in _merged(groups)
            if group.get("type") == "tosca.groups.nfv.PlacementGroup"
        }
