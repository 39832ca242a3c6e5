"""Base class and functions for user-data classes of API version 1 (tacker.vnfm.lcm_user_data).

Such a class has one method, instantiate, which returns the parameters of the base HOT.
"""

import abc
import copy
import re

USER_DATA_TIMEOUT = 120

_UNITS = {
    "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}
_RESOURCES = ("OS::Nova::Server", "OS::Neutron::Port", "OS::Cinder::Volume")


class AbstractUserData(metaclass=abc.ABCMeta):
    """Base class."""

    @staticmethod
    @abc.abstractmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
        raise NotImplementedError("the class has no method instantiate")


class Members:
    """A JSON object whose members are attributes: extVirtualLinks is ext_virtual_links. Missing ones are None."""

    def __init__(self, value):
        self._value = value

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        camel = re.sub("_(.)", lambda m: m.group(1).upper(), name)
        value = self._value.get(camel)
        return value if name in ("additional_params", "metadata", "extensions") else members(value)

    def get(self, name, default=None):
        return self._value.get(name, default)


def members(value):
    if isinstance(value, dict):
        return Members(value)
    if isinstance(value, list):
        return [members(inner) for inner in value]
    return value


class Resource:
    """An image of the VIM."""

    def __init__(self, identifier):
        self.resource_identifier = identifier
        self.resource_name = identifier


def _request(req):
    """Return the request with lists in the place of the maps that only API version 2 has."""
    req = copy.deepcopy(req)
    for link in req.get("extVirtualLinks") or []:
        for cp in link.get("extCps") or []:
            if isinstance(cp.get("cpConfig"), dict):
                cp["cpConfig"] = [dict(c, cpInstanceId=name) for name, c in cp["cpConfig"].items() if c]
    return members(req)


def _images(vnfd, flavour_id, grant):
    images = dict(vnfd.get_sw_image(flavour_id))
    for asset in (grant.get("vimAssets") or {}).get("softwareImages") or []:
        images[asset["vnfdSoftwareImageId"]] = asset["vimSoftwareImageId"]
    return {name: [Resource(image)] for name, image in images.items()}


def call(found, method, given):
    """Call a class; return a result in the form of API version 2."""
    import gybe_userdata
    import json

    if method == "heal":  # the parameters stay what they are
        return {}
    if method != "instantiate":
        raise NotImplementedError("classes of API version 1 have no method " + method)
    req, grant = given["request"], given["grant_response"]
    vnfd = gybe_userdata.get_vnfd(given["vnfd_id"], None)
    hot = vnfd.get_base_hot(req["flavourId"])
    nested = hot.get("files") or {}
    base = copy.deepcopy(dict(nested, heat_template=hot["template"]))
    parameters = found.instantiate(
        base, copy.deepcopy(vnfd.get_vnfd_flavour(req["flavourId"])), _request(req),
        _images(vnfd, req["flavourId"], grant),
    )
    if not isinstance(parameters, dict):
        return parameters
    gybe_userdata.apply_ext_managed_vls(hot["template"], req, grant)
    return {
        "version": 1, "template": json.dumps(hot["template"]), "parameters": parameters,
        "files": {name: json.dumps(content) for name, content in nested.items()},
    }


def _properties(resource):
    """Yield the properties of a resource, or of the members of a group, in which nfv may be asked for."""
    properties = resource.get("properties") or {}
    if resource.get("type") == "OS::Heat::AutoScalingGroup":
        properties = (properties.get("resource") or {}).get("properties") or {}
    yield from properties.values()
    for device in properties.get("block_device_mapping_v2") or []:
        yield device.get("image")


def _initial(base_hot_dict, types):
    nfv = {"VDU": {}, "CP": {}}
    for template in base_hot_dict.values():
        if not (template.get("parameters") or {}).get("nfv"):
            continue
        for resource in (template.get("resources") or {}).values():
            if resource.get("type") not in types:
                continue
            for value in _properties(resource):
                path = value.get("get_param") if isinstance(value, dict) else None
                if isinstance(path, list) and len(path) == 4 and path[0] == "nfv" and path[1] in nfv:
                    nfv[path[1]].setdefault(path[2], {})
    return {"nfv": nfv}


def create_initial_param_dict(base_hot_dict):
    return _initial(base_hot_dict, _RESOURCES + ("OS::Heat::AutoScalingGroup", "OS::Nova::Flavor"))


def create_initial_param_server_port_dict(base_hot_dict):
    return _initial(base_hot_dict, _RESOURCES + ("OS::Heat::AutoScalingGroup",))


def create_final_param_dict(param_dict, vdu_flavor_dict, vdu_image_dict, cpd_vl_dict):
    final = copy.deepcopy(param_dict)
    nfv = final.get("nfv") or {}
    for name, leaves in (nfv.get("VDU") or {}).items():
        leaves.update(flavor=vdu_flavor_dict.get(name), image=vdu_image_dict.get(name))
    for name, leaves in (nfv.get("CP") or {}).items():
        leaves["network"] = cpd_vl_dict.get(name)
    return final


def _nodes(vnfd_dict):
    return ((vnfd_dict.get("topology_template") or {}).get("node_templates") or {}).items()


def _compute(node):
    virtual = (node.get("capabilities") or {}).get("virtual_compute") or {}
    return virtual.get("properties") or {}


def _size(text, unit):
    """Convert a size such as "512 MB" to whole units."""
    found = re.match(r"\s*(\d+)\s*([A-Za-z]+)", str(text))
    return int(found.group(1)) * _UNITS[found.group(2)] // _UNITS[unit]


def create_vdu_flavor_dict(vnfd_dict):
    flavours = {}
    for name, node in _nodes(vnfd_dict):
        properties, flavour = _compute(node), {}
        if "virtual_cpu" in properties:
            flavour["vcpus"] = properties["virtual_cpu"]["num_virtual_cpu"]
        if "virtual_memory" in properties:
            flavour["ram"] = _size(properties["virtual_memory"]["virtual_mem_size"], "MiB")
        if "virtual_local_storage" in properties:
            flavour["disk"] = _size(properties["virtual_local_storage"][0]["size_of_storage"], "GiB")
        flavours[name] = flavour
    return flavours


def create_vdu_flavor_capability_name_dict(vnfd_dict):
    names = {}
    for name, node in _nodes(vnfd_dict):
        requested = (_compute(node).get("requested_additional_capabilities") or {}).get("properties") or {}
        if "requested_additional_capability_name" in requested:
            names[name] = requested["requested_additional_capability_name"]
    return names


def create_vdu_image_dict(grant_info):
    return {name: images[-1].resource_identifier for name, images in grant_info.items() if images}


def create_sw_image_dict(vnfd_dict):
    data = {name: (node.get("properties") or {}).get("sw_image_data") or {} for name, node in _nodes(vnfd_dict)}
    return {name: image["name"] for name, image in data.items() if "name" in image}


def create_cpd_vl_dict(base_hot_dict, inst_req_info):
    networks = {}
    for link in inst_req_info.ext_virtual_links or []:
        for cp in link.ext_cps or []:
            if any(cp.cpd_id in (template.get("resources") or {}) for template in base_hot_dict.values()):
                networks[cp.cpd_id] = link.resource_id
    return networks


def create_network_dict(inst_req_info, param_dict):
    asked = (param_dict.get("nfv") or {}).get("CP") or {}
    return {
        cp.cpd_id: link.resource_id
        for link in inst_req_info.ext_virtual_links or [] for cp in link.ext_cps or [] if cp.cpd_id in asked
    }


def get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info):
    given = inst_req_info.additional_params or {}
    return {name: given[name] for name in base_hot_dict["heat_template"].get("parameters") or {} if given.get(name)}
