"""The JSON payloads of an event stream: what stands in ``data``, whatever the gateway in between did to it.

A payload is an object. Keepalives of any kind are skipped; text that begins like an object and is none is a fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flask_litro_agent import strict_json
from flask_litro_agent.errors import InvalidJSON, LitroError
from flask_litro_agent.providers.characters import cleaned

__all__ = ["DONE", "Broken", "payloads"]

#: The end mark of an OpenAI-compatible stream.
DONE: dict[str, Any] = {}

_SENTINEL = "[DONE]"
#: Accepts what the strict decoder does not: half surrogate pairs (the other half is in the next delta), NaN.
_TOLERANT = json.JSONDecoder(strict=False)


class Broken(LitroError):
    """A payload that begins like an object and is none."""


def payloads(data: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of an event's data, and DONE for the end mark; raise Broken.

    Usually one. Gateways that forget the blank line between two events, or the line end, put several into one, and
    some put them into an array.
    """
    try:
        value = strict_json.decode(data)
    except InvalidJSON:
        yield from _sequence(data)
        return
    for item in value if isinstance(value, list) else (value,):
        if isinstance(item, dict):
            yield item


def _sequence(text: str) -> Iterator[dict[str, Any]]:
    position, last = 0, len(text)
    while position < last:
        position = _skip(text, position)
        if text.startswith(_SENTINEL, position):
            yield DONE
            position += len(_SENTINEL)
        elif text.startswith("{", position):
            value, position = _object(text, position)
            yield value
        else:
            end = text.find("\n", position)
            position = last if end < 0 else end


def _skip(text: str, position: int) -> int:
    while True:
        while position < len(text) and text[position] in " \t\r\n\0":
            position += 1
        if not text.startswith("data:", position):
            return position
        position += len("data:")


def _object(text: str, position: int) -> tuple[dict[str, Any], int]:
    try:
        value, end = _TOLERANT.raw_decode(text, position)
        strict_json.decode(strict_json.encode(cleaned(value)))  # the log must be able to hold what it says
    except (InvalidJSON, ValueError, RecursionError):
        raise Broken("a payload is not JSON") from None
    return value, end
