"""Everything a plugin can do, on one page.

A plugin is a module (or object) with any of these four functions, each marked ``@hookimpl``. It is found by the
entry-point group ``flask_litro_agent``, or handed over as ``LitroAgent(plugins=[module])``. Each hook is called
once, at start-up, and returns ``{name: factory}``; a factory is called with the app's ``LITRO_<NAME>_*`` settings
as keywords (``LITRO_S3_BUCKET`` reaches the factory of ``s3`` as ``bucket=``). A hook may ask for ``app`` and
``settings`` by naming them as arguments. Wrappers are refused, a name given twice is an error, and nothing
changes afterwards.

There is no hook around a call, a proposal or an approval: a plugin can add a refusal (a policy), never take one
away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pluggy
from flask import Flask

from flask_litro_agent.contracts import Policy, Provider, Renderer, SessionStore
from flask_litro_agent.settings import Settings

__all__ = [
    "PROJECT",
    "hookimpl",
    "register_policies",
    "register_providers",
    "register_renderers",
    "register_session_stores",
]

PROJECT = "flask_litro_agent"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_providers(app: Flask, settings: Settings) -> Mapping[str, Callable[..., Provider]]:  # type: ignore[empty-body]  # a specification
    """Name providers; ``Agent(model="name:model")`` calls the factory as ``factory(model, **settings)``."""


@hookspec
def register_session_stores(app: Flask, settings: Settings) -> Mapping[str, Callable[..., SessionStore]]:  # type: ignore[empty-body]  # a specification
    """Name session stores; ``LITRO_SESSION_STORE`` chooses one, and only that factory is called."""


@hookspec
def register_renderers(app: Flask, settings: Settings) -> Mapping[str, Callable[..., Renderer]]:  # type: ignore[empty-body]  # a specification
    """Name renderers; ``LITRO_RENDERER`` chooses one, and only that factory is called."""


@hookspec
def register_policies(app: Flask, settings: Settings) -> Mapping[str, Callable[..., Policy]]:  # type: ignore[empty-body]  # a specification
    """Name policies; those that ``LITRO_POLICIES`` lists are asked at every call, and a deny always wins."""
