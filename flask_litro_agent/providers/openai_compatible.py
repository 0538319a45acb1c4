"""Providers for servers that speak OpenAI's chat completions: OpenAI itself, Ollama, vLLM, llama.cpp, gateways."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import ChatRequest, ProviderError, ProviderEvent, Stop
from flask_litro_agent.providers import openai_request, wire
from flask_litro_agent.providers.identifiers import Names
from flask_litro_agent.providers.openai_answer import OpenAIAnswer

__all__ = ["OPENAI_URL", "OpenAICompatible", "openai_compatible"]

OPENAI_URL = "https://api.openai.com/v1"
_MISTRAL = ("mistral", "mixtral", "magistral", "ministral", "codestral", "devstral", "pixtral")


def openai_compatible(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
    dialect: Literal["openai", "mistral"] | None = None,
    strict_tools: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> OpenAICompatible:
    """Return a provider for ``<base_url>/chat/completions``; without a URL, OpenAI's.

    Without ``api_key`` the key is ``OPENAI_API_KEY`` of the environment, looked up at each call; ``""`` sends none.
    ``extra`` is merged into the body (``{"reasoning_effort": "low"}``). ``dialect="mistral"`` keeps Mistral's rules
    for ids and order; by default they are kept when the model or the host is called so. ``strict_tools`` asks the
    server to hold a call's arguments to the tool's schema; not every server takes the word.
    """
    return OpenAICompatible(
        model,
        base_url=OPENAI_URL if base_url is None else base_url,
        api_key=api_key,
        headers=dict(headers or {}),
        dialect=dialect,
        strict_tools=strict_tools,
        extra=dict(extra or {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAICompatible:
    """The provider that ``openai_compatible`` returns."""

    model: str = field(kw_only=False)
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    dialect: Literal["openai", "mistral"] | None = None
    strict_tools: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def stream(self, request: ChatRequest, stop: Stop) -> Iterator[ProviderEvent]:
        """Ask, and yield the events of the answer as they arrive."""
        key = wire.key(self.api_key, "OPENAI_API_KEY")
        if fault := self._fault(key):
            yield ProviderError("configuration", fault)
            return
        answer = OpenAIAnswer(Names(request.tools), openai_request.state_marks(self.model))
        yield from wire.converse(
            lambda: self._ask(request, key), answer, bounds=wire.limits(request.options), stop=stop
        )

    def _fault(self, key: str) -> str | None:
        if fault := wire.url_fault(self.base_url):
            return fault
        if not key and not self.headers and self.base_url == OPENAI_URL:
            return "no key for OpenAI: set OPENAI_API_KEY, or base_url for another server"
        return None

    def _ask(self, request: ChatRequest, key: str) -> wire.Ask:
        body = openai_request.body(
            request,
            self.model,
            ids=openai_request.NINE_CHARACTERS if self._is_mistral else openai_request.IDS,
            limit_name="max_completion_tokens" if self._host.endswith("openai.com") else "max_tokens",
            strict_tools=self.strict_tools,
            extra=self.extra,
        )

        return wire.Ask(
            f"{self.base_url.rstrip('/')}/chat/completions",
            wire.headers({"authorization": f"Bearer {key}"} if key else {}, self.headers),
            strict_json.encode(body),
            secrets=(key, *self.headers.values()),
            instead=functools.partial(_second_try, body),
        )

    @property
    def _host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def _is_mistral(self) -> bool:
        if self.dialect is not None:
            return self.dialect == "mistral"
        named = f"{self.model} {self._host}".lower()
        return any(name in named for name in _MISTRAL)


def _second_try(body: Mapping[str, Any], status: int, refused: bytes) -> bytes | None:
    """Return the body without ``stream_options``, for a server that does not know it."""
    if status not in (400, 422) or b"stream_options" not in refused:
        return None
    return strict_json.encode({name: value for name, value in body.items() if name != "stream_options"})
