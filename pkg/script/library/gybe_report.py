"""A callback plugin of Ansible that writes the PLAY RECAP and the failed tasks to the file GYBE_REPORT as JSON."""

import json
import os
import re

try:
    from ansible.plugins.callback import CallbackBase
except ImportError:  # scripts of packages cannot use this module
    CallbackBase = object

MAX_FAILURES = 100
MAX_MESSAGE = 4000  # twice as much as is shown, so that no secret is cut before it is hidden

DOCUMENTATION = """
    name: gybe_report
    type: aggregate
    short_description: writes a report
    description: writes the PLAY RECAP and the failed tasks to a file
"""


def said(values, name):
    """The text of a result, without the last words of ssh."""
    text = str(values.get(name) or "").strip()
    return re.sub(r"(\A|\n)Shared connection to \S+ closed\.\Z", "", text).strip()


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "gybe_report"
    CALLBACK_NEEDS_ENABLED = False
    CALLBACK_NEEDS_WHITELIST = False

    def __init__(self):
        super().__init__()
        self.failures = []

    def _add(self, result, unreachable):
        values = result._result
        if values.get("_ansible_no_log") or "censored" in values:
            message = "the output has been hidden (no_log)"
        else:
            parts = [said(values, name) for name in ("msg", "module_stderr", "stderr")]
            if not any(parts[1:]):  # commands on a terminal have one output for both
                parts.append("\n".join(said(values, "stdout").splitlines()[-1:]))
            message = ": ".join(p for p in parts if p)
        if len(self.failures) < MAX_FAILURES:
            self.failures.append({
                "host": result._host.get_name(), "task": result._task.get_name().strip(), "unreachable": unreachable,
                "message": message[:MAX_MESSAGE],
            })

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not ignore_errors:
            self._add(result, False)

    def v2_runner_on_unreachable(self, result):
        self._add(result, True)

    def v2_playbook_on_stats(self, stats):
        recap = {host: stats.summarize(host) for host in stats.processed}
        bad = {host for host, sums in recap.items() if sums["failures"] or sums["unreachable"]}
        text = json.dumps({"recap": recap, "failures": [f for f in self.failures if f["host"] in bad]})
        with open(os.environ["GYBE_REPORT"] + ".part", "w") as f:
            f.write(text)
        os.replace(os.environ["GYBE_REPORT"] + ".part", os.environ["GYBE_REPORT"])
