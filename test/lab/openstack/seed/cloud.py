"""The one thing that the seeding programs share: a connection as some user."""
import os

import openstack


def connect(username, project):
    return openstack.connect(
        auth_url=os.environ['LAB_KEYSTONE'], username=username, password=os.environ['LAB_PASSWORD'], project_name=project,
        user_domain_id='default', project_domain_id='default', region_name='RegionOne')
