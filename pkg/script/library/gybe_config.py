"""Stands for tacker.common.config: scripts have no configuration of the VNFM, so there is nothing to read."""


def init(args, **options):
    """Do nothing."""
