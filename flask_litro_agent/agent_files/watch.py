"""Watches an agents folder while developing, so that a new tool's file takes effect like an edited one.

Flask's reloader compares the times of files that it has seen before: a new file is no change to it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Final

from flask import Flask
from werkzeug.serving import is_running_from_reloader

__all__ = ["watch_folder"]

_RESTART: Final = 3  # the exit status that the reloader answers with a new process


def watch_folder(app: Flask, folder: Path, *, seconds: float = 1.0) -> None:
    """Under the debug reloader, restart when a Python file of the folder comes, goes or changes.

    Anywhere else it does nothing. Call it before loading, so that a broken folder can be mended without a restart
    by hand. ``seconds`` is the time between two looks.
    """
    if app.debug and is_running_from_reloader():
        seen = _versions(folder)
        watch = threading.Thread(target=_watch, args=(app, folder, seen, seconds), daemon=True)
        watch.start()


def _watch(app: Flask, folder: Path, seen: dict[str, int], seconds: float) -> None:
    while _versions(folder) == seen:
        time.sleep(seconds)
    app.logger.info("Detected a change in %s, restarting", folder)
    sys.stdout.flush()
    os._exit(_RESTART)  # sys.exit() would end only this thread


def _versions(folder: Path) -> dict[str, int]:
    versions = {}
    for root, _, names in os.walk(folder):
        for path in (os.path.join(root, name) for name in names if name.endswith(".py")):
            try:
                versions[path] = os.stat(path).st_mtime_ns
            except OSError:  # gone since it was listed
                continue
    return versions
