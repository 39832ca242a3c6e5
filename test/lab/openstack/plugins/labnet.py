"""Neutron without agents: an ML2 mechanism driver that does at once what agents do later.

A port is bound to whatever host Nova names, and is ACTIVE. A floating IP becomes ACTIVE a moment after it is given a
port, and DOWN again when the port is taken from it, which is the L3 agent's report on a real network node.
"""
import os

import eventlet
from neutron_lib import constants
from neutron_lib import context as neutron_context
from neutron_lib.callbacks import events
from neutron_lib.callbacks import registry
from neutron_lib.callbacks import resources
from neutron_lib.plugins import constants as plugins
from neutron_lib.plugins import directory
from neutron_lib.plugins.ml2 import api
from oslo_concurrency import processutils
from oslo_log import log

LOG = log.getLogger(__name__)
AGENT_SECONDS = 0.2
# A command that routes a floating address: ADDRESS and, when it has one, the fixed address that it leads to.
ROUTE = os.environ.get('LAB_FLOAT', '').split()


class MechanismDriver(api.MechanismDriver):
    def initialize(self):
        registry.subscribe(self._floating_ip, resources.FLOATING_IP, events.AFTER_CREATE)
        registry.subscribe(self._floating_ip, resources.FLOATING_IP, events.AFTER_UPDATE)

    def bind_port(self, context):
        segment = context.segments_to_bind[0]
        context.set_binding(segment[api.ID], 'ovs', {'port_filter': True}, status=constants.PORT_STATUS_ACTIVE)

    def _floating_ip(self, resource, event, trigger, payload):
        state = payload.latest_state
        port = state.get('fixed_port_id') or state.get('port_id')
        status = constants.FLOATINGIP_STATUS_ACTIVE if port else constants.FLOATINGIP_STATUS_DOWN
        eventlet.spawn_after(AGENT_SECONDS, self._report, payload.resource_id or state['id'], status)

    def _report(self, floating_ip, status):
        admin, l3 = neutron_context.get_admin_context(), directory.get_plugin(plugins.L3)
        try:
            if ROUTE:
                now = l3.get_floatingip(admin, floating_ip)
                processutils.execute(*ROUTE, now['floating_ip_address'], now['fixed_ip_address'] or '')
            l3.update_floatingip_status(admin, floating_ip, status)
        except Exception as e:  # deleted in between: an agent would report nothing either
            LOG.debug('floating IP %s: %s', floating_ip, e)
