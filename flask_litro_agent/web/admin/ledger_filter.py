"""What the ledger's page is asked for, read from its URL: every filter stands there, so that a page can be shared."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from werkzeug.datastructures import MultiDict

from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.search import Wanted
from flask_litro_agent.errors import BadRequest

__all__ = ["Filter", "read_filter", "read_text"]

_DAY_MS: Final = 86_400_000
_LONGEST: Final = 255
_OUTCOMES: Final = ("ok", "failed")
_TEXTS: Final = ("q", "agent", "tool", "proposer", "decider", "outcome", "from", "to")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH: Final = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Filter:
    """``texts`` are the fields as they were given, ``states`` the states; what is empty is not there."""

    texts: dict[str, str]
    states: Sequence[State]
    wanted: Wanted

    @property
    def query(self) -> dict[str, Any]:
        """The filter as the URL has it."""
        return {**self.texts, "state": [state.value for state in self.states]}

    @property
    def is_empty(self) -> bool:
        """Whether everything is asked for."""
        return not (self.texts or self.states)


def read_filter(args: MultiDict[str, str]) -> Filter:
    """Return the filter of a query string; BadRequest in words for what cannot be."""
    texts = {name: text for name in _TEXTS if (text := read_text(args, name))}
    states = tuple(dict.fromkeys(_state(word) for word in args.getlist("state") if word))
    if texts.get("outcome", "ok") not in _OUTCOMES:
        raise BadRequest(f"'outcome' must be one of {', '.join(_OUTCOMES)}")
    since, until = _day(texts, "from"), _day(texts, "to")
    if since is not None and until is not None and since > until:
        raise BadRequest(f"'from' ({texts['from']}) is after 'to' ({texts['to']})")
    wanted = Wanted(
        states=states or None,
        agent=texts.get("agent"),
        tool=texts.get("tool"),
        proposer=texts.get("proposer"),
        decider=texts.get("decider"),
        outcome=texts.get("outcome"),
        text=texts.get("q"),
        since=since,
        until=None if until is None else until + _DAY_MS,
    )
    return Filter(texts, states, wanted)


def read_text(args: MultiDict[str, str], name: str) -> str:
    """Return a text of a query string, empty when it is not there; BadRequest for one that no database takes."""
    given = args.getlist(name)
    if len(given) > 1:
        raise BadRequest(f"'{name}' is given {len(given)} times")
    text = given[0].strip() if given else ""
    if len(text) > _LONGEST or _UNSTORABLE.search(text):
        raise BadRequest(f"'{name}' must be a text of at most {_LONGEST} characters, and without NUL")
    return text


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        raise BadRequest(f"no state named {word[:40]!r}; there is: {', '.join(State)}") from None


def _day(texts: dict[str, str], name: str) -> int | None:
    """Return when the day begins in UTC, in ms since the epoch."""
    if name not in texts:
        return None
    try:
        if not _DAY.fullmatch(texts[name]):
            raise ValueError("not written so")
        return (datetime.date.fromisoformat(texts[name]) - _EPOCH).days * _DAY_MS
    except ValueError:
        raise BadRequest(f"'{name}' must be a day such as 2026-11-30, not {texts[name][:40]!r}") from None
