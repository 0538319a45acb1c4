"""Fixtures for a site's own tests; pytest finds them by the package's entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from flask_litro_agent.testing.client import AgentClient

__all__ = ["agent_client"]


@pytest.fixture
def agent_client(app: Flask) -> Callable[..., AgentClient]:
    """Return ``make(agent, *, actor=..., script=...) -> AgentClient`` for the site's ``app`` fixture."""

    def make(agent: str, **options: Any) -> AgentClient:
        return AgentClient(app, agent, **options)

    return make
