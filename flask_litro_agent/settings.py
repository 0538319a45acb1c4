"""Every LITRO_* setting of the package: its default, what it means, and its check.

Declared once here and read once, at ``init_app``, into one frozen value. The settings of a plugin
(``LITRO_<NAME>_*``) belong to that plugin; ``plugins.py`` hands them over. A key that is both is ours.
"""

from __future__ import annotations

import base64
import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_litro_agent.errors import ConfigurationError

__all__ = [
    "Draft",
    "Limits",
    "Settings",
    "did_you_mean",
    "draft_settings",
    "read_settings",
    "unknown_setting",
]

Check = Callable[[object], str | None]

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_ORIGIN = re.compile(rf"https?://{_HOST.pattern}")
_KIB = 1024


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


def _patterns(value: object) -> str | None:
    """Refuse what would match nothing: a list that protects must not fail in silence."""
    if isinstance(value, (list, tuple)) and all(
        isinstance(item, str) and _is_pattern(item) for item in value
    ):
        return None
    return "must be a list of permissions; only the end of one may be a '*', and none has spaces around it"


def _is_pattern(item: str) -> bool:
    return bool(item) and item == item.strip() and "*" not in item[:-1]


def _choice(*choices: str) -> Check:
    return lambda value: None if value in choices else "must be one of " + ", ".join(choices)


def _prefix(value: object) -> str | None:
    if isinstance(value, str) and re.fullmatch(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9_.-]+)+", value):
        return None
    return "must be a path such as '/__litro', without a slash at its end"


def _place(value: object) -> str | None:
    if isinstance(value, str) and re.fullmatch(r"/(?![/\\\\])[!-~]*", value):
        return None
    return "must be a path of this site such as '/sign-in'"


def _url(value: object) -> str | None:
    if isinstance(value, str) and re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+(/[!-~]*)?", value):
        return None
    return "must be an address such as 'https://shop.example'"


def _webhook_secret(value: object) -> str | None:
    encoded = value.removeprefix("whsec_") if isinstance(value, str) else ""
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        key = b""
    return None if 24 <= len(key) <= 64 else "must be `whsec_` and 24 to 64 bytes in base64"


def _hosts(value: object) -> str | None:
    if isinstance(value, (list, tuple)) and all(
        isinstance(host, str) and _HOST.fullmatch(host) for host in value
    ):
        return None
    return "must be a list of hosts such as 'shop.example' or '127.0.0.1:8000', without a scheme or a path"


def _origins(value: object) -> str | None:
    if isinstance(value, (list, tuple)) and all(
        isinstance(origin, str) and _ORIGIN.fullmatch(origin) for origin in value
    ):
        return None
    return "must be a list of origins such as 'https://host.example', without a path"


