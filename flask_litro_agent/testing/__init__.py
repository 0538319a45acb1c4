"""The test kit for sites and for the authors of plugins.

A contract is loaded when it is first asked for: a site's tests need neither all of them nor Hypothesis, which
``PolicyContract`` uses.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from flask_litro_agent.providers.scripted import call, delay, say
from flask_litro_agent.testing.client import AgentClient, CalledTool, TurnRecord

if TYPE_CHECKING:
    from flask_litro_agent.testing.policies import PolicyContract
    from flask_litro_agent.testing.providers import ProviderContract
    from flask_litro_agent.testing.renderers import RendererContract
    from flask_litro_agent.testing.stores import StoreContract

__all__ = [
    "AgentClient",
    "CalledTool",
    "PolicyContract",
    "ProviderContract",
    "RendererContract",
    "StoreContract",
    "TurnRecord",
    "call",
    "delay",
    "say",
]

_CONTRACTS: Final = {
    "PolicyContract": "policies",
    "ProviderContract": "providers",
    "RendererContract": "renderers",
    "StoreContract": "stores",
}


def __getattr__(name: str) -> object:
    if name not in _CONTRACTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_CONTRACTS[name]}"), name)
