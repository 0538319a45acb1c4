"""Every LITRO_* setting of the package: its default, what it means, and its check.

Declared once here and read once, at ``init_app``, into one frozen value. The settings of a plugin
(``LITRO_<NAME>_*``) belong to that plugin and are read by ``plugins.py``.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask_litro_agent.errors import ConfigurationError

__all__ = ["Limits", "Settings", "read_settings"]

Check = Callable[[object], str | None]


def _number(low: float, high: float, *, unit: str) -> Check:
    def check(value: object) -> str | None:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
            return None
        return f"must be a number of {unit} from {low:g} to {high:g}"

    return check


def _whole(low: int, high: int) -> Check:
    def check(value: object) -> str | None:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return None
        return f"must be a whole number from {low} to {high}"

    return check


def _optional(inner: Check) -> Check:
    return lambda value: None if value is None else inner(value)


def _text(value: object) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a non-empty text"


def _texts(value: object) -> str | None:
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) and item.strip() for item in value):
        return None
    return "must be a list of texts"


def _choice(*choices: str) -> Check:
    return lambda value: None if value in choices else "must be one of " + ", ".join(choices)


def _prefix(value: object) -> str | None:
    if isinstance(value, str) and re.fullmatch(r"(/[A-Za-z0-9_.-]+)+", value):
        return None
    return "must be a path such as '/__litro', without a slash at its end"


def _setting(default: Any, check: Check, meaning: str) -> Any:
    return dataclasses.field(default=default, metadata={"check": check, "meaning": meaning})


_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The app's settings; the field ``stream_seconds`` is the key ``LITRO_STREAM_SECONDS``."""

    url_prefix: str = _setting("/__litro", _prefix, "path under which the routes stand")
    agents: str | None = _setting(
        None, _optional(_text), "folder with the agents; default: `agents` inside or beside the app's package"
    )
    session_store: str = _setting("file", _text, "name of the session store")
    renderer: str | None = _setting(None, _optional(_text), "name of the renderer for components")
    policies: tuple[str, ...] = _setting(
        ("permissions",), _texts, "names of the policies that are asked at every call"
    )
    plugins: tuple[str, ...] | None = _setting(
        None, _optional(_texts), "entry points that may load; default: every installed one"
    )
    hosts: tuple[str, ...] | None = _setting(
        None,
        _optional(_texts),
        "hosts (`shop.example`, `127.0.0.1:8000`) that a request may be for; default: any",
    )
    trusted_proxies: int = _setting(
        0,
        _whole(0, 16),
        "how many proxies append to X-Forwarded-Host; the n-th value from the right is believed",
    )
    fsync: str = _setting(
        "turn",
        _choice("turn", "always", "never"),
        "when the file store waits for the disk: at what must last, always, never",
    )
    stream_seconds: float = _setting(
        30.0, _number(0.1, 3600, unit="seconds"), "longest life of one streamed response"
    )
    heartbeat_seconds: float = _setting(
        15.0, _number(0.05, 600, unit="seconds"), "silence after which a blank line is sent"
    )
    lease_seconds: float = _setting(
        15.0, _number(1, 600, unit="seconds"), "life of a writer's lease without a renewal"
    )
    grace_seconds: float = _setting(
        10.0, _number(0, 600, unit="seconds"), "how long running turns may finish when the process ends"
    )
    max_body: int = _setting(256 * _KIB, _whole(_KIB, 64 * _KIB * _KIB), "largest request body, in bytes")
    max_turns: int = _setting(200, _whole(1, 100_000), "most turns running in one process")
    max_actor_turns: int = _setting(5, _whole(1, 100_000), "most turns of one actor running in one process")
    max_tails: int | None = _setting(
        None,
        _optional(_whole(1, 100_000)),
        "most streamed responses open in one process; default: 500 where a stream costs no thread of a pool, else 4",
    )
    max_actor_tails: int = _setting(
        20, _whole(1, 100_000), "most streamed responses of one actor open in one process"
    )
    context_tokens: int = _setting(
        100_000,
        _whole(500, 100_000_000),
        "most tokens of history sent to a model (estimated at 4 bytes a token)",
    )
    max_rounds: int = _setting(12, _whole(1, 1000), "most questions to the model in one turn")
    max_calls: int = _setting(50, _whole(1, 10_000), "most tool calls in one turn")
    max_same_call: int = _setting(3, _whole(1, 1000), "how often one turn may make the same call")
    turn_seconds: float = _setting(300.0, _number(0.1, 86_400, unit="seconds"), "longest life of a turn")
    tool_seconds: float = _setting(60.0, _number(0.05, 86_400, unit="seconds"), "longest run of a tool")
    idle_seconds: float = _setting(
        60.0, _number(0.1, 3600, unit="seconds"), "longest silence of the model's server"
    )
    max_output: int = _setting(
        256 * _KIB, _whole(_KIB, 64 * _KIB * _KIB), "largest output of a tool, in bytes of JSON"
    )

    @property
    def limits(self) -> Limits:
        return Limits(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Limits)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one turn may use; an agent may lower or raise each by ``Agent(limits={"max_rounds": 4})``."""

    context_tokens: int
    max_rounds: int
    max_calls: int
    max_same_call: int
    turn_seconds: float
    tool_seconds: float
    idle_seconds: float
    max_output: int

    def replace(self, changes: Mapping[str, Any]) -> Limits:
        """Return limits with these changes; ConfigurationError names every unknown or impossible one."""
        known = {field.name for field in dataclasses.fields(self)}
        faults = [
            f"limits: no limit named {name!r}; there is: {', '.join(sorted(known))}"
            for name in changes
            if name not in known
        ]
        faults += [
            f"limits: {name} {fault}, not {changes[name]!r}"
            for name in changes
            if name in known and (fault := _FIELDS[name].metadata["check"](changes[name]))
        ]
        if faults:
            raise ConfigurationError(faults)
        return dataclasses.replace(self, **changes)


_FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def read_settings(config: Mapping[str, Any], *, plugin_names: frozenset[str] = frozenset()) -> Settings:
    """Return the settings of an app's config; raise ConfigurationError with every fault at once.

    ``plugin_names`` are the names whose ``LITRO_<NAME>_*`` keys belong to a plugin and are left alone.
    """
    given = {key[len("LITRO_") :].lower(): value for key, value in config.items() if key.startswith("LITRO_")}
    foreign = tuple(f"{name.lower()}_" for name in plugin_names)
    faults = [
        _unknown(name) for name in given if name not in _FIELDS and not (foreign and name.startswith(foreign))
    ]
    values = {name: _plain(value) for name, value in given.items() if name in _FIELDS}
    faults += [
        f"LITRO_{name.upper()} {fault}, not {value!r}"
        for name, value in values.items()
        if (fault := _FIELDS[name].metadata["check"](value))
    ]
    if faults:
        raise ConfigurationError(sorted(faults))
    return Settings(**values)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _FIELDS, n=1)
    hint = f"; did you mean LITRO_{near[0].upper()}?" if near else ""
    return f"LITRO_{name.upper()} is not a setting{hint}"
