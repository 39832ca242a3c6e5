"""The base class for user-data classes of API version 1 (tacker.vnfm.lcm_user_data), and how they are called.

Such a class has the method instantiate, and may have scale and heal. They return the parameters of the base HOT.
"""

import abc
import copy
import json
import re

import gybe_userdata
import gybe_userdata_v1_utils

USER_DATA_TIMEOUT = 120


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


# The methods that a class may have beside instantiate. All return the parameters of the stack.
CHANGES = ("heal", "scale")


def call(found, method, given):
    """Call a class; return a result in the form of API version 2, with the methods that the class has."""
    value = {"class_v1": {"methods": [name for name in CHANGES if callable(getattr(found, name, None))]}}
    parameters = copy.deepcopy(given.get("stack_parameters") or {})
    if method == "instantiate":
        return _instantiate(found, given, value)
    if method == "change_ext_conn":  # as in Tacker, no method is called: the connection points get their values
        gybe_userdata_v1_utils.update_connection_points(parameters, _request(given["request"]))
    elif method in value["class_v1"]["methods"]:
        parameters = _change(getattr(found, method), method, given, parameters)
        if not isinstance(parameters, dict):
            return parameters
    elif method != "heal":
        raise NotImplementedError("the class of API version 1 has no method " + method)
    return dict(value, parameters=parameters)


def _vnfd(given):
    return gybe_userdata.get_vnfd(given["vnfd_id"], None)


def _base(hot):
    return copy.deepcopy(dict(hot.get("files") or {}, heat_template=hot["template"]))


def _instantiate(found, given, value):
    req, vnfd = given["request"], _vnfd(given)
    hot = vnfd.get_base_hot(req["flavourId"])
    parameters = found.instantiate(
        _base(hot), copy.deepcopy(vnfd.get_vnfd_flavour(req["flavourId"])), _request(req),
        _images(vnfd, req["flavourId"], given["grant_response"]),
    )
    if not isinstance(parameters, dict):
        return parameters
    gybe_userdata.apply_ext_managed_vls(hot["template"], req, given["grant_response"])
    return dict(
        value, template=json.dumps(hot["template"]), parameters=parameters,
        files={name: json.dumps(content) for name, content in (hot.get("files") or {}).items()},
    )


def _change(function, method, given, parameters):
    inst, vnfd = given["vnf_instance"], _vnfd(given)
    info = inst["instantiatedVnfInfo"]
    flavour = copy.deepcopy(vnfd.get_vnfd_flavour(info["flavourId"]))
    common = dict(
        base_hot_dict=_base(vnfd.get_base_hot(info["flavourId"])), vnfd_dict=flavour, vnf_instances=members(inst),
        inst_vnf_info=members(info), param=parameters,
    )
    if method == "scale":
        vdus = gybe_userdata_v1_utils.scaled_vdus(flavour, given["request"]["aspectId"])
        number = gybe_userdata.get_param_capacity(vdus[0], inst, given["grant_request"]) if vdus else None
        return function(scale_vnf_request=members(given["request"]), resource_number=number, **common)
    gone = {
        (resource.get("resource") or {}).get("resourceId")
        for resource in given["grant_request"].get("removeResources") or []
    }
    healed = [vnfc for vnfc in info.get("vnfcResourceInfo") or [] if vnfc["computeResource"]["resourceId"] in gone]
    return function(heal_vnf_request=members(given["request"]), vnfc_resource_info=members(healed), **common)
