"""A small outdoor shop with two agents: the demo of flask-litro-agent, and an example of a site that uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Flask

__all__ = ["create_app"]


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Return the shop as a WSGI app; ``config`` overrides its settings.

    ``SHOP_DATA``, in the config or the environment, names the folder that it keeps everything in (``./instance``).
    """
    # not at the top: python -m example_app patches the standard library for gevent before the rest is imported
    from example_app.shop import build_app

    return build_app(config or {})
