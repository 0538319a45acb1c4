"""An agent in the terminal: the same turn and log as over HTTP, shown as text."""

from __future__ import annotations

import json
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

import click

from flask_litro_agent import events
from flask_litro_agent.contracts import Actor, SessionKey
from flask_litro_agent.events import Event
from flask_litro_agent.installation import Installation
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.tail import Tail

__all__ = ["TERMINAL_VISITOR", "say"]

#: Who talks in a terminal without ``--as``: a visitor without permissions, always the same one.
TERMINAL_VISITOR = Actor("visitor:terminal--------------", "Visitor")
_LONGEST_SHOWN = 200


def say(installed: Installation, key: SessionKey, actor: Actor, text: str) -> str:
    """Run a turn and show it as it comes; return how it ended. Ctrl-C stops the turn, not the program."""
    turn = installed.start(key, text, actor=actor, origin="terminal")
    printer = _Printer(after=turn.first_seq - 1)
    while True:
        try:
            return _show(installed, turn, printer)
        except KeyboardInterrupt:
            turn.end("stopped")


def _show(installed: Installation, turn: LiveTurn, printer: _Printer) -> str:
    """Show what the printer has not shown yet, to the turn's end."""
    for event in _events(installed, turn, after=printer.seq):
        printer.show(event)
        if event.kind == events.TURN_END:
            return str(event.payload["reason"])
    return "interrupted"


def _events(installed: Installation, turn: LiveTurn, *, after: int) -> Iterator[Event]:
    tail = Tail(
        store=installed.store,
        key=turn.key,
        live=installed.runner.live,
        gone=lambda: False,
        after=after,
        turn_from=turn.first_seq,
        longest=threading.TIMEOUT_MAX,
        heartbeat=threading.TIMEOUT_MAX,
    )
    for chunk in tail.chunks():
        yield from (events.decode(line) for line in chunk.splitlines(keepends=True) if line.strip())


class _Printer:
    """Shows events one after another; text flows, everything else has its own line. ``seq`` is the last one shown."""

    def __init__(self, *, after: int) -> None:
        self.seq = after
        self._flowing: str | None = None

    def show(self, event: Event) -> None:
        self._print(event)
        self.seq = event.seq

    def _print(self, event: Event) -> None:
        payload = event.payload
        match event.kind:
            case events.TEXT_DELTA:
                self._flow(event.kind, payload["text"])
            case events.REASONING_DELTA:
                self._flow(event.kind, payload["text"], dim=True)
            case events.TOOL_CALL:
                self._line(
                    f"→ {payload['name']} {_short(payload.get('input', payload.get('raw')))}", fg="cyan"
                )
            case events.TOOL_PROGRESS:
                self._line(f"  … {_short(payload['value'])}", dim=True)
            case events.TOOL_RESULT:
                self._result(payload)
            case events.UI:
                self._component(payload)
            case events.PROPOSAL:
                self._line(
                    f"← waits for approval: {payload['summary']} ({payload['proposal_id']})", fg="yellow"
                )
            case events.PROPOSAL_SETTLED:
                self._line(f"proposal {payload['proposal_id']}: {payload['state']}", fg="yellow")
            case events.ERROR:
                self._line(f"error ({payload['code']}): {payload['message']}", fg="red")
            case events.TURN_END:
                self._end(payload)

    def _result(self, payload: Mapping[str, Any]) -> None:
        if "error" in payload:
            self._line(f"← {payload['error']['code']}: {payload['error']['message']}", fg="yellow")
        else:
            self._line(f"← {_short(payload.get('output'))}", dim=True)

    def _component(self, payload: Mapping[str, Any]) -> None:
        text = payload.get("text") or _short(payload.get("data"))
        self._line("\n".join(f"│ {line}" for line in text.split("\n")))

    def _end(self, payload: Mapping[str, Any]) -> None:
        if payload["reason"] == "finished":
            self._break_line()
        else:
            self._line(f"the turn ended: {payload['reason']}", fg="yellow")

    def _flow(self, kind: str, text: str, **style: Any) -> None:
        if self._flowing != kind:
            self._break_line()
        click.secho(_plain(text), nl=False, reset=bool(style), **style)
        self._flowing = None if text.endswith("\n") else kind

    def _line(self, text: str, **style: Any) -> None:
        self._break_line()
        click.secho(_plain(text), reset=bool(style), **style)

    def _break_line(self) -> None:
        if self._flowing:
            click.echo()
        self._flowing = None


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _plain(text: str) -> str:
    """Return the text without control characters, which a terminal would obey."""
    return "".join(character for character in text if _is_shown(character))


def _is_shown(character: str) -> bool:
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"
