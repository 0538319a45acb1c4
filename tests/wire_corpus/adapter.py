"""The corpus's neutral requests and events, translated to the package's own and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flask_litro_agent.contracts import (
    AssistantState,
    ChatRequest,
    Done,
    Image,
    Message,
    Options,
    Part,
    Provider,
    ProviderError,
    ProviderEvent,
    Reasoning,
    ReasoningDelta,
    Stop,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolSpec,
    Usage,
)
from flask_litro_agent.providers.anthropic import anthropic
from flask_litro_agent.providers.openai_compatible import openai_compatible

KEY = "canary-key-0123456789"


def stream(
    provider: str, base_url: str, request: Mapping[str, Any], state: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the normalised events; leave the assistant's message in ``state["assistant"]``."""
    seen: list[ProviderEvent] = []
    for event in _provider(provider, base_url, request).stream(_request(request), Stop()):
        seen.append(event)
        if (normalised := _normalised(event)) is not None:
            yield normalised
    state["assistant"] = _assistant(seen)


def _provider(provider: str, base_url: str, request: Mapping[str, Any]) -> Provider:
    if provider == "anthropic":
        budget = 1024 if request.get("thinking") else None
        return anthropic(request["model"], base_url=base_url, api_key=KEY, thinking_budget=budget)
    dialect = "mistral" if request.get("provider_hint") == "mistral" else None
    return openai_compatible(request["model"], base_url=base_url, api_key=KEY, dialect=dialect)


def _request(request: Mapping[str, Any]) -> ChatRequest:
    return ChatRequest(
        system=request.get("system") or "",
        messages=tuple(
            message if isinstance(message, Message) else _message(message) for message in request["messages"]
        ),
        tools=tuple(
            ToolSpec(tool["name"], tool.get("description") or "", tool.get("schema") or {})
            for tool in request.get("tools") or []
        ),
        options=Options(max_tokens=request.get("max_tokens"), idle_seconds=15.0, total_seconds=18.0),
    )


def _message(message: Mapping[str, Any]) -> Message:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return Message(message["role"], tuple(_part(part) for part in parts))


def _part(part: Mapping[str, Any]) -> Part:
    match part["type"]:
        case "text":
            return Text(part["text"])
        case "image":
            return Image(part["media_type"], part["data"])
        case "reasoning":
            return Reasoning(part["text"], part.get("signature"))
        case "tool-call":
            return ToolCall(part["id"], part["name"], part.get("input") or {})
        case "tool-result":
            output = part["output"]
            output = [_part(item) for item in output] if isinstance(output, list) else output
            return ToolResult(part["id"], part["name"], output, bool(part.get("is_error")))
    raise ValueError(part["type"])


def _normalised(event: ProviderEvent) -> dict[str, Any] | None:
    match event:
        case TextDelta(text):
            return {"type": "text-delta", "text": text}
        case ReasoningDelta(text):
            return {"type": "reasoning-delta", "text": text}
        case ToolCallEvent(id=id, name=name, invalid=True, raw=raw):
            return {"type": "tool-call", "id": id, "name": name, "invalid": True, "raw": raw}
        case ToolCallEvent(id=id, name=name, input=arguments):
            return {"type": "tool-call", "id": id, "name": name, "input": dict(arguments)}
        case Usage():
            counts = {
                "input_tokens": event.input_tokens,
                "output_tokens": event.output_tokens,
                "cache_read_tokens": event.cached_tokens,
                "cache_write_tokens": event.cache_write_tokens,
                "reasoning_tokens": event.reasoning_tokens,
            }
            return {"type": "usage"} | {name: count for name, count in counts.items() if count is not None}
        case Done(reason):
            return {"type": "done", "finish_reason": reason}
        case ProviderError():
            return {
                "type": "error",
                "kind": event.code,
                "message": event.message,
                "retryable": event.retryable,
                "status": event.status,
                "retry_after": event.retry_after,
            }
    return None


def _assistant(events: list[ProviderEvent]) -> Message:
    parts: list[Part] = []
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    if text:
        parts.append(Text(text))
    parts += [
        ToolCall(event.id, event.name, event.input, event.invalid, event.raw)
        for event in events
        if isinstance(event, ToolCallEvent)
    ]
    states = [event.data for event in events if isinstance(event, AssistantState)]
    return Message("assistant", tuple(parts), states[-1] if states else None)
