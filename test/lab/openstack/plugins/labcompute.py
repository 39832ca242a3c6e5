"""nova-compute for several hosts in one process; LAB_COMPUTES names them.

A process for each would cost 150 MiB and two seconds of start each, and Nova could not tell the difference.
"""
import os
import sys

from nova.cmd import compute  # patches the standard library before anything else is loaded
from nova.compute import rpcapi
from nova import service
import nova.virt


def main():
    # Nova looks for drivers below nova.virt only.
    nova.virt.__path__.append(os.path.dirname(os.path.abspath(__file__)))
    if os.environ.get('LAB_VIRT_PATH'):
        nova.virt.__path__.insert(0, os.environ['LAB_VIRT_PATH'])
    first, *others = os.environ['LAB_COMPUTES'].split()
    create, serve = service.Service.create, service.serve

    def create_first(**kwargs):
        return create(host=first, **kwargs)

    def serve_all(server, workers=None):
        serve(server, workers)
        for host in others:
            service._launcher.launch_service(create(binary='nova-compute', topic=rpcapi.RPC_TOPIC, host=host))

    service.Service.create, service.serve = create_first, serve_all
    sys.exit(compute.main())
