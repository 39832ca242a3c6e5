"""Runs one script of a VNF package as its interpreter would: python3 <package>/<script>, with a pickle of the input on standard input.

A task with a kind is run by gybe_run of the library, and returns a value on file descriptor 3.

Standard library only, Python 3.8 or newer. The task is JSON on standard input: {"package", "script", "limits", "input", "library", "kind", …}.
"""

import importlib.util
import json
import os
import pickle
import resource
import runpy
import sys
import traceback


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


def feed(data):
    """Replace standard input by data, for Python and for the file descriptor. The data is never on a disk."""
    fd = os.memfd_create("input")
    with open(fd, "wb", closefd=False) as f:
        f.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)
    sys.stdin = open(0, closefd=False)


def main():
    task = json.load(sys.stdin.buffer)
    result = 3 if task["kind"] else None
    close_inherited(result)
    limit(task["limits"])
    if result:
        os.set_inheritable(result, False)
        sys.path.insert(0, task["library"])
        os.chdir(task["package"])
        import gybe_run

        gybe_run.run(task, result)
        return
    sys.path.append(task["library"])
    if importlib.util.find_spec("tacker") is None:
        import gybe_names

        gybe_names.install()
    feed(pickle.dumps(task["input"]))
    path = os.path.join(task["package"], task["script"])
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    os.chdir(task["package"])
    task.clear()
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception as e:  # print it like the interpreter, without our own frames
        frames = e.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != path:
            frames = frames.tb_next
        traceback.print_exception(type(e), e, frames)
        sys.exit(1)


main()
