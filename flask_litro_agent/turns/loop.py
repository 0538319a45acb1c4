"""One turn: ask the model, log its answer, run its calls through the gate, ask again, until it is done.

The turn ends with exactly one ``turn-end``, whatever happens, unless its lease is lost: then it writes nothing.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flask_litro_agent import events, strict_json
from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.contracts import (
    Actor,
    ChatRequest,
    Done,
    Options,
    Provider,
    ProviderError,
    ProviderEvent,
    Rendered,
    ToolCall,
    ToolSpec,
)
from flask_litro_agent.core.gate import Gate
from flask_litro_agent.core.outcome import CallSite, NeedsApproval, Ran, Refused
from flask_litro_agent.errors import ConfigurationError, LeaseLost, StoreError
from flask_litro_agent.settings import Limits
from flask_litro_agent.tools import Mode, UIResult
from flask_litro_agent.turns import approval_rule, drafts, results
from flask_litro_agent.turns.answer import Answer
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.outbox import Outbox
from flask_litro_agent.turns.seals import Seals
from flask_litro_agent.turns.writer import Draft, SessionWriter

__all__ = ["Assignment", "Turn"]

logger = logging.getLogger(__name__)

_MOST_HTML = 1024 * 1024  # bytes of JSON
_BREATH = 1e-6  # gevent's sleep(0) lets no timer run
_ATTEMPTS = 3
_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 20.0
_TURN_FAILED = "no result: the turn failed"
_LOG_FAILED = "the session log could not be written"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Everything a turn needs, taken before its thread starts: no request is ever read in a turn."""

    agent: LoadedAgent
    provider: Provider
    limits: Limits
    actor: Actor
    origin: str
    gate: Gate
    render: Callable[[UIResult], Rendered]
    specs: tuple[ToolSpec, ...]
    seals: Seals = field(default_factory=Seals)