def _setting(default: Any, check: Check, meaning: str, *, is_secret: bool = False) -> Any:
    metadata = {"check": check, "meaning": meaning, "is_secret": is_secret}
    return dataclasses.field(default=default, repr=not is_secret, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The app's settings; the field ``stream_seconds`` is the key ``LITRO_STREAM_SECONDS``."""

    url_prefix: str = _setting("/__litro", _prefix, "path under which the routes stand")
    admin_prefix: str | None = _setting(
        "/litro", _optional(_prefix), "path of the operator's pages; None closes them"
    )
    sign_in: str | None = _setting(
        None,
        _optional(_place),
        "where an operator signs in, or proves once more who he is: a path of the site, which gets `?next=`",
    )
    external_url: str | None = _setting(
        None,
        _optional(_url),
        "the site's address (`https://shop.example`) in links that are sent to people",
    )
    agents: str | None = _setting(
        None, _optional(_text), "folder with the agents; default: `agents` inside or beside the app's package"
    )
    session_store: str = _setting("file", _text, "name of the session store")
    renderer: str | None = _setting(
        "jinja", _optional(_text), "name of the renderer for components; None: there are none"
    )
    policies: tuple[str, ...] = _setting(
        ("permissions",), _texts, "names of the policies that are asked at every call"
    )
    plugins: tuple[str, ...] | None = _setting(
        None, _optional(_texts), "entry points that may load; default: every installed one"
    )
    hosts: tuple[str, ...] | None = _setting(
        None,
        _optional(_hosts),
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
    database_uri: str | None = _setting(
        None,
        _optional(_text),
        "database of the ledger, such as `postgresql://user:password@host/name`; "
        "default: a SQLite file in the instance folder",
        is_secret=True,
    )
    ceiling: str = _setting(
        "propose",
        _choice("off", "read", "propose", "execute"),
        "what tools may do at most, until somebody changes it while the site runs",
    )
    protected_permissions: tuple[str, ...] | None = _setting(
        None,
        _optional(_patterns),
        "permissions (`payments:*`) for which a tool may only propose, beside those that are always protected",
    )
    four_eyes: tuple[str, ...] = _setting(
        (), _patterns, "permissions (`refunds:*`) whose proposals somebody else must approve"
    )
    max_open: int = _setting(5, _whole(1, 100), "most open proposals of one session")
    max_ttl: int = _setting(86_400, _whole(1, 31_536_000), "longest life of an open proposal, in seconds")
    mcp_origins: tuple[str, ...] = _setting(
        (),
        _origins,
        "origins (`https://host.example`) whose pages may call the MCP endpoint; programs send none and need no entry",
    )
    mcp_seconds: float = _setting(
        30.0, _number(0.05, 3600, unit="seconds"), "longest run of a tool that is called over MCP"
    )
    approval_freshness: int | None = _setting(
        None,
        _optional(_whole(1, 31_536_000)),
        "how old a sign-in may be, in seconds, to approve on a protected permission or to raise the ceiling; "
        "default: any age",
    )
    webhook_url: str | None = _setting(
        None,
        _optional(_url),
        "where a message is sent when a proposal waits; needs `LITRO_WEBHOOK_SECRET`; default: nowhere",
        is_secret=True,
    )
    webhook_secret: str | None = _setting(
        None,
        _optional(_webhook_secret),
        "key that signs those messages: `whsec_` and 24 to 64 bytes in base64",
        is_secret=True,
    )
    session_days: int | None = _setting(
        None,
        _optional(_whole(1, 36_500)),
        "age at which `flask litro prune` deletes a session, in days; default: never",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Settings as read before the plugins are known.

    ``faults`` are sentences about our own keys; a faulty one has its default in ``settings`` (and no entry point
    may load when ``LITRO_PLUGINS`` is faulty), so that the plugins can be looked at and every fault is reported
    together. ``strangers`` are the ``LITRO_*`` keys that are not ours: a plugin's, or a typo.
    """

    settings: Settings
    faults: tuple[str, ...] = ()
    strangers: Mapping[str, Any] = field(default_factory=dict, repr=False)


def draft_settings(config: Mapping[str, Any]) -> Draft:
    """Return what an app's config says, right and wrong; raise nothing."""
    given = {key: value for key, value in config.items() if isinstance(key, str) and key.startswith("LITRO_")}
    values = {_KEYS[key]: _plain(value) for key, value in given.items() if key in _KEYS}
    faults = {
        name: f"{_key(name)} {fault}{_found(name, value)}"
        for name, value in values.items()
        if (fault := _FIELDS[name].metadata["check"](value))
    }
    sound = {name: value for name, value in values.items() if name not in faults}
    if "plugins" in faults:
        sound["plugins"] = ()
    strangers = {key: value for key, value in given.items() if key not in _KEYS}
    return Draft(settings=Settings(**sound), faults=tuple(sorted(faults.values())), strangers=strangers)


def read_settings(config: Mapping[str, Any]) -> Settings:
    """Return the settings of a config without plugin settings; ConfigurationError has every fault at once."""
    draft = draft_settings(config)
    faults = [*draft.faults, *(unknown_setting(key) for key in draft.strangers)]
    if faults:
        raise ConfigurationError(sorted(faults))
    return draft.settings


def unknown_setting(key: str) -> str:
    """Return the sentence about a ``LITRO_*`` key that is nobody's; it has the key and never the value."""
    return f"{key} is not a setting, neither ours nor one of a plugin that loaded{did_you_mean(key, _KEYS)}"


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return the end of a sentence that offers the nearest of the words, or nothing."""
    spellings = {known.lower().removeprefix("litro_"): known for known in words}
    near = difflib.get_close_matches(word.lower().removeprefix("litro_"), spellings, n=1, cutoff=0.7)
    return f"; did you mean {spellings[near[0]]}?" if near else ""


def _key(name: str) -> str:
    return f"LITRO_{name.upper()}"


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _found(name: str, value: object) -> str:
    return "" if _FIELDS[name].metadata["is_secret"] else f", not {_shown(value)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


_KEYS = {_key(name): name for name in _FIELDS}
