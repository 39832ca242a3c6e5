"""User-data class of this package: one resource per VNFC, and an output with the number of VNFCs."""

import copy

from oslo_log import log as logging
from tacker.sol_refactored.common import common_script_utils as utils
from tacker.sol_refactored.common import vnf_instance_utils as inst_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_utils
import yaml

LOG = logging.getLogger(__name__)


def numbered(name, index):
    return "%s-%d" % (name, index)


def resource_of(base, index):
    """Copy the resource of a VDU for one VNFC, which has its own values below nfv."""
    resource = copy.deepcopy(base)
    for value in resource["properties"].values():
        path = value.get("get_param")
        if path and path[0] == "nfv":
            path[2] = numbered(path[2], index)
    return resource


def machines(top, count):
    """Replace the VDU of the base HOT by its VNFCs."""
    base = top["resources"].pop("VDU1")
    for index in range(count):
        top["resources"][numbered("VDU1", index)] = resource_of(base, index)
    top["outputs"] = {"machines": {"value": count}}


def values(top, flavour_id, vnfd, grant, network):
    nfv = utils.init_nfv_dict(top)
    for leaves in nfv["VDU"].values():
        leaves["computeFlavourId"] = utils.get_param_flavor("VDU1", flavour_id, vnfd, grant)
        leaves["vcImageId"] = utils.get_param_image("VDU1", flavour_id, vnfd, grant)
    for leaves in nfv["CP"].values():
        leaves["network"] = network
    return nfv


def full(vnfd_id, flavour_id, count, grant, network, tmp_csar_dir):
    vnfd = utils.get_vnfd(vnfd_id, tmp_csar_dir)
    hot = vnfd.get_base_hot(flavour_id)
    top = hot["template"]
    machines(top, count)
    LOG.info("the flavour %s with %d machines", flavour_id, count)
    return {
        "template": yaml.safe_dump(top),
        "parameters": {"nfv": values(top, flavour_id, vnfd, grant, network)},
        "files": {name: yaml.safe_dump(text) for name, text in hot["files"].items()},
    }


class SiteUserData(userdata_utils.AbstractUserData):

    @staticmethod
    def instantiate(req, inst, grant_req, grant, tmp_csar_dir):
        count = utils.get_param_capacity("VDU1", inst, grant_req)
        network = utils.get_param_network("VDU1_CP1", grant, req)
        fields = full(inst["vnfdId"], req["flavourId"], count, grant, network, tmp_csar_dir)
        own = req.get("additionalParams", {}).get("nfv", {})
        inst_utils.json_merge_patch(fields["parameters"]["nfv"], own)
        return fields

    @staticmethod
    def scale(req, inst, grant_req, grant, tmp_csar_dir):
        had = utils.get_current_capacity("VDU1", inst)
        count = utils.get_param_capacity("VDU1", inst, grant_req)
        network = utils.get_param_network_from_inst("VDU1_CP1", inst)
        flavour_id = inst["instantiatedVnfInfo"]["flavourId"]
        fields = full(inst["vnfdId"], flavour_id, count, grant, network, tmp_csar_dir)
        top = yaml.safe_load(fields["template"])
        # Only differences: resources of VNFCs that go are removed, the present ones stay as they are.
        changed = {name: r for name, r in top["resources"].items() if int(name.rpartition("-")[2]) >= had}
        changed.update({numbered("VDU1", index): None for index in range(count, had)})
        nfv = {
            kind: {name: v for name, v in names.items() if int(name.rpartition("-")[2]) >= had}
            for kind, names in fields["parameters"]["nfv"].items()
        }
        for index in range(count, had):
            nfv["VDU"][numbered("VDU1", index)] = None
            nfv["CP"][numbered("VDU1_CP1", index)] = None
        return {
            "template": yaml.safe_dump({"resources": changed, "outputs": top["outputs"]}),
            "parameters": {"nfv": nfv},
        }

    @staticmethod
    def heal(req, inst, grant_req, grant, tmp_csar_dir):
        return {"parameters": {"nfv": {}}}

    @staticmethod
    def change_ext_conn(req, inst, grant_req, grant, tmp_csar_dir):
        network = utils.get_param_network("VDU1_CP1", grant, req)
        names = inst["instantiatedVnfInfo"]["metadata"]["nfv"]["CP"]
        return {"parameters": {"nfv": {"CP": {name: {"network": network} for name in names}}}}

    @staticmethod
    def change_vnfpkg(req, inst, grant_req, grant, tmp_csar_dir):
        count = utils.get_current_capacity("VDU1", inst)
        network = utils.get_param_network_from_inst("VDU1_CP1", inst)
        flavour_id = inst["instantiatedVnfInfo"]["flavourId"]
        fields = full(req["vnfdId"], flavour_id, count, grant, network, tmp_csar_dir)
        fields["existing"] = False
        return fields
