"""The one JSON decoder, used at every door: HTTP, provider, tool result and store.

Stricter than the standard library: UTF-8 only, at most 64 levels deep, no name twice in an object,
no NaN or Infinity (also none made by overflow, such as 1e400), no lone surrogate, no NUL. What it accepts,
``json.loads`` accepts with the same value (RFC 8259; I-JSON, RFC 7493, for names and surrogates).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from flask_litro_agent.errors import InvalidJSON

__all__ = ["MAX_DEPTH", "decode", "encode"]

MAX_DEPTH = 64
_MAX_DIGITS = 1000
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_ESCAPED_TROUBLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


def decode(data: bytes | str) -> Any:
    """Return the value of one JSON text; raise InvalidJSON with a sentence that quotes nothing of it."""
    text = _text(data)
    _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except InvalidJSON:
        raise
    except json.JSONDecodeError as error:
        raise InvalidJSON(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError):
        raise InvalidJSON("not JSON: a number or a structure that is too large") from None
    if "\x00" in text or _ESCAPED_TROUBLE.search(text):
        _check_strings(value)
    return value


def encode(value: Any) -> bytes:
    """Return the compact UTF-8 form; raise ValueError for NaN, Infinity, cycles and lone surrogates."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _text(data: bytes | str) -> str:
    if isinstance(data, str):
        try:
            data.encode()
        except UnicodeEncodeError:
            raise InvalidJSON("not JSON: a lone surrogate") from None
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"not UTF-8 at byte {error.start + 1}") from None


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _NESTING.finditer(text):
        token = match[0]
        if token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidJSON(f"not accepted: more than {MAX_DEPTH} levels deep")
        elif token in "]}":
            depth -= 1


def _check_strings(value: Any) -> None:
    match value:
        case str():
            if "\x00" in value:
                raise InvalidJSON("not accepted: a NUL character in a string")
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise InvalidJSON("not accepted: a lone surrogate in a string")
        case list():
            for item in value:
                _check_strings(item)
        case dict():
            for name, item in value.items():
                _check_strings(name)
                _check_strings(item)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidJSON("not accepted: a name appears twice in one object")
    return value


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise InvalidJSON("not accepted: a number out of range")
    return number


def _int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise InvalidJSON("not accepted: a number out of range")
    return int(digits)


def _constant(name: str) -> NoReturn:
    raise InvalidJSON(f"not JSON: {name}")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant
)
