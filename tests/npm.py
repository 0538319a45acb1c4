"""Packages of the npm registry that judge or try the browser's part: fetched when a test first needs one.

They are kept outside the repository, and a test without the network is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

_FOLDER = Path(tempfile.gettempdir()) / "litro-npm"


def package(name: str, version: str) -> Path:
    """Return the folder of an unpacked package; the test is skipped where it cannot be had."""
    kept = _FOLDER / f"{name.replace('/', '-')}-{version}"
    if not kept.exists():
        _fetch(name, version, kept)
    return kept


def _fetch(name: str, version: str, kept: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"{name} is missing: apt-get install npm")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        packed = subprocess.run(
            [npm, "pack", "--silent", f"{name}@{version}"], cwd=folder, capture_output=True, text=True
        )
        if packed.returncode != 0:
            pytest.skip(f"{name} is missing: npm pack {name}@{version} needs the network")
        with tarfile.open(Path(folder) / packed.stdout.strip()) as archive:
            archive.extractall(folder, filter="data")
        _keep(Path(folder, "package"), kept)


def _keep(unpacked: Path, kept: Path) -> None:
    try:
        unpacked.rename(kept)
    except OSError:  # another process was faster
        if not kept.exists():
            raise
