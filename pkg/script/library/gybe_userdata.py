"""Functions and the base class for user-data classes of API version 2.

The names and arguments are those of tacker.sol_refactored.common.common_script_utils and of
tacker.sol_refactored.infra_drivers.openstack.userdata_utils.
"""

import abc

from gybe_instance import json_merge_patch  # noqa: F401, for scripts
from gybe_vnfd import Vnfd


class AbstractUserData(metaclass=abc.ABCMeta):
    """Base class. Each operation calls the static method of its name."""

    @staticmethod
    @abc.abstractmethod
    def instantiate(req, inst, grant_req, grant, tmp_csar_dir):
        raise NotImplementedError("the class has no method instantiate")


def get_vnfd(vnfd_id, csar_dir):
    vnfd = Vnfd(vnfd_id)
    vnfd.init_from_csar_dir(csar_dir)
    return vnfd


def _asked(value):
    """Yield the arguments of all get_param below a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "get_param":
                yield inner
            else:
                yield from _asked(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _asked(inner)


def init_nfv_dict(hot_template):
    """Return the value of nfv that the template asks for, with None for each leaf."""
    nfv = {}
    for resource in (hot_template.get("resources") or {}).values():
        for path in _asked(resource.get("properties") or {}):
            if not isinstance(path, list) or len(path) < 4 or path[0] != "nfv":
                continue
            at = nfv
            for item in path[1:-1]:
                at = at.setdefault(item, {})
            at[path[-1]] = None
    return nfv


def _flavour_of(flavour):
    """Return the flavour's id. Early releases of Tacker passed the request in its place."""
    return flavour["flavourId"] if isinstance(flavour, dict) else flavour


def _asset(grant, kind, key, name, value):
    for asset in (grant.get("vimAssets") or {}).get(kind) or []:
        if asset[key] == name:
            return asset[value]
    return None


def get_param_flavor(vdu_name, flavour_id, vnfd, grant):
    granted = _asset(grant, "computeResourceFlavours", "vnfdVirtualComputeDescId", vdu_name, "vimFlavourId")
    return granted if granted is not None else vnfd.get_compute_flavor(_flavour_of(flavour_id), vdu_name)


def get_param_image(vdu_name, flavour_id, vnfd, grant, fallback_vnfd=True):
    granted = _asset(grant, "softwareImages", "vnfdSoftwareImageId", vdu_name, "vimSoftwareImageId")
    if granted is None and fallback_vnfd:
        return vnfd.get_sw_image(_flavour_of(flavour_id)).get(vdu_name)
    return granted


def get_param_zone_by_vnfc(res_id, grant):
    zones = {zone["id"]: zone["zoneId"] for zone in grant.get("zones") or []}
    for resource in grant.get("addResources") or []:
        if resource["resourceDefinitionId"] == res_id:
            return zones.get(resource.get("zoneId"))
    return None


def get_param_zone(vdu_name, grant_req, grant):
    for resource in grant_req.get("addResources") or []:
        zone = get_param_zone_by_vnfc(resource["id"], grant)
        if resource.get("resourceTemplateId") == vdu_name and zone is not None:
            return zone
    return None


def get_current_capacity(vdu_name, inst):
    vnfcs = (inst.get("instantiatedVnfInfo") or {}).get("vnfcResourceInfo") or []
    return sum(1 for vnfc in vnfcs if vnfc["vduId"] == vdu_name)


def get_param_capacity(vdu_name, inst, grant_req):
    def count(kind):
        return sum(
            1 for resource in grant_req.get(kind) or []
            if resource["type"] == "COMPUTE" and resource.get("resourceTemplateId") == vdu_name
        )

    return get_current_capacity(vdu_name, inst) + count("addResources") - count("removeResources")


def _cp_of_links(cp_name, links, member):
    """Return the link and the connection point with this name; None, None if there is none."""
    for link in links:
        for cp in link.get(member) or []:
            if cp["cpdId"] == cp_name:
                return link, cp
    return None, None


def _of_request(cp_name, grant, req):
    links = (grant.get("extVirtualLinks") or []) + (req.get("extVirtualLinks") or [])
    return _cp_of_links(cp_name, links, "extCps")


def _of_instance(cp_name, inst):
    links = inst["instantiatedVnfInfo"].get("extVirtualLinkInfo") or []
    return _cp_of_links(cp_name, links, "currentVnfExtCpData")


def _fixed_ips(cp):
    found = []
    for config in (cp.get("cpConfig") or {}).values():
        for protocol in (config or {}).get("cpProtocolData") or []:
            for ip in (protocol.get("ipOverEthernet") or {}).get("ipAddresses") or []:
                entry = {}
                if ip.get("fixedAddresses"):
                    entry["ip_address"] = str(ip["fixedAddresses"][0])
                if ip.get("subnetId"):
                    entry["subnet"] = ip["subnetId"]
                if entry:
                    found.append(entry)
    return found


def get_param_network(cp_name, grant, req):
    link, _ = _of_request(cp_name, grant, req)
    return None if link is None else link["resourceId"]


def get_param_fixed_ips(cp_name, grant, req):
    _, cp = _of_request(cp_name, grant, req)
    return None if cp is None else _fixed_ips(cp)


def get_param_network_from_inst(cp_name, inst):
    link, _ = _of_instance(cp_name, inst)
    return None if link is None else link["resourceHandle"]["resourceId"]


def get_param_fixed_ips_from_inst(cp_name, inst):
    _, cp = _of_instance(cp_name, inst)
    return None if cp is None else _fixed_ips(cp)


def _replace(value, old, new):
    """Put new in the place of every member that equals old."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(members):
        if inner == old:
            value[key] = new
        else:
            _replace(inner, old, new)


def _use_networks(hot_dict, networks):
    """Let a template use networks that exist in the place of those that it would create, by their names."""
    resources = hot_dict.get("resources") or {}
    for name, network_id in networks:
        reference = {"get_resource": name}
        created = [
            key for key, resource in resources.items()
            if key == name or resource.get("type") == "OS::Neutron::Subnet"
            and (resource.get("properties") or {}).get("network") == reference
        ]
        for key in created:
            del resources[key]
        _replace(resources, reference, network_id)


def apply_ext_managed_vls(hot_dict, req, grant):
    links = (grant.get("extManagedVirtualLinks") or []) + (req.get("extManagedVirtualLinks") or [])
    _use_networks(hot_dict, [(link["vnfVirtualLinkDescId"], link["resourceId"]) for link in links])


def apply_ext_managed_vls_from_inst(hot_dict, inst):
    links = inst["instantiatedVnfInfo"].get("extManagedVirtualLinkInfo") or []
    _use_networks(
        hot_dict, [(link["vnfVirtualLinkDescId"], link["networkResource"]["resourceId"]) for link in links],
    )
