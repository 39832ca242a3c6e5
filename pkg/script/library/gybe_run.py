"""Runs the scripts of a package that return a value, and writes the value as JSON for Gybe.

Standard library only, Python 3.8 or newer.
"""

import importlib.util
import json
import logging
import os
import sys
import traceback

import gybe_names


class Refused(Exception):
    """A fault of the script that its own traceback would not explain."""


def load(package, script):
    """Import a file of the package as a module. The package and the folder of the file are on sys.path."""
    path = os.path.join(package, script)
    sys.path[1:1] = [os.path.dirname(path), package]
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


def user_data(task):
    """Call the method of a user-data class and return its result."""
    import gybe_userdata_v1
    import gybe_vnfd

    given = task["input"]
    gybe_vnfd.provide(given["vnfd_id"], given["yaml"])
    found = find_class(load(task["package"], task["script"]), task["script"], task["class"])
    if issubclass(found, gybe_userdata_v1.AbstractUserData):
        result = gybe_userdata_v1.call(found, task["method"], given)
    else:
        method = getattr(found, task["method"], None)
        if not callable(method):
            raise Refused("the class %s has no method %s, which this operation calls" % (task["class"], task["method"]))
        result = method(
            given["request"], given["vnf_instance"], given["grant_request"], given["grant_response"], task["package"],
        )
    if not isinstance(result, dict):
        raise Refused(
            "%s.%s has returned %s instead of a dict" % (task["class"], task["method"], type(result).__name__)
        )
    return result


KINDS = {"userdata": user_data}


def encode(value):
    def unknown(inner):
        raise Refused("the result has a value of the type %s, which JSON does not have" % type(inner).__name__)

    try:
        return json.dumps(value, default=unknown, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as e:
        raise Refused("the result is not JSON: %s" % e)


def explain(error, package):
    """Print an error like the interpreter, with the frames of the package only."""
    frames = error.__traceback__
    while frames is not None and not frames.tb_frame.f_code.co_filename.startswith(package + os.sep):
        frames = frames.tb_next
    if isinstance(error, (Refused, gybe_names.NotProvided)):
        print(error, file=sys.stderr)
    else:
        traceback.print_exception(type(error), error, frames)


def run(task, result):
    """Run the script of a task. result is the file descriptor for the value that it returns."""
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format="%(levelname)s %(message)s")
    gybe_names.install()
    try:
        text = encode(KINDS[task["kind"]](task))
    except Exception as e:
        explain(e, task["package"])
        sys.exit(1)
    with open(result, "wb") as out:
        out.write(text)
