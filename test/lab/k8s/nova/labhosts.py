"""Nova's compute driver of this lab: a server is a test host (test/lab/hosts) at the address of its port.

Hosts have one interface; a server's first fixed address is theirs. Of its user data they take keys to log in with. labnet, which Neutron calls, routes floating addresses.
"""
import base64
import os

import yaml
from nova import exception
from nova.virt import labvirt
from oslo_concurrency import processutils
from oslo_log import log

LOG = log.getLogger(__name__)
TOOL = os.environ['GYBE_HOSTS_TOOL']


def hosts(*args):
    try:
        out, _ = processutils.execute(TOOL, *args)
    except processutils.ProcessExecutionError as e:
        raise exception.NovaException('%s: %s' % (' '.join(args), e.stderr.strip()))
    return out


class Driver(labvirt.Driver):
    def spawn(self, context, instance, image_meta, injected_files, admin_password, allocations, network_info=None,
              block_device_info=None, power_on=True, accel_info=None):
        super().spawn(context, instance, image_meta, injected_files, admin_password, allocations, network_info,
                      block_device_info, power_on, accel_info)
        address = next((ip['address'] for vif in network_info or [] for ip in vif.fixed_ips() if ip['version'] == 4), None)
        if address is None:
            LOG.warning('server %s has no address: no host is made for it', instance.uuid)
            return
        # Heat's default user data has many parts, none of which is for a host like these.
        text = base64.b64decode(instance.user_data or '')
        data = yaml.safe_load(text) if text.startswith(b'#cloud-config') else None
        keys = (data.get('ssh_authorized_keys') or []) if isinstance(data, dict) else []
        hosts('add', instance.uuid, address, *filter(None, keys))
        for disk in (block_device_info or {}).get('block_device_mapping') or []:
            self.attach_volume(context, disk['connection_info'], instance, disk['mount_device'])

    def attach_volume(self, context, connection_info, instance, mountpoint, *args, **kwargs):
        super().attach_volume(context, connection_info, instance, mountpoint, *args, **kwargs)
        hosts('disk', instance.uuid, connection_info['data']['volume_id'], mountpoint)

    def detach_volume(self, context, connection_info, instance, mountpoint, *args, **kwargs):
        hosts('undisk', instance.uuid, connection_info['data']['volume_id'])
        super().detach_volume(context, connection_info, instance, mountpoint, *args, **kwargs)

    def destroy(self, context, instance, network_info, *args, **kwargs):
        hosts('remove', instance.uuid)
        super().destroy(context, instance, network_info, *args, **kwargs)

    def power_off(self, instance, timeout=0, retry_interval=0):
        hosts('off', instance.uuid)
        super().power_off(instance, timeout, retry_interval)

    def power_on(self, context, instance, network_info, *args, **kwargs):
        hosts('on', instance.uuid)
        super().power_on(context, instance, network_info, *args, **kwargs)

    def reboot(self, context, instance, network_info, reboot_type, *args, **kwargs):
        hosts('reset', instance.uuid)
        super().reboot(context, instance, network_info, reboot_type, *args, **kwargs)
