"""Runs openstack commands, each in a process of its own that is forked after the client has been imported.

Importing the client takes most of the time of a command. A request is a line of JSON with an id, args, env, dir, and the
files stdout and stderr; the answer is a line with the id and the exit code.
"""
import importlib
import json
import os
import signal
import sys

sys.argv = ["openstack"]  # the client reads the name of the program when it is imported

from openstackclient import shell  # noqa: E402


def run(request):
    """Runs a command as /usr/bin/openstack does, and returns the exit code."""
    os.chdir(request["dir"])
    os.environ.clear()
    os.environ.update(request["env"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    sys.argv = ["openstack"] + request["args"]
    try:
        code = shell.main(sys.argv[1:])
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


def fork(work):
    """Calls work in another process, whose exit code is the result."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = work()
    finally:
        os._exit(code)


def serve(request):
    """Runs a command, and writes the answer. It is called in a process of its own, so that commands run at the same time."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, status = os.waitpid(fork(lambda: run(request)), 0)
    answer = {"id": request["id"], "code": os.waitstatus_to_exitcode(status)}
    os.write(1, (json.dumps(answer) + "\n").encode())
    return 0


def prepare():
    """Imports what a command imports. The command runs in another process: it leaves state behind."""
    ours, theirs = os.pipe()

    def command():
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        # No server listens on the port.
        shell.main(["--os-auth-type", "none", "--os-endpoint", "http://127.0.0.1:1", "vnflcm", "versions"])
        with os.fdopen(theirs, "w") as names:
            names.write("\n".join(sys.modules))
        return 0

    pid = fork(command)
    os.close(theirs)
    with os.fdopen(ours) as names:
        for name in names.read().split():
            try:
                importlib.import_module(name)
            except Exception:  # a command imports it if it is needed
                pass
    os.waitpid(pid, 0)


if __name__ == "__main__":
    prepare()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        request = json.loads(line)
        fork(lambda: serve(request))
