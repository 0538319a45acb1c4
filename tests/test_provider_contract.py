"""Both wire providers keep the contract that a stranger's provider must keep."""

from __future__ import annotations

import json

from flask_litro_agent.contracts import Provider
from flask_litro_agent.providers.anthropic import anthropic
from flask_litro_agent.providers.openai_compatible import openai_compatible
from flask_litro_agent.testing.providers import ProviderContract


class TestOpenAICompatible(ProviderContract):
    def provider(self, url: str) -> Provider:
        return openai_compatible("demo-model", base_url=url, api_key=self.key)

    def delta(self, text: str) -> bytes:
        chunk = {"choices": [{"index": 0, "delta": {"content": text}}]}
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()

    def end(self) -> bytes:
        return b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class TestAnthropic(ProviderContract):
    def provider(self, url: str) -> Provider:
        return anthropic("demo-claude", base_url=url, api_key=self.key)

    def start(self) -> bytes:
        return (
            b'data: {"type":"message_start","message":{"id":"msg_01","role":"assistant","content":[]}}\n\n'
            b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        )

    def delta(self, text: str) -> bytes:
        event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()

    def end(self) -> bytes:
        return (
            b'data: {"type":"content_block_stop","index":0}\n\n'
            b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
            b'data: {"type":"message_stop"}\n\n'
        )
