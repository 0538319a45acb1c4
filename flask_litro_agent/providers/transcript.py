"""A request's messages as every server accepts them.

Histories have gaps: a turn was stopped before a tool answered, a provider made ids or names that another refuses, a
message is empty. The rules of the strictest servers hold here, for both dialects: every call has exactly one result
and every result a call, in place; user messages in a row are one; no text is blank; ids and names are legal and
unique.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    ToolSpec,
)

__all__ = ["AssistantTurn", "Names", "UserTurn", "distinct", "object_schema", "turns"]

_UNANSWERED = "No result: the call was interrupted."
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


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


class Names:
    """The tools' names as a server accepts them, and back. Legal names stay as they are."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        names = list(dict.fromkeys(tool.name for tool in tools))
        self._sent = {name: name for name in names if _NAME.fullmatch(name)}
        for name in names:
            if name not in self._sent:
                self._sent[name] = _legal_name(name, taken=self._sent.values())
        self._original = {sent: name for name, sent in self._sent.items()}

    def sent(self, name: str) -> str:
        """Return the name to send, also for a tool that is no longer there."""
        return self._sent.get(name) or (name if _NAME.fullmatch(name) else _legal_name(name, taken=()))

    def original(self, sent: str) -> str:
        """Return the tool's own name."""
        return self._original.get(sent, sent)

    def __contains__(self, sent: str) -> bool:
        return sent in self._original


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
    ids = _Ids(legal_id)
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


def distinct(tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return the tools, of those with one name the first."""
    by_name: dict[str, ToolSpec] = {}
    for tool in tools:
        by_name.setdefault(tool.name, tool)
    return list(by_name.values())


def object_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that says it is an object with properties, as servers demand."""
    schema = {name: value for name, value in parameters.items() if value is not None}
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {}
    return schema


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


def _answered(said: AssistantTurn, results: list[ToolResult], ids: _Ids) -> list[UserTurn | AssistantTurn]:
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


class _Ids:
    """Call ids that are legal and used once; the same history always gives the same ids."""

    def __init__(self, legal: re.Pattern[str]) -> None:
        self._legal = legal
        self._used: set[str] = set()

    def legal(self, id: str) -> str:
        wanted, attempt = id, 0
        while wanted in self._used or not self._legal.fullmatch(wanted):
            wanted, attempt = _digest(f"{id}#{attempt}", 9), attempt + 1
        self._used.add(wanted)
        return wanted


def _legal_name(name: str, *, taken: Iterable[str]) -> str:
    legal = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"
    if legal in taken or len(name) > 64:
        legal = f"{legal[:55]}_{_digest(name, 8)}"
    return legal


def _digest(text: str, length: int) -> str:
    """Return letters and digits made from the text."""
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])
    digits = ""
    while len(digits) < length:
        number, digit = divmod(number, len(_ALPHABET))
        digits += _ALPHABET[digit]
    return digits
