"""The browser's files of the package, served by the failing server where the blueprint has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import flask_litro_agent
from tests.fake_wire import FakeWire, Page

STATIC = Path(flask_litro_agent.__file__).parent / "static" / "litro_agent"
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def serve(wire: FakeWire, headers: Mapping[str, str] = {}) -> None:
    """Serve the client's files below the wire's prefix."""
    serve_folder(wire, STATIC, f"{wire.prefix}/static", headers)


def serve_folder(wire: FakeWire, folder: Path, prefix: str, headers: Mapping[str, str] = {}) -> None:
    """Serve what a browser may ask of a folder."""
    for path in folder.rglob("*"):
        if path.suffix in TYPES:
            address = f"{prefix}/{path.relative_to(folder).as_posix()}"
            wire.pages[address] = Page(TYPES[path.suffix], path.read_bytes(), headers)
