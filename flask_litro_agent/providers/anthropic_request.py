"""A ChatRequest as the body of Anthropic's ``POST /v1/messages``.

Source of the format: the Anthropic API reference. An assistant's signed thinking must come back byte for byte, before
its tool calls; it is kept, with the order of the blocks, in the message's state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flask_litro_agent.contracts import ChatRequest, Image, Reasoning, Text, ToolCall, ToolResult, ToolSpec
from flask_litro_agent.providers.characters import cleaned, written
from flask_litro_agent.providers.identifiers import Names
from flask_litro_agent.providers.toolset import declared, object_schema
from flask_litro_agent.providers.transcript import AssistantTurn, UserTurn, parts_of, turns
from flask_litro_agent.schemas import anthropic_strict

__all__ = ["body", "state_marks"]

_IDS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIRST = "(The conversation starts with the assistant.)"

Block = dict[str, Any]


def state_marks(model: str) -> dict[str, Any]:
    """Return the members that mark a state as made by this dialect and model."""
    return {"provider": "anthropic", "model": model}


def body(
    request: ChatRequest,
    model: str,
    *,
    max_tokens: int,
    thinking_budget: int | None = None,
    strict_tools: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body; ``max_tokens`` counts when the request names none, the thinking budget comes on top.

    With ``strict_tools`` the arguments of every tool that can be strict are held to its schema.
    """
    names = Names(request.tools)
    repaired = turns(
        request, state_of=state_marks(model), legal_id=_IDS, speaks=lambda turn: _assistant(turn, names)
    )
    messages = list(_messages(repaired, names))
    limit = request.options.max_tokens or max_tokens
    made: Block = {"model": model, "max_tokens": limit, "messages": messages, "stream": True}
    if request.system.strip():
        made["system"] = request.system
    if request.tools:
        made["tools"] = _tools(declared(request.tools), names, strict=strict_tools)
    else:
        made |= _gone(repaired, names)
    made |= _thinking(limit, thinking_budget, messages)
    if request.options.temperature is not None and "thinking" not in made:
        made["temperature"] = request.options.temperature
    cleaned_body: dict[str, Any] = cleaned(made | dict(extra or {}))
    return cleaned_body


def _thinking(max_tokens: int, budget: int | None, messages: list[Block]) -> dict[str, Any]:
    """Ask for thinking, unless the answer being continued was begun without: that is refused."""
    if budget is None:
        return {}
    begun = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    is_continued = messages[-1]["content"][0]["type"] == "tool_result"
    if begun and is_continued and begun["content"][0]["type"] not in ("thinking", "redacted_thinking"):
        return {}
    thinking = {"type": "enabled", "budget_tokens": budget}
    return {"thinking": thinking, "max_tokens": max_tokens if max_tokens > budget else max_tokens + budget}


def _tools(tools: list[ToolSpec], names: Names, *, strict: bool) -> list[Block]:
    forms = anthropic_strict(tool.parameters for tool in tools) if strict else [None] * len(tools)
    return [
        {
            "name": names.sent(tool.name),
            "description": tool.description,
            "input_schema": form or tool.parameters,
            **({"strict": True} if form else {}),
        }
        for tool, form in zip(tools, forms, strict=True)
    ]


def _gone(repaired: list[UserTurn | AssistantTurn], names: Names) -> dict[str, Any]:
    """Declare the tools that a history has calls of, also when none may be called now."""
    calls = [call for turn in repaired if isinstance(turn, AssistantTurn) for call in turn.calls]
    if not calls:
        return {}
    called = dict.fromkeys(names.sent(call.name) for call in calls)  # two names may be sent as one
    gone = [{"name": name, "input_schema": object_schema({})} for name in called]
    return {"tools": gone, "tool_choice": {"type": "none"}}


def _messages(repaired: list[UserTurn | AssistantTurn], names: Names) -> Iterator[Block]:
    if not repaired or isinstance(repaired[0], AssistantTurn):
        yield {"role": "user", "content": [{"type": "text", "text": _FIRST}]}
    for number, turn in enumerate(repaired):
        if isinstance(turn, UserTurn):
            yield {"role": "user", "content": _user(turn)}
        else:
            is_last = number == len(repaired) - 1
            content = _assistant(turn, names)
            yield {"role": "assistant", "content": _without_last_space(content) if is_last else content}


def _user(turn: UserTurn) -> list[Block]:
    return [*map(_result, turn.results), *map(_part, turn.parts)]


def _result(result: ToolResult) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": result.call_id}
    if content := _output(result.output):
        block["content"] = content
    if result.error:
        block["is_error"] = True
    return block


def _output(output: Any) -> str | list[Block]:
    """Return the content of a result, empty when it says nothing: blank texts are refused."""
    parts = parts_of(output)
    if parts is not None:
        return [_part(part) for part in parts if isinstance(part, Image) or part.text.strip()]
    text = output if isinstance(output, str) else written(output)
    return text if text.strip() else ""


def _part(part: Text | Image) -> Block:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


def _assistant(turn: AssistantTurn, names: Names) -> list[Block]:
    kept: list[Block] = [block for block in turn.state.get("blocks") or [] if isinstance(block, dict)]
    calls = turn.calls
    text = "".join(block.get("text", "") for block in kept if block.get("type") == "text")
    if text.strip() == turn.text.strip() and sum(block.get("type") == "tool_use" for block in kept) == len(
        calls
    ):
        waiting = iter(calls)
        return [
            _call(next(waiting), names) if block.get("type") == "tool_use" else block
            for block in kept
            if block.get("type") != "text" or block["text"].strip()
        ]
    thoughts = [block for block in kept if block.get("type") in ("thinking", "redacted_thinking")]
    return [*thoughts, *(block for part in turn.parts if (block := _block(part, names)))]


def _block(part: Text | Reasoning | ToolCall, names: Names) -> Block | None:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature} if signature else None
        case ToolCall():
            return _call(part, names)


def _call(call: ToolCall, names: Names) -> Block:
    return {"type": "tool_use", "id": call.id, "name": names.sent(call.name), "input": dict(call.input)}


def _without_last_space(content: list[Block]) -> list[Block]:
    """Return the blocks of an answer to be continued; its text must not end in white space."""
    last = content[-1]
    if last["type"] != "text":
        return content
    return [*content[:-1], {**last, "text": last["text"].rstrip()}]
