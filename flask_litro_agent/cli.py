"""``flask litro``: look at an app's agents, and talk to one, without a browser."""

from __future__ import annotations

import click
from flask.cli import AppGroup

__all__ = ["litro_commands"]


def litro_commands() -> click.Group:
    """Return the command group that ``init_app`` adds to the app's ``flask`` command."""
    return AppGroup("litro", help="This site's agents.")