class _Ended(Exception):
    """The turn ends here, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Turn:
    """A running turn. ``run`` is called once, in the turn's own thread."""

    assignment: Assignment
    live: LiveTurn
    writer: SessionWriter
    history: History
    outbox: Outbox = field(default_factory=Outbox)
    _calls: int = field(default=0, init=False)
    _same: Counter[tuple[str, str]] = field(default_factory=Counter, init=False)

    def run(self) -> None:
        """Run to the end; what goes wrong is said in the log, never raised."""
        try:
            self._end(self._outcome())
        except LeaseLost:
            logger.warning("litro turn %s: lease_lost; it stops and writes nothing", self.live.turn_id)
        except StoreError as error:
            logger.error("litro turn %s: the session log cannot be written: %s", self.live.turn_id, error)
            self._end_after_failed_write()

    def _outcome(self) -> str:
        try:
            return self._rounds()
        except _Ended as ended:
            return ended.reason
        except (StoreError, KeyboardInterrupt):
            raise
        except BaseException as error:  # under gevent foreign code is ended by what is no Exception
            return self._failed(error)

    def _failed(self, error: BaseException) -> str:
        error_id = secrets.token_hex(4)
        logger.error("litro turn %s: error %s", self.live.turn_id, error_id, exc_info=error)
        said = drafts.error("internal", f"internal error {error_id}")
        self._write(*drafts.unanswered(self.history, _TURN_FAILED), said)
        return "failed"

    def _rounds(self) -> str:
        for number in range(1, self.assignment.limits.max_rounds + 1):
            self._check()
            if number > 1:
                self._tell()
            answer = self._ask(number)
            calls = self._log_answer(answer, number)
            if isinstance(answer.end, ProviderError):
                self._check()
                self._write(drafts.error(answer.end.code, answer.end.message, retryable=answer.end.retryable))
                return "failed"
            self._run_calls(calls)
            if not calls:
                return "finished"
        return "limit"

    def _ask(self, number: int) -> Answer:
        for attempt in range(_ATTEMPTS):
            answer = self._listen()
            error = answer.end
            if not isinstance(error, ProviderError) or not error.retryable or answer.started:
                return answer
            if attempt + 1 < _ATTEMPTS and not self._pause(error, attempt):
                return answer
        return answer

    def _listen(self) -> Answer:
        answer = Answer()
        for event in self._events():
            draft = answer.take(event)
            if draft is not None:
                self._write(draft)
            if answer.end is not None or self.live.ended_by is not None:
                break
            time.sleep(_BREATH)  # a model that never waits must not hold up the event hub
        if answer.end is None:
            answer.end = ProviderError("truncated", "the model's answer ended in the middle", retryable=True)
        return answer

    def _events(self) -> Iterator[ProviderEvent]:
        listed = self.assignment.gate.tools(self.live.key.agent)
        request = ChatRequest(
            system=_system(
                self.assignment.agent, writes=any(tool.mode is not Mode.READ for tool in listed.values())
            ),
            messages=self.history.messages(),
            tools=tuple(spec for spec in self.assignment.specs if spec.name in listed),
            options=self._options(),
        )
        try:
            yield from self.assignment.provider.stream(request, self.live.stop)
        except Exception as error:
            error_id = secrets.token_hex(4)
            logger.error(
                "litro turn %s: provider failed, error %s", self.live.turn_id, error_id, exc_info=error
            )
            yield ProviderError("internal", f"internal error {error_id}")

    def _options(self) -> Options:
        agent = self.assignment.agent.agent
        return Options(
            max_tokens=agent.max_tokens,
            temperature=agent.temperature,
            idle_seconds=self.assignment.limits.idle_seconds,
            total_seconds=max(0.1, self._seconds_left()),
        )

    def _pause(self, error: ProviderError, attempt: int) -> bool:
        """Wait before asking again; False when the wait would not end inside the turn."""
        wait = error.retry_after if error.retry_after is not None else _FIRST_BACKOFF * 4**attempt
        if wait > _LONGEST_BACKOFF or wait >= self._seconds_left():
            return False
        return not self.live.stop.wait(wait)

    def _log_answer(self, answer: Answer, number: int) -> list[ToolCall]:
        complete = isinstance(answer.end, Done) and self.live.ended_by is None
        calls = self._numbered(answer) if complete else []
        answer.state = answer.state if complete else None  # half a state cannot be sent back
        said = list(answer.drafts(calls, hidden=self._hidden))
        usage = answer.usage_draft(number, self.assignment.provider.model)
        if usage is not None:
            said.append(usage)
        if said:
            self._write(*said)
        return calls

    def _numbered(self, answer: Answer) -> list[ToolCall]:
        calls = []
        for event in answer.calls:
            self._calls += 1
            call_id = f"{self.live.turn_id}-{self._calls}"
            calls.append(ToolCall(call_id, event.name, event.input, event.invalid, event.raw))
        return calls

    @property
    def _hidden(self) -> frozenset[str]:
        return frozenset(
            tool.name for tool in self.assignment.agent.tools.values() if tool.shows == "nothing"
        )

    def _run_calls(self, calls: Sequence[ToolCall]) -> None:
        over = self._calls - self.assignment.limits.max_calls
        for place, call in enumerate(calls):
            try:
                self._check()
                if over > 0 and place >= len(calls) - over:
                    raise _Ended("limit")
                self._write(self._result(call))
            except _Ended as ended:
                self._write(*(results.not_run(left, ended.reason) for left in calls[place:]))
                raise

    def _result(self, call: ToolCall) -> Draft:
        again = self._same_call(call)
        if again is not None:
            return results.refused(call, again)
        site = CallSite(
            session_id=self.live.key.session,
            turn_id=self.live.turn_id,
            call_id=call.id,
            progress=lambda value: self._progress(call, value),
            stop=self.live.stop,
            seconds=self._seconds_left(),
        )
        outcome = self.assignment.gate.call(
            self.live.key.agent,
            call.name,
            call.raw if call.invalid else call.input,
            actor=self.assignment.actor,
            origin=self.assignment.origin,
            site=site,
        )
        match outcome:
            case Refused():
                return results.refused(call, outcome)
            case NeedsApproval(proposal):
                return results.proposed(call, proposal)
            case Ran(value, UIResult() as component) if self._shows(call, "result"):
                return self._component(call, value, component)
            case Ran(value):
                return results.value(call, value, shown=self._shows(call, "result"))

    def _same_call(self, call: ToolCall) -> Refused | None:
        most = self.assignment.limits.max_same_call
        same = call.name, json.dumps([call.input, call.raw], sort_keys=True)
        self._same[same] += 1
        if self._same[same] <= most:
            return None
        return Refused(
            "failed", f"{call.name} was already called {most} times with these arguments: use its result"
        )

    def _shows(self, call: ToolCall, *what: str) -> bool:
        return self.assignment.agent.tools[call.name].shows in what

    def _component(self, call: ToolCall, data: Any, component: UIResult) -> Draft:
        try:
            rendered = self.assignment.render(component)
            size = len(strict_json.encode([rendered.html, rendered.hydrate, rendered.text]))
        except ConfigurationError as error:
            return results.refused(call, Refused("failed", str(error)))
        except Exception as error:
            logger.error("litro turn %s: component failed", self.live.turn_id, exc_info=error)
            unrendered = f"the component {component.component!r} could not be rendered"
            return results.refused(call, Refused("failed", unrendered))
        if size > _MOST_HTML:
            too_large = f"the component {component.component!r} is too large when it is rendered"
            return results.refused(call, Refused("too_large", too_large))
        seal = partial(self.assignment.seals.seal, self.live.key)
        return results.component(call, data, rendered, seal)

    def _progress(self, call: ToolCall, value: Any) -> None:
        if not self._shows(call, "result", "call"):
            return
        self._write(Draft(events.TOOL_PROGRESS, {"call_id": call.id, "name": call.name, "value": value}))

    def _tell(self) -> None:
        """Append how proposals of this session ended since."""
        owed = self.outbox.owed(self.live.key, self.history.written)
        if owed.drafts:
            self._write(*owed.drafts)
        self.outbox.told(self.live.key, owed.proposals)

    def _write(self, *drafts: Draft) -> None:
        for entry in self.writer.write(*drafts):
            self.history.feed(entry)

    def _check(self) -> None:
        if self.live.ended_by is not None:
            raise _Ended(self.live.ended_by)
        if self._seconds_left() <= 0:
            raise _Ended("limit")

    def _seconds_left(self) -> float:
        return self.live.deadline - time.monotonic()

    def _end(self, reason: str) -> None:
        self._tell()
        ended_by = self.live.ended_by if reason in ("finished", "failed") else None
        self._write(drafts.turn_end(self.history, ended_by or reason))

    def _end_after_failed_write(self) -> None:
        """Say in the log that the turn failed, when the log can be written again; else the next reader says it."""
        try:
            for entry in self.writer.catch_up():
                self.history.feed(entry)
            if self.history.open_turn != self.live.turn_id:
                return
            self._write(
                *drafts.unanswered(self.history, _LOG_FAILED),
                drafts.error("internal", _LOG_FAILED),
                drafts.turn_end(self.history, "failed"),
            )
        except StoreError as error:
            logger.error("litro turn %s: ends without turn-end: %s", self.live.turn_id, error)


def _system(agent: LoadedAgent, *, writes: bool) -> str:
    """Return the system prompt, with the rule about proposals while a tool that makes them is listed."""
    prompt = agent.system_prompt()
    return f"{prompt}\n\n{approval_rule.RULE}".lstrip() if writes else prompt
