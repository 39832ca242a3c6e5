"""Parameters of the base HOT, by flavours, images and networks of the VNFD and the request."""

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


class SampleUserData(AbstractUserData):

    @staticmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
        parameters = utils.create_final_param_dict(
            utils.create_initial_param_dict(base_hot_dict),
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            utils.create_sw_image_dict(vnfd_dict),
            utils.create_cpd_vl_dict(base_hot_dict, inst_req_info),
        )
        return {**parameters, **utils.get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info)}
