"""The place of an app's agents folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flask import Flask

from flask_litro_agent.errors import ConfigurationError

__all__ = ["find_folder"]


def find_folder(app: Flask, setting: str | None) -> Path:
    """Return the folder of the app's agents; ConfigurationError says where none was found.

    ``setting`` (``LITRO_AGENTS``) is a path; a relative one starts at ``app.root_path``, as Flask's own folders do.
    Without it ``agents`` is looked for in ``app.root_path``, then beside each package that the app is in; the first
    that holds an agent wins, else the first that exists.
    """
    if setting is not None:
        return _named_folder(Path(app.root_path, setting))
    places = [place / "agents" for place in _places(Path(app.root_path))]
    existing = [place for place in places if place.is_dir()]
    if not existing:
        looked = " and ".join(str(place) for place in places)
        raise ConfigurationError(f"no agents folder: looked for {looked}; LITRO_AGENTS names another place")
    return next((place for place in existing if _has_agent(place)), existing[0])


def _named_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise ConfigurationError(f"LITRO_AGENTS: there is no folder {folder}")
    return folder


def _places(root: Path) -> Iterator[Path]:
    yield root
    while (root / "__init__.py").is_file():
        root = root.parent
        yield root


def _has_agent(folder: Path) -> bool:
    return any(file.is_file() for file in folder.glob("[!_.]*/agent.py"))
