"""The one JSON decoder, used at every door: HTTP, provider, tool result and store.

Stricter than the standard library: UTF-8 only, at most 64 levels deep, no name twice in an object,
no NaN or Infinity (also none made by overflow, such as 1e400), no integer of more than 1,000 digits, no lone
surrogate, no NUL, no byte order mark. What it accepts, ``json.loads`` accepts with the same value (RFC 8259;
I-JSON, RFC 7493, for names and surrogates). It takes linear time, whatever the text.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from flask_litro_agent.errors import InvalidJSON

__all__ = ["MAX_DEPTH", "STORED_DEPTH", "decode", "encode"]

MAX_DEPTH = 64
#: The store's depth: a value that came in by a door stands deeper once it is wrapped in an event.
STORED_DEPTH = MAX_DEPTH + 8
_MAX_DIGITS = 1000
# possessive, and a string may lack its end: without both, a text of escapes costs quadratic time
_NESTING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]}]', re.DOTALL)
_ESCAPED_NUL = "\\u0000"
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_TROUBLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


def decode(data: bytes | str, *, depth: int = MAX_DEPTH) -> Any:
    """Return the value of one JSON text; raise InvalidJSON with a sentence that quotes nothing of it."""
    text = _text(data)
    _check_depth(text, depth)
    try:
        value = _DECODER.decode(text)
    except InvalidJSON:
        raise
    except json.JSONDecodeError as error:
        raise InvalidJSON(f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}") from None
    except (ValueError, RecursionError):
        raise InvalidJSON("not JSON: a number or a structure that is too large") from None
    if _ESCAPED_TROUBLE.search(text):
        _check_strings(value)
    return value


def encode(value: Any) -> bytes:
    """Return the compact UTF-8 form; raise ValueError for NaN, Infinity, cycles, lone surrogates and NUL.

    What is no JSON at all raises TypeError, what is nested without end RecursionError.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if _ESCAPED_NUL in text:
        decode(text, depth=STORED_DEPTH)
    return text.encode()


def _text(data: bytes | str) -> str:
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        text.encode()
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"not UTF-8 at byte {error.start + 1}") from None
    except UnicodeEncodeError:
        raise InvalidJSON("not JSON: a lone surrogate") from None
    if text.startswith("\ufeff"):
        raise InvalidJSON("not accepted: a byte order mark before the JSON text")
    return text


def _check_depth(text: str, most: int) -> None:
    if text.count("[") + text.count("{") <= most:
        return
    depth = 0
    for match in _NESTING.finditer(text):
        token = match[0]
        if token in "[{":
            depth += 1
            if depth > most:
                raise InvalidJSON(f"not accepted: more than {most} levels deep")
        elif token in "]}":
            depth -= 1


def _check_strings(value: Any) -> None:
    match value:
        case str():
            if "\x00" in value:
                raise InvalidJSON("not accepted: a NUL character in a string")
            if _SURROGATE.search(value):
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
