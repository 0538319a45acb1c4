"""What was asked, as a script reads it out of a request: this turn's text and results, and what came before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from flask_litro_agent.contracts import ChatRequest, Message, Note, Text, ToolCall, ToolResult

__all__ = ["Outcome", "Question", "read"]


_LONGEST = 500  # what follows is not read: patterns are not made for essays


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A call and how it ended: ``error`` is the code of a failed one, and ``value`` then its message."""

    tool: str
    arguments: Mapping[str, Any]
    value: Any
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The newest thing that a person said.

    ``words`` is the text in small letters with single spaces and without punctuation that means nothing here;
    ``rounds`` has the outcomes of this turn so far, ``past`` the good ones of earlier turns, oldest first;
    ``before`` the arguments of the earlier call that this question takes up, if it does. ``endings`` says by its id
    how each proposal ended that the site has told of.
    """

    text: str
    tools: frozenset[str] = frozenset()
    past: tuple[Outcome, ...] = ()
    rounds: tuple[tuple[Outcome, ...], ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    endings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        return plain(self.text)

    def says(self, pattern: str) -> bool:
        """Whether the words have the pattern, from one word's start to a word's end."""
        return re.search(rf"\b(?:{pattern})(?!\w)", self.words) is not None


def plain(text: str) -> str:
    """Return the text as patterns expect it."""
    small = text.casefold().replace("’", "'").replace("−", "-").replace("–", "-")
    return " ".join(re.sub(r"[^\w€°#%'.,+ -]|[.,](?!\d)", " ", small).split())


def read(request: ChatRequest) -> Question:
    """Return the question of a request; one without any user message asks nothing."""
    start = max((at for at, message in enumerate(request.messages) if message.role == "user"), default=0)
    before, now = request.messages[:start], request.messages[start:]
    text = " ".join(part.text for message in now[:1] for part in message.parts if _is_said(part))
    return Question(
        text=text[:_LONGEST],
        tools=frozenset(tool.name for tool in request.tools),
        past=tuple(outcome for played in _rounds(before) for outcome in played if not outcome.error),
        rounds=tuple(_rounds(now)),
        endings={str(one["proposal_id"]): one for one in _endings(request.messages)},
    )


def _is_said(part: object) -> TypeGuard[Text]:
    """Whether a person said it: a note is the site's."""
    return isinstance(part, Text) and not isinstance(part, Note)


def _endings(messages: Sequence[Message]) -> Iterator[Mapping[str, Any]]:
    """Yield what the site's notes say, in their order: after a heading, one JSON object a line."""
    notes = (part.text for message in messages for part in message.parts if isinstance(part, Note))
    for text in notes:
        yield from (json.loads(line) for line in text.splitlines()[1:])


def _rounds(messages: Sequence[Message]) -> Iterator[tuple[Outcome, ...]]:
    """Yield, for each assistant message with calls, their outcomes in the order of the calls."""
    results = {
        part.call_id: part for message in messages for part in message.parts if isinstance(part, ToolResult)
    }
    for message in messages:
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            yield tuple(_outcome(call, results[call.id]) for call in calls if call.id in results)


def _outcome(call: ToolCall, result: ToolResult) -> Outcome:
    if not result.error:
        return Outcome(tool=call.name, arguments=call.input, value=result.output)
    said = result.output if isinstance(result.output, Mapping) else {"message": str(result.output)}
    inner = said.get("error", said)
    fault = inner if isinstance(inner, Mapping) else {"message": str(inner)}
    return Outcome(
        tool=call.name,
        arguments=call.input,
        value=str(fault.get("message", "")),
        error=str(fault.get("code", "failed")),
    )
