"""What a user finds in the cloud: networks, flavors, an image, a volume type, zones. resources.py MARK does nothing but
wait for the hosts when the file MARK is there; it makes it at the end."""
import os
import struct
import sys
import time

from cloud import connect

MARK = sys.argv[1]
HOSTS = set(os.environ['LAB_COMPUTES'].split())
ZONES = {z: h.split(',') for z, h in (e.split('=') for e in os.environ['LAB_ZONES'].split())}
PATIENCE = 90  # seconds, for the hosts
IMAGE = 'cirros-0.5.2-x86_64-disk'
FLAVORS = (  # name, MiB, vCPU, GiB
    ('m1.tiny', 512, 1, 1), ('m1.small', 2048, 1, 20), ('m1.medium', 4096, 2, 40), ('m1.large', 8192, 4, 80),
    ('m1.huge', 1 << 21, 2000, 1000),  # larger than any host
)
NETWORKS = (  # name, subnet, range; private ones can be used by every project
    ('net0', 'subnet0', '10.10.0.0/24'), ('net1', 'subnet1', '10.10.1.0/24'), ('net_mgmt', 'subnet_mgmt', '192.168.120.0/24'))
EXTERNAL = ('public', 'public-subnet', '172.24.4.0/24')

cloud = connect('nfv_user', 'nfv')


def networks():
    nets = {n.name: n for n in cloud.network.networks()}
    subnets = {s.name: s for s in cloud.network.subnets()}

    def ensure(name, subnet, cidr, dhcp, **more):
        if name not in nets:
            nets[name] = cloud.network.create_network(name=name, **more)
        if subnet not in subnets:
            subnets[subnet] = cloud.network.create_subnet(
                network_id=nets[name].id, name=subnet, cidr=cidr, ip_version=4, enable_dhcp=dhcp)

    ensure(*EXTERNAL, dhcp=False, is_router_external=True, provider_network_type='flat', provider_physical_network='public')
    for net in NETWORKS:
        ensure(*net, dhcp=True, is_shared=True)
    router = next(cloud.network.routers(name='router0'), None) or cloud.network.create_router(
        name='router0', external_gateway_info={'network_id': nets['public'].id})
    if not list(cloud.network.ports(device_id=router.id, network_id=nets['net0'].id)):
        cloud.network.add_interface_to_router(router, subnet_id=subnets['subnet0'].id)


def flavors():
    known = {f.name for f in cloud.compute.flavors()}
    for name, ram, vcpus, disk in FLAVORS:
        if name not in known:
            cloud.compute.create_flavor(name=name, ram=ram, vcpus=vcpus, disk=disk)


def empty_qcow2():
    """A disk of 1 MiB with nothing on it: header, refcount table, refcount block, L1 table, each in a cluster of its own."""
    cluster = 1 << 16
    header = struct.pack('>4sIQIIQIIQQIIQ', b'QFI\xfb', 2, 0, 0, 16, 1 << 20, 0, 1, 3 * cluster, cluster, 1, 0, 0)
    table = struct.pack('>Q', 2 * cluster)
    block = struct.pack('>4H', 1, 1, 1, 1)
    return b''.join(part.ljust(cluster, b'\0') for part in (header, table, block, b''))


def image():
    if not list(cloud.image.images(name=IMAGE)):
        cloud.create_image(IMAGE, data=empty_qcow2(), disk_format='qcow2', container_format='bare', visibility='public', wait=True)


def volume_type():
    if not any(t.name == 'standard' for t in cloud.block_storage.types()):
        cloud.block_storage.create_type(name='standard')


def up(service):
    return service['state'] == 'up'


def await_hosts():
    began, found, computes, volumes = time.time(), set(), set(), False
    while time.time() - began < PATIENCE:
        found = {h.name for h in cloud.compute.hypervisors()}
        computes = {s.host for s in cloud.compute.services(binary='nova-compute') if s.state == 'up'}
        # This release of the SDK does not list Cinder's services.
        services = cloud.block_storage.get('/os-services').json()['services']
        volumes = any(up(s) for s in services if s['binary'] == 'cinder-volume')
        if HOSTS <= found & computes and volumes:
            return
        time.sleep(0.5)
    sys.exit(f'lab: hosts that are known: {sorted(found)}; that are up: {sorted(computes)}; a volume service is up: {volumes}')


def zones():
    aggregates = {a.name: a for a in cloud.compute.aggregates()}
    for zone, hosts in ZONES.items():
        aggregate = aggregates.get(zone) or cloud.compute.create_aggregate(name=zone, availability_zone=zone)
        for host in hosts:
            if host not in (aggregate.hosts or []):
                cloud.compute.add_host_to_aggregate(aggregate, host)


if os.path.exists(MARK):
    await_hosts()
else:
    networks()
    flavors()
    image()
    volume_type()
    await_hosts()
    zones()
    open(MARK, 'w').close()
