"""The session stores that come with the package, registered like anybody's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from flask import Flask

from flask_litro_agent.contracts import SessionStore
from flask_litro_agent.hookspecs import hookimpl
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.settings import Settings

__all__ = ["register_session_stores"]


@hookimpl
def register_session_stores(app: Flask, settings: Settings) -> Mapping[str, Callable[..., SessionStore]]:
    """Name ``file``: LITRO_FILE_PATH is its folder, relative to the instance folder as is the default."""

    def file(path: str | os.PathLike[str] = "litro/sessions") -> SessionStore:
        return FileStore(os.path.join(app.instance_path, path), fsync=settings.fsync)

    return {"file": file}
