"""Base class and functions for user-data classes of API version 1 (tacker.vnfm.lcm_user_data)."""

import abc


class AbstractUserData(metaclass=abc.ABCMeta):
    """Base class. instantiate returns the parameters of the base HOT."""

    @staticmethod
    @abc.abstractmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
        raise NotImplementedError("the class has no method instantiate")
