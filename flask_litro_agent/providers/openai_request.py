"""A ChatRequest as the body of ``POST /chat/completions``.

Source of the format: the OpenAI API reference, and what servers that speak it refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flask_litro_agent.contracts import ChatRequest, Image, Text, ToolResult, ToolSpec
from flask_litro_agent.providers.characters import cleaned, written
from flask_litro_agent.providers.identifiers import Names
from flask_litro_agent.providers.toolset import declared
from flask_litro_agent.providers.transcript import AssistantTurn, UserTurn, parts_of, turns
from flask_litro_agent.schemas import openai_strict

__all__ = ["IDS", "NINE_CHARACTERS", "body", "state_marks"]

IDS = re.compile(r"[A-Za-z0-9_-]{1,40}")
#: What Mistral demands of a call's id.
NINE_CHARACTERS = re.compile(r"[A-Za-z0-9]{9}")


def state_marks(model: str) -> dict[str, Any]:
    """Return the members that mark a state as made by this dialect and model."""
    return {"provider": "openai", "model": model}


def body(
    request: ChatRequest,
    model: str,
    *,
    ids: re.Pattern[str] = IDS,
    limit_name: str = "max_tokens",
    strict_tools: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body. ``ids`` is what a call id must match, ``limit_name`` what the server calls max_tokens.

    With ``strict_tools`` each tool says whether its arguments are held to its schema, and is where it can be.
    """
    names = Names(request.tools)
    repaired = turns(
        request, state_of=state_marks(model), legal_id=ids, speaks=lambda turn: turn.text or turn.calls
    )
    made: dict[str, Any] = {
        "model": model,
        "messages": list(_messages(request.system, repaired, names, must_alternate=ids is NINE_CHARACTERS)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools := list(_tools(request.tools, names, strict=strict_tools)):
        made["tools"] = tools
    asked = {limit_name: request.options.max_tokens, "temperature": request.options.temperature}
    made |= {name: value for name, value in asked.items() if value is not None}
    cleaned_body: dict[str, Any] = cleaned(made | dict(extra or {}))
    return cleaned_body


def _tools(tools: tuple[ToolSpec, ...], names: Names, *, strict: bool) -> Iterator[dict[str, Any]]:
    for tool in declared(tools):
        form = openai_strict(tool.parameters) if strict else None
        function = {
            "name": names.sent(tool.name),
            "description": tool.description,
            "parameters": form or tool.parameters,
            **({"strict": form is not None} if strict else {}),
        }
        yield {"type": "function", "function": function}


def _messages(
    system: str, repaired: list[UserTurn | AssistantTurn], names: Names, *, must_alternate: bool
) -> Iterator[dict[str, Any]]:
    if system.strip():
        yield {"role": "system", "content": system}
    last_user = max((number for number, turn in enumerate(repaired) if _asks(turn)), default=-1)
    for number, turn in enumerate(repaired):
        if isinstance(turn, AssistantTurn):
            yield _assistant(turn, names, with_reasoning=number > last_user)
        else:
            yield from _user(turn, must_alternate=must_alternate)


def _asks(turn: UserTurn | AssistantTurn) -> bool:
    return isinstance(turn, UserTurn) and bool(turn.parts)


def _assistant(turn: AssistantTurn, names: Names, *, with_reasoning: bool) -> dict[str, Any]:
    """Return the message; reasoning goes back only inside the turn it was made in."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if with_reasoning:
        message |= turn.state.get("fields") or {}
    kept = turn.state.get("calls") or []
    calls = turn.calls
    if calls:
        message["tool_calls"] = [
            {
                **(kept[number] if len(kept) == len(calls) else {}),
                "id": call.id,
                "type": "function",
                "function": {
                    "name": names.sent(call.name),
                    "arguments": written(call.input),
                },
            }
            for number, call in enumerate(calls)
        ]
    return message


def _user(turn: UserTurn, *, must_alternate: bool) -> Iterator[dict[str, Any]]:
    """Yield the tool messages, which may hold text only, then the user's, with the images of both."""
    shown: list[Text | Image] = []
    for result in turn.results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": _output(result)}
        shown += _images(result)
    content = _content([*shown, *turn.parts])
    if content:
        if turn.results and must_alternate:
            yield {"role": "assistant", "content": "Understood."}
        yield {"role": "user", "content": content}


def _output(result: ToolResult) -> str:
    parts = parts_of(result.output)
    if parts is None:
        return result.output if isinstance(result.output, str) else written(result.output)
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    return text or "The image follows."


def _images(result: ToolResult) -> list[Text | Image]:
    images: list[Text | Image] = [part for part in parts_of(result.output) or [] if isinstance(part, Image)]
    return [Text(f"From {result.name} ({result.call_id}):"), *images] if images else []


def _content(parts: list[Text | Image]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in parts):
        return "\n\n".join(part.text for part in parts if isinstance(part, Text))
    return [_part(part) for part in parts]


def _part(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}
