"""Runs a playbook of the package with ansible-playbook, and returns its PLAY RECAP and the tasks that failed.

Standard library only, Python 3.8 or newer. Data for logins is in files that only this user can read.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

END_TIME = 10  # seconds that ansible-playbook has to end its processes


def write(path, text):
    """Write a file that only this user can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f:
        f.write(text)
    return path


def replaced(value, old, new):
    """Replace a text in all texts of a value."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {name: replaced(inner, old, new) for name, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, old, new) for inner in value]
    return value


def known_hosts(entries):
    lines = []
    for e in entries:
        host = e["host"] if e["port"] == 22 else "[%s]:%d" % (e["host"], e["port"])
        lines.append("%s %s\n" % (host, e["key"]))
    return "".join(lines)


def inventory(given, known):
    """Return the inventory. The keys of known hosts are checked; others have none to be compared with."""
    pinned = {e["host"] for e in given.get("knownHosts", [])}
    hosts = {}
    for host, own in given["hosts"].items():
        options = "-o GlobalKnownHostsFile=/dev/null -o UserKnownHostsFile=%s -o StrictHostKeyChecking=%s"
        options %= (known, "yes") if host in pinned else ("/dev/null", "no")
        hosts[host] = dict(own, ansible_ssh_common_args=options)
    return {"all": {"hosts": hosts}}


def once(argv, env, cwd, timeout):
    """Run ansible-playbook once; return its exit status."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=env, cwd=cwd)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        print("the playbook has not ended within %d seconds (command_execution_wait_timeout)" % timeout, file=sys.stderr)
    process.terminate()
    try:
        process.wait(END_TIME)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return 124


def report(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):  # it has ended before its end, for example because of a wrong file
        return {"recap": {}, "failures": []}


def call(task):
    """Run the playbook of a task; return its report and its exit status."""
    given, home = task["input"], tempfile.mkdtemp(dir=os.environ["HOME"])
    at = lambda name: os.path.join(home, name)
    variables = replaced(given["vars"] or {}, given.get("packageVariable") or "\0", task["package"] + "/")
    if given.get("privateKey"):
        text = given["privateKey"]
        variables["ansible_ssh_private_key_file"] = write(at("key"), text if text.endswith("\n") else text + "\n")
    known = write(at("known_hosts"), known_hosts(given.get("knownHosts", [])))
    write(at("inventory.json"), json.dumps(inventory(given, known)))
    write(at("vars.json"), json.dumps(variables))
    os.mkdir(at("callbacks"))
    shutil.copy(os.path.join(task["library"], "gybe_report.py"), at("callbacks"))
    playbook = os.path.join(task["package"], task["script"])
    argv = [task["playbook"], "-i", at("inventory.json"), "--extra-vars", "@" + at("vars.json"), playbook]
    env = dict(
        os.environ,
        ANSIBLE_CALLBACK_PLUGINS=at("callbacks"),
        ANSIBLE_DISPLAY_FAILED_STDERR="true",
        ANSIBLE_HOME=at("ansible"),
        ANSIBLE_HOST_KEY_CHECKING="true",
        ANSIBLE_LOCAL_TEMP=at("tmp"),
        ANSIBLE_NOCOLOR="true",
        # Like the default, ~, but the user of the sandbox has another home than /etc/passwd says.
        ANSIBLE_REMOTE_TEMP="$HOME/.ansible/tmp",
        ANSIBLE_RETRY_FILES_ENABLED="false",
        ANSIBLE_SSH_CONTROL_PATH_DIR=at("cp"),
        GYBE_REPORT=at("report.json"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    for n in range(given["retries"] + 1):
        if n:
            print("retry %d of %d in %d seconds" % (n, given["retries"], given["interval"]), flush=True)
            time.sleep(given["interval"])
            if os.path.exists(at("report.json")):
                os.unlink(at("report.json"))
        status = once(argv, env, os.path.dirname(playbook), given["timeout"])
        if status == 0:
            break
    return report(at("report.json")), status if status >= 0 else 128 - status
