"""What a tool returned, as plain JSON: capped while it is read, so that nothing large is ever built."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import uuid
from collections.abc import Mapping
from typing import Any

from flask_litro_agent.strict_json import MAX_DEPTH
from flask_litro_agent.tools import UIResult

__all__ = ["NestedComponent", "NotPlain", "TooLarge", "plain"]

_MOST_BITS = 3321  # 1,000 decimal digits, which is what the decoder reads
_encode_text = json.JSONEncoder(ensure_ascii=False).encode


class NotPlain(Exception):
    """The value is not JSON; the message says which type stands where."""


class NestedComponent(Exception):
    """A component is part of a value; the message says where."""


class TooLarge(Exception):
    """The value needs more bytes of JSON than the cap."""


def plain(value: object, *, limit: int) -> Any:
    """Return a copy of the value made of JSON's own types, at most ``limit`` bytes long once encoded.

    Decimals, dates, times, UUIDs become text and enums their value. Raise TooLarge, NestedComponent or NotPlain.
    """
    return _Reader(limit).read(value, "the result", 0)


class _Reader:
    def __init__(self, limit: int) -> None:
        self._left = limit

    def read(self, value: object, where: str, depth: int) -> Any:
        if depth >= MAX_DEPTH:
            raise NotPlain(f"{where[:80]} is {MAX_DEPTH} levels deep or more, or contains itself")
        match value:
            case None | bool():
                return self._spend(5, value)
            case enum.Enum():
                return self.read(value.value, where, depth + 1)
            case str():
                return self._text(str.__str__(value), where)
            case int():
                return self._int(int(value), where)
            case float():
                return self._float(value, where)
            case dict() | Mapping():
                return self._object(value, where, depth)
            case list() | tuple():
                return self._array(value, where, depth)
            case UIResult():
                raise NestedComponent(
                    f"{where} is ui({value.component!r}, …) inside another value; return ui(…) itself"
                )
            case decimal.Decimal() | uuid.UUID():
                return self._text(str(value), where)
            case datetime.date() | datetime.time():
                return self._text(value.isoformat(), where)
        raise NotPlain(f"{where} is a {type(value).__name__}, which is not JSON")

    def _spend(self, size: int, value: Any) -> Any:
        self._left -= size
        if self._left < 0:
            raise TooLarge
        return value

    def _text(self, text: str, where: str) -> str:
        if len(text) > self._left:
            raise TooLarge
        if "\x00" in text:
            raise NotPlain(f"{where} has a NUL character")
        try:
            size = len(_encode_text(text).encode())
        except UnicodeEncodeError:
            raise NotPlain(f"{where} has a lone surrogate") from None
        return str(self._spend(size, text))

    def _int(self, value: int, where: str) -> int:
        if value.bit_length() > _MOST_BITS:
            raise NotPlain(f"{where} is a number of more than 1,000 digits")
        return int(self._spend(value.bit_length() // 3 + 2, value))

    def _float(self, value: float, where: str) -> float:
        if not math.isfinite(value):
            raise NotPlain(f"{where} is {float(value)!r}, which JSON cannot say")
        return float(self._spend(24, float(value)))

    def _object(self, value: Mapping[Any, Any], where: str, depth: int) -> dict[str, Any]:
        self._spend(2, None)
        read: dict[str, Any] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise NotPlain(
                    f"{where} has the key {type(name).__name__!r}, and a JSON object has only texts"
                )
            self._spend(2, None)
            key = self._text(str.__str__(name), where)
            read[key] = self.read(item, f"{where}.{key[:40]}", depth + 1)
        return read

    def _array(self, value: list[Any] | tuple[Any, ...], where: str, depth: int) -> list[Any]:
        self._spend(2, None)
        read: list[Any] = []
        for index, item in enumerate(value):
            self._spend(1, None)
            read.append(self.read(item, f"{where}[{index}]", depth + 1))
        return read
