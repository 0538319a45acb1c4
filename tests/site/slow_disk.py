"""A file store on a disk whose flush takes its time, as the session store ``slow``."""

from __future__ import annotations

import os
import sys
import time

from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.file import FileStore


class SlowDisk(Disk):
    """Each flush holds up its native thread for so many seconds, also where ``time.sleep`` is gevent's."""

    def __init__(self, seconds):
        self._seconds = seconds
        gevent = sys.modules.get("gevent.monkey")
        self._sleep = gevent.get_original("time", "sleep") if gevent else time.sleep

    def flush(self, fd):
        self._sleep(self._seconds)


class BlockingDisk(SlowDisk):
    """Flushes where it is called, and with it holds up the event hub."""

    def sync(self, fd):
        self.flush(fd)


def stores(app):
    """Return the factories for ``register_session_stores``; LITRO_SLOW_SECONDS and LITRO_SLOW_ON_HUB are theirs."""

    def slow(seconds=0.3, on_hub=False):
        disk = BlockingDisk(seconds) if on_hub else SlowDisk(seconds)
        return FileStore(os.path.join(app.instance_path, "litro/sessions"), disk=disk)

    return {"slow": slow}
