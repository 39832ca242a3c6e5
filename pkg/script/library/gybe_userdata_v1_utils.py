"""Functions for user-data classes of API version 1 (tacker.vnfm.lcm_user_data.utils)."""

import copy
import re

_UNITS = {
    "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}
_RESOURCES = ("OS::Nova::Server", "OS::Neutron::Port", "OS::Cinder::Volume")


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
        value = cpd_vl_dict.get(name)  # of create_cpd_vl_dict or of create_network_dict
        leaves.update(value if isinstance(value, dict) else {"network": value})
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


def _fixed_ips(cp):
    found = []
    for config in cp.cp_config or []:
        for protocol in config.cp_protocol_data or []:
            ethernet = protocol.ip_over_ethernet
            for ip in (ethernet.ip_addresses if ethernet else None) or []:
                entry = {}
                if ip.subnet_id:
                    entry["subnet"] = ip.subnet_id
                if ip.fixed_addresses:
                    entry["ip_address"] = ip.fixed_addresses[-1]
                if entry:
                    found.append(entry)
    return found


def create_network_dict(inst_req_info, param_dict):
    asked = (param_dict.get("nfv") or {}).get("CP") or {}
    return {
        cp.cpd_id: {"network": link.resource_id, "fixed_ips": _fixed_ips(cp)}
        for link in inst_req_info.ext_virtual_links or [] for cp in link.ext_cps or [] if cp.cpd_id in asked
    }


def update_connection_points(parameters, request):
    """Put the networks and addresses of a request into the parameters of the stack; fixed_ips only if it has them."""
    for name, values in create_network_dict(request, parameters).items():
        leaves = parameters["nfv"]["CP"][name]
        leaves["network"] = values["network"]
        if values["fixed_ips"]:
            leaves["fixed_ips"] = values["fixed_ips"]
        else:
            leaves.pop("fixed_ips", None)


def _policies(vnfd_dict, kind):
    policies = (vnfd_dict.get("topology_template") or {}).get("policies") or []
    for entry in [policies] if isinstance(policies, dict) else policies:
        for policy in entry.values():
            if policy.get("type") == "tosca.policies.nfv." + kind:
                yield policy


def scaled_vdus(vnfd_dict, aspect):
    """Return the VDUs that an aspect scales."""
    return [
        vdu for policy in _policies(vnfd_dict, "VduScalingAspectDeltas")
        if policy["properties"]["aspect"] == aspect for vdu in policy.get("targets") or []
    ]


def _capacities(base_hot_dict, vnfd_dict, levels):
    """Return the numbers of members of the groups by aspect. A group is named <aspect> or <aspect>_group."""
    groups = {
        name.replace("_group", "") for name, resource in base_hot_dict["heat_template"]["resources"].items()
        if resource.get("type") == "OS::Heat::AutoScalingGroup"
    }
    initial = {
        vdu: policy["properties"]["initial_delta"]["number_of_instances"]
        for policy in _policies(vnfd_dict, "VduInitialDelta") for vdu in policy.get("targets") or []
    }
    numbers = {}
    for policy in _policies(vnfd_dict, "VduScalingAspectDeltas"):
        aspect, deltas = policy["properties"]["aspect"], list(policy["properties"]["deltas"].values())
        for vdu in policy.get("targets") or []:
            if aspect in groups and levels.get(aspect) is not None and deltas:
                numbers[aspect] = initial.get(vdu, 0) + deltas[0]["number_of_instances"] * levels[aspect]
    return numbers


def create_desired_capacity_dict(base_hot_dict, vnfd_dict, inst_req_info):
    for policy in _policies(vnfd_dict, "InstantiationLevels"):
        properties = policy["properties"]
        chosen = inst_req_info.instantiation_level_id or properties.get("default_level")
        scale_info = (properties["levels"].get(chosen) or {}).get("scale_info") or {}
        levels = {aspect: int(info["scale_level"]) for aspect, info in scale_info.items()}
        return _capacities(base_hot_dict, vnfd_dict, levels)
    return {}


def get_desired_capacity_dict(base_hot_dict, vnfd_dict, inst_vnf_info):
    levels = {status.aspect_id: status.scale_level for status in inst_vnf_info.scale_status or []}
    return _capacities(base_hot_dict, vnfd_dict, levels)


def get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info):
    given = inst_req_info.additional_params or {}
    return {name: given[name] for name in base_hot_dict["heat_template"].get("parameters") or {} if given.get(name)}
