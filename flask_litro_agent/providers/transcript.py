"""A request's messages as every server accepts them.

Histories have gaps: a turn was stopped before a tool answered, a provider made ids or names that another refuses, a
message is empty. The rules of the strictest servers hold here, for both dialects: every call has exactly one result
and every result a call, in place; user messages in a row are one; no text is blank; ids are legal and unique.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flask_litro_agent.contracts import (
    ChatRequest,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from flask_litro_agent.providers.identifiers import Ids

__all__ = ["AssistantTurn", "UserTurn", "parts_of", "turns"]

_UNANSWERED = "No result: the call was interrupted."


@dataclass(frozen=True, slots=True)
class UserTurn:
    """Results of the calls of the turn before, then what the user said."""

    results: list[ToolResult] = field(default_factory=list)
    parts: list[Text | Image] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """What the assistant said; ``state`` is its provider's, and empty when another one's."""

    parts: list[Text | Reasoning | ToolCall]
    state: Mapping[str, Any]

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


def turns(
    request: ChatRequest,
    *,
    state_of: Mapping[str, Any],
    legal_id: re.Pattern[str],
    speaks: Callable[[AssistantTurn], object],
) -> list[UserTurn | AssistantTurn]:
    """Return the repaired messages.

    ``state_of`` are the members that a state must have to be replayed; ``legal_id`` is what an id must match;
    ``speaks`` says whether anything of a turn can be sent, for a turn without is left out.
    """
    ids = Ids(legal_id)
    repaired: list[UserTurn | AssistantTurn] = []
    for position, message in enumerate(request.messages):
        if message.role == "assistant":
            said = _assistant(message, state_of)
            if speaks(said):
                following = _until_assistant(request.messages[position + 1 :])
                repaired += _answered(said, following, ids)
        else:
            _add(repaired, UserTurn(parts=_said(message)))
    return repaired


def parts_of(output: Any) -> list[Text | Image] | None:
    """Return the parts that a result is made of, or None when it is a JSON value."""
    is_parts = isinstance(output, (list, tuple)) and all(isinstance(part, (Text, Image)) for part in output)
    return list(output) if is_parts and output else None


def _assistant(message: Message, state_of: Mapping[str, Any]) -> AssistantTurn:
    parts = [
        part
        for part in message.parts
        if isinstance(part, (Reasoning, ToolCall)) or (isinstance(part, Text) and part.text.strip())
    ]
    state = message.state or {}
    is_ours = all(state.get(name) == value for name, value in state_of.items())
    return AssistantTurn(parts, state if is_ours else {})


def _said(message: Message) -> list[Text | Image]:
    return [
        part
        for part in message.parts
        if isinstance(part, Image) or (isinstance(part, Text) and part.text.strip())
    ]


def _until_assistant(messages: Sequence[Message]) -> list[ToolResult]:
    results: list[ToolResult] = []
    for message in messages:
        if message.role == "assistant":
            break
        results += [part for part in message.parts if isinstance(part, ToolResult)]
    return results


def _answered(said: AssistantTurn, results: list[ToolResult], ids: Ids) -> list[UserTurn | AssistantTurn]:
    """Pair calls and results by id, in order, under legal ids; make up the result that is missing."""
    waiting: dict[str, list[ToolResult]] = {}
    for result in results:
        waiting.setdefault(result.call_id, []).append(result)
    parts: list[Text | Reasoning | ToolCall] = []
    paired: list[ToolResult] = []
    for part in said.parts:
        if not isinstance(part, ToolCall):
            parts.append(part)
            continue
        id = ids.legal(part.id)
        found = waiting.get(part.id)
        result = found.pop(0) if found else ToolResult(part.id, part.name, _UNANSWERED, error=True)
        parts.append(ToolCall(id, part.name, {} if part.invalid else part.input))
        paired.append(ToolResult(id, part.name, result.output, result.error))
    assistant = AssistantTurn(parts, said.state)
    return [assistant, UserTurn(results=paired)] if paired else [assistant]


def _add(repaired: list[UserTurn | AssistantTurn], turn: UserTurn) -> None:
    if not turn.parts:
        return
    if repaired and isinstance(repaired[-1], UserTurn):
        repaired[-1].parts.extend(turn.parts)
    else:
        repaired.append(turn)
