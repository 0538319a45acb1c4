"""The ``LITRO_<NAME>_*`` settings of what plugins registered: whose a key is, and whether its owner takes it.

``LITRO_S3_EU_BUCKET`` belongs to ``s3_eu`` where that is registered, else to ``s3``. Kinds that share a name share
its settings: each factory gets those that its signature has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from flask_litro_agent.registry import Factory, setting_key
from flask_litro_agent.settings import did_you_mean, unknown_setting

__all__ = ["bind"]


def bind(factories: Sequence[Factory], strangers: Mapping[str, Any], faults: list[str]) -> list[Factory]:
    """Return the factories with the settings that are theirs; add a fault for each key that nobody takes."""
    names = {factory.name for factory in factories}
    owners = {key: owner for key in strangers if (owner := _owner(key, names))}
    faults += [unknown_setting(key) for key in strangers if key not in owners]
    faults += [fault for key, name in owners.items() if (fault := _not_taken(key, name, factories))]
    return [replace(factory, settings=_settings(factory, owners, strangers)) for factory in factories]


def _owner(key: str, names: Iterable[str]) -> str | None:
    """Return whose setting a key is: of the longest name that it starts with."""
    return max((name for name in names if _keyword(key, name)), key=len, default=None)


def _keyword(key: str, name: str) -> str:
    keyword = key.removeprefix(setting_key(name, "")).lower()
    return keyword if key == setting_key(name, keyword) else ""


def _not_taken(key: str, name: str, factories: Iterable[Factory]) -> str | None:
    owners = [factory for factory in factories if factory.name == name]
    if any(owner.takes(_keyword(key, name)) for owner in owners):
        return None
    there = sorted({setting_key(name, keyword) for owner in owners for keyword in owner.names()})
    givers, known = " and ".join(sorted(map(str, owners))), ", ".join(there) or "none"
    return f"{key} is not a setting of {givers}; there is: {known}{did_you_mean(key, there)}"


def _settings(factory: Factory, owners: Mapping[str, str], values: Mapping[str, Any]) -> Mapping[str, Any]:
    keywords = {key: _keyword(key, name) for key, name in owners.items() if name == factory.name}
    return MappingProxyType(
        {keyword: values[key] for key, keyword in keywords.items() if factory.takes(keyword)}
    )
