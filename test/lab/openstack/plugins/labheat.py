"""heat-engine that sends no notifications.

Debian's oslo.messaging takes the secrets out of the context that goes with a notification, and Heat hands it the one
that it works with: every signal to a ScalingPolicy then fails with "Authorization failed", after the API said 200.
"""
from heat.cmd import engine  # patches the standard library before anything else is loaded
from heat.engine import notification


def main():
    notification.notify = lambda *args, **kwargs: None
    return engine.main()
