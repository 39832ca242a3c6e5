"""Runs the programs of packages: scripts in any language, with JSON on standard input and standard output.

docs/package-scripts.md describes the input and the result.
"""

import json
import os
import subprocess

VERSION = 1
MAX_RESULT = 8 << 20

# The members of a result, by the kind of the program.
RESULTS = {
    "user-data": ("version", "template", "parameters", "files", "existing"),
    "mgmt-driver": ("version", "vnf_instance", "user_script_err_handling_data"),
    "coordination": ("version",),
}


class Refused(Exception):
    """A fault of the program, in words."""


def command(path, name):
    """Return how a program is started. An interpreter is started by its path, because the file may lack the right."""
    with open(path, "rb") as f:
        line = f.readline(4096)
    if not line.startswith(b"#!"):
        return [path], name
    words = os.fsdecode(line[2:]).strip().split(None, 1)  # like the kernel: a path and at most one argument
    if not words:
        raise Refused(name + " has no interpreter in its first line")
    return words + [path], words[0]


def call(task):
    """Run the program of a task; return the object on its standard output, {} if it writes none, and its exit status."""
    name, kind = task["script"], task["program"]
    argv, interpreter = command(os.path.join(task["package"], name), name)
    given = dict(task["input"], version=VERSION, kind=kind, tmp_csar_dir=task["package"])
    asked, output = os.memfd_create("input"), os.memfd_create("output")
    with open(asked, "wb", closefd=False) as f:
        f.write(json.dumps(given).encode())
    os.lseek(asked, 0, os.SEEK_SET)
    try:
        status = subprocess.call(argv, stdin=asked, stdout=output)
    except OSError as e:
        raise Refused("%s cannot be started with %s: %s" % (name, interpreter, e.strerror))
    os.lseek(output, 0, os.SEEK_SET)
    with open(output, "rb") as written:
        raw = written.read(MAX_RESULT + 1)
    status = status if status >= 0 else 128 - status
    try:
        return result(name, kind, raw), status
    except Refused:
        if status == 0:  # otherwise the status is the reason
            raise
        return {}, status


def result(name, kind, raw):
    """Check the output of a program and return it."""
    if len(raw) > MAX_RESULT:
        raise Refused("%s has written more than %d MiB to standard output" % (name, MAX_RESULT >> 20))
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as e:
        raise Refused("standard output of %s is not JSON: %s; write text for the log to standard error" % (name, e))
    if not isinstance(value, dict):
        raise Refused("standard output of %s is not a JSON object" % name)
    unknown = sorted(set(value) - set(RESULTS[kind]))
    if unknown:
        raise Refused("standard output of %s has the member %s, which a %s script does not return" % (
            name, unknown[0], kind,
        ))
    if value.pop("version", VERSION) != VERSION:
        raise Refused("%s returns another version than %d" % (name, VERSION))
    return _texts(value) if kind == "user-data" else value


def _texts(value):
    """Write templates that are objects as texts."""
    if isinstance(value.get("template"), dict):
        value["template"] = json.dumps(value["template"])
    if isinstance(value.get("files"), dict):
        value["files"] = {
            name: json.dumps(content) if isinstance(content, dict) else content
            for name, content in value["files"].items()
        }
    return value
