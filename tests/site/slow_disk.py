"""A file store on a disk whose flushes wait until somebody lets them go on, as the session store ``slow``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.file import FileStore


class SlowDisk(Disk):
    """Each flush holds up its native thread until the file is there, also where ``time.sleep`` is gevent's.

    While one waits, there is the file's neighbour with the suffix ``.awaited``.
    """

    def __init__(self, latch):
        self._latch = Path(latch)
        gevent = sys.modules.get("gevent.monkey")
        self._sleep = gevent.get_original("time", "sleep") if gevent else time.sleep

    def flush(self, fd):
        self._latch.with_suffix(".awaited").touch()
        while not self._latch.exists():
            self._sleep(0.01)

    def sync_folder(self, path):
        """Names are quick: the site starts."""


class BlockingDisk(SlowDisk):
    """Flushes where it is called, and with it holds up the event hub."""

    def sync(self, fd):
        self.flush(fd)


def stores(app):
    """Return the factories for ``register_session_stores``; LITRO_SLOW_LATCH and LITRO_SLOW_ON_HUB are theirs."""

    def slow(latch, on_hub=False):
        disk = BlockingDisk(latch) if on_hub else SlowDisk(latch)
        return FileStore(os.path.join(app.instance_path, "litro/sessions"), disk=disk)

    return {"slow": slow}
