"""The provider for Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import ChatRequest, ProviderError, ProviderEvent, Stop
from flask_litro_agent.providers import anthropic_request, wire
from flask_litro_agent.providers.anthropic_answer import AnthropicAnswer
from flask_litro_agent.providers.identifiers import Names

__all__ = ["ANTHROPIC_URL", "Anthropic", "anthropic"]

ANTHROPIC_URL = "https://api.anthropic.com/v1"
_VERSION = "2023-06-01"


def anthropic(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    max_tokens: int = 4096,
    thinking_budget: int | None = None,
    strict_tools: bool = False,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Anthropic:
    """Return a provider for ``<base_url>/messages``; without a URL, Anthropic's.

    Without ``api_key`` the key is ``ANTHROPIC_API_KEY`` of the environment, looked up at each call. ``max_tokens``
    is for requests that name none. ``thinking_budget`` (tokens, at least 1024) asks for extended thinking.
    ``strict_tools`` asks for arguments that are held to the tools' schemas. ``extra`` is merged into the body.
    """
    return Anthropic(
        model,
        base_url=ANTHROPIC_URL if base_url is None else base_url,
        api_key=api_key,
        max_tokens=max_tokens,
        thinking_budget=thinking_budget,
        strict_tools=strict_tools,
        headers=dict(headers or {}),
        extra=dict(extra or {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Anthropic:
    """The provider that ``anthropic`` returns."""

    model: str = field(kw_only=False)
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    max_tokens: int = 4096
    thinking_budget: int | None = None
    strict_tools: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def stream(self, request: ChatRequest, stop: Stop) -> Iterator[ProviderEvent]:
        """Ask, and yield the events of the answer as they arrive."""
        key = wire.key(self.api_key, "ANTHROPIC_API_KEY")
        if fault := self._fault(key):
            yield ProviderError("configuration", fault)
            return
        answer = AnthropicAnswer(Names(request.tools), anthropic_request.state_marks(self.model))
        yield from wire.converse(
            lambda: self._ask(request, key), answer, bounds=wire.limits(request.options), stop=stop
        )

    def _fault(self, key: str) -> str | None:
        if fault := wire.url_fault(self.base_url):
            return fault
        if not key and not self.headers:
            return "no key for Anthropic: set ANTHROPIC_API_KEY"
        return None

    def _ask(self, request: ChatRequest, key: str) -> wire.Ask:
        body = anthropic_request.body(
            request,
            self.model,
            max_tokens=self.max_tokens,
            thinking_budget=self.thinking_budget,
            strict_tools=self.strict_tools,
            extra=self.extra,
        )
        return wire.Ask(
            f"{self.base_url.rstrip('/')}/messages",
            wire.headers(
                {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}, self.headers
            ),
            strict_json.encode(body),
            secrets=(key, *self.headers.values()),
        )
