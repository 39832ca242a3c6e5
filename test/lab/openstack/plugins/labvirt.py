"""Nova's fake hypervisor, with the size of each host set: LAB_CAPACITY="cmp6=4:4096:100" is vCPU, MiB and GiB.

A driver for hosts that do more than this (that run something at the addresses of their servers, say) is another module;
GYBE_LAB_VIRT and GYBE_LAB_VIRT_PATH choose it.
"""
import os

from nova.virt import fake


def capacity(host):
    """The (vcpus, memory_mb, local_gb) that are set for a host, or None."""
    for entry in os.environ.get('LAB_CAPACITY', '').split():
        name, _, size = entry.partition('=')
        if name == host:
            return tuple(int(n) for n in size.split(':'))
    return None


class Driver(fake.FakeDriver):
    def init_host(self, host):
        super().init_host(host)
        size = capacity(host)
        if size:
            self.vcpus, self.memory_mb, self.local_gb = size
            self.resources = fake.Resources(vcpus=self.vcpus, memory_mb=self.memory_mb, local_gb=self.local_gb)
