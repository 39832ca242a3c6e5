"""Prepares the process in which a script of a VNF package runs, and hands over to gybe_run of the library.

Standard library only, Python 3.8 or newer. The task is JSON on standard input: {"package", "script", "limits", "input", "library", "kind", "program", "returns", …}.
A task that returns a value does so on file descriptor 3.
"""

import json
import os
import resource
import sys


def limit(limits):
    """Lower the limits of this process and its child processes; lower limits are kept."""
    for name, value in limits.items():
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))


def close_inherited(keep):
    """Close all files except the standard ones and keep."""
    for fd in os.listdir("/proc/self/fd"):
        if int(fd) > 2 and int(fd) != keep:
            try:
                os.close(int(fd))
            except OSError:  # the directory that was listed
                pass


def main():
    task = json.load(sys.stdin.buffer)
    result = 3 if task["returns"] else None
    close_inherited(result)
    limit(task["limits"])
    if result:
        os.set_inheritable(result, False)
    os.chdir(task["package"])
    sys.path.insert(0, task["library"])
    import gybe_run

    gybe_run.run(task, result)


main()
