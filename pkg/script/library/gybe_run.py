"""Runs the scripts of a package, and writes the values that they return as JSON for Gybe.

Standard library only, Python 3.8 or newer.
"""

import importlib.util
import json
import logging
import os
import pickle
import runpy
import sys
import traceback

import gybe_names
import gybe_program

from gybe_program import Refused

MAX_PICKLE = 8 << 20


def feed(data):
    """Replace standard input by data, for Python and for the file descriptor. The data is never on a disk."""
    fd = os.memfd_create("input")
    with open(fd, "wb", closefd=False) as f:
        f.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)
    sys.stdin = open(0, closefd=False)


def run_main(package, script):
    """Run a script as its interpreter would: python3 <package>/<script>."""
    path = os.path.join(package, script)
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception as e:  # print it like the interpreter, without our own frames
        explain(e, path)
        sys.exit(1)


def load(package, script):
    """Import a file of the package as a module. The package and the folder of the file are on sys.path."""
    path = os.path.join(package, script)
    sys.path[0:0] = [os.path.dirname(path), package]
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise Refused(script + " is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find_class(module, script, name):
    found = getattr(module, name, None)
    if isinstance(found, type):
        return found
    own = sorted(n for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__)
    raise Refused("%s has no class %s; its classes are: %s" % (script, name, ", ".join(own) or "none"))


def user_data(task, result):
    """Call the method of a user-data class and return its result."""
    import gybe_userdata_v1
    import gybe_vnfd

    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format="%(levelname)s %(message)s")
    given = task["input"]
    gybe_vnfd.provide(given["vnfd_id"], given["yaml"])
    found = find_class(load(task["package"], task["script"]), task["script"], task["class"])
    if issubclass(found, gybe_userdata_v1.AbstractUserData):
        value = gybe_userdata_v1.call(found, task["method"], given)
    else:
        method = getattr(found, task["method"], None)
        if not callable(method):
            raise Refused("the class %s has no method %s, which this operation calls" % (task["class"], task["method"]))
        value = method(
            given["request"], given["vnf_instance"], given["grant_request"], given["grant_response"], task["package"],
        )
        if isinstance(value, dict):
            value = {name: inner for name, inner in value.items() if name != "class_v1"}
    if not isinstance(value, dict):
        raise Refused("%s.%s has returned %s instead of a dict" % (task["class"], task["method"], type(value).__name__))
    return value, 0


def mgmt(task, result):
    """Run a mgmt driver script and return the value of the pickle that it has written to standard output, if any.

    The script has a process of its own, because scripts end with os._exit. One that fails may return a value, too.
    """
    given = dict(task["input"], tmp_csar_dir=task["package"])
    output = os.memfd_create("output")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(result)
        os.dup2(output, 1)
        os.close(output)
        feed(pickle.dumps(given))
        try:
            run_main(task["package"], task["script"])
            status = 0
        except SystemExit as e:
            status = e.code if isinstance(e.code, int) else 0
            if isinstance(e.code, str):
                print(e.code, file=sys.stderr)
                status = 1
        sys.stdout.flush()
        os._exit(status)
    _, ended = os.waitpid(child, 0)
    status = os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else 128 + os.WTERMSIG(ended)
    os.lseek(output, 0, os.SEEK_SET)
    with open(output, "rb") as written:
        raw = written.read(MAX_PICKLE + 1)
    if len(raw) > MAX_PICKLE:
        raise Refused("the script has written more than %d MiB to standard output" % (MAX_PICKLE >> 20))
    if raw[:1] == b"\x80":  # any pickle that Python 3 writes by default
        value = pickle.loads(raw)
        if not isinstance(value, dict):
            raise Refused("the pickle on standard output is a %s instead of a dict" % type(value).__name__)
        return value, status
    sys.stdout.buffer.write(raw)
    sys.stdout.flush()
    return {}, status


def playbook(task, result):
    """Run a playbook of the package."""
    import gybe_playbook

    return gybe_playbook.call(task)


KINDS = {"userdata": user_data, "mgmt": mgmt, "playbook": playbook}


def encode(value):
    def unknown(inner):
        raise Refused("the result has a value of the type %s, which JSON does not have" % type(inner).__name__)

    try:
        return json.dumps(value, default=unknown, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as e:
        raise Refused("the result is not JSON: %s" % e)


def explain(error, path):
    """Print an error like the interpreter, with the frames below a path only."""
    frames = error.__traceback__
    while frames is not None and not frames.tb_frame.f_code.co_filename.startswith(path):
        frames = frames.tb_next
    if isinstance(error, (Refused, gybe_names.NotProvided)):
        print(error, file=sys.stderr)
    else:
        traceback.print_exception(type(error), error, frames)


def run(task, result):
    """Run the script of a task. result is the file descriptor for the value that it returns, None if it returns none."""
    # Modules of the package are found before those of the library, which have names that others do not have.
    sys.path.remove(task["library"])
    sys.path.append(task["library"])
    if task["program"]:
        try:
            value, status = gybe_program.call(task)
            text = encode(value)
        except Refused as e:
            sys.exit(str(e))
        with open(result, "wb") as out:
            out.write(text)
        sys.exit(status)
    kind = KINDS.get(task["kind"])
    if kind is user_data or importlib.util.find_spec("tacker") is None:
        gybe_names.install()
    if kind is None:
        feed(pickle.dumps(task["input"]))
        package, script = task["package"], task["script"]
        task.clear()
        run_main(package, script)
        return
    try:
        value, status = kind(task, result)
        text = encode(value)
    except Exception as e:
        explain(e, task["package"] + os.sep)
        sys.exit(1)
    with open(result, "wb") as out:
        out.write(text)
    sys.exit(status)
