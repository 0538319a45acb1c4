"""What an upstream says when it will not answer, as one ProviderError.

Servers disagree about the shape (``error`` object or string, ``detail``, ``message``), the status and the words, so
the words are read as well as the codes. The upstream's own sentence is passed on only without keys, on one line and
at most 300 characters long; a page of HTML is not passed on at all.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from flask_litro_agent.contracts import ProviderError

__all__ = ["complaint", "read_refusal", "refusal", "retry_after"]

_LONGEST = 300
_RETRYABLE = frozenset({"rate_limit", "overloaded", "server", "network", "truncated", "timeout"})
_SENTENCES = {
    "auth": "the model's server does not accept the key",
    "not_found": "the model's server does not know this model or path",
    "bad_request": "the model's server refused the request",
    "context_overflow": "the conversation is too long for the model",
    "content_filter": "the model's server refused the content",
    "rate_limit": "too many requests to the model's server",
    "quota": "the account at the model's server has no credit left",
    "overloaded": "the model's server is overloaded",
    "server": "the model's server failed",
    "timeout": "the model's server did not answer in time",
    "configuration": "the model's server redirects elsewhere, which is not followed: check the base URL",
}
_BY_STATUS = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    410: "not_found",
    413: "context_overflow",
    429: "rate_limit",
    529: "overloaded",
}
#: First match wins; throttling stands before overflow because "too many tokens" is said of both.
_WORDS = {
    "content_filter": (
        r"content[_ ]?(filter|policy|management)",
        r"responsibleai|data_?inspection|moderation|sensitive[_ ]",
    ),
    "quota": (
        r"insufficient[_ ](quota|balance|credit|funds)",
        r"billing|credit balance|current quota|payment|api usage limit",
    ),
    "rate_limit": (
        r"rate[_ -]?limit|too[_ ]many[_ ]requests|throttl|per minute",
        r"requests too fast|slow down|too many tokens, please wait",
    ),
    "context_overflow": (
        r"context[_ ](length|size|window|limit)|maximum context|exceed_context|context_exceeded",
        r"(prompt|input|request|messages?) (is |are )?too (long|large)|request_too_large|string_above_max_length",
        r"too many (input |prompt )?tokens|reduce the length|tokens? > \d+ maximum",
        r"maximum (input|prompt|number of) (length|tokens)|(input|prompt) (token count|length)[^.]{0,60}exceed",
        r"prompt exceeds|range of input length|`inputs` tokens|more than max tokens|max input (tokens|characters)",
    ),
    "auth": (
        r"authentication|unauthori[sz]ed|permission_|invalid[_ ]?(x-)?api[_ -]?key",
        r"api[_ -]key (is )?(not valid|invalid)",
    ),
    "not_found": (
        r"model_not_found|not_found_error|no such model|model[^.]{0,80}(not found|does not exist)",
    ),
    "overloaded": (r"overload|(at|over) capacity|server_?busy|engine is busy",),
    "timeout": (r"timeout_error|timed out|gateway time-?out",),
    "bad_request": (r"invalid_request|bad_?request|validation_?error|invalid_argument|unprocessable",),
}
_BY_WORDS = tuple((code, re.compile("|".join(words))) for code, words in _WORDS.items())
_CODES = ("code", "type", "status", "error_code", "status_code", "errorcode")
_WHY = ("message", "msg", "error_msg", "error_message", "status_msg", "faultstring")
_MEMBERS = ("error", *_WHY, "detail", "details", "errors", "innererror", "fault", "base_resp")
_MOST_ITEMS = 12
_KEY = re.compile(r"\b(?:sk|pk|rk|xai|gsk|key|api)[-_][A-Za-z0-9_*.…-]{6,}|\b[Bb]earer\s+\S+")
_REQUEST_ID = re.compile(r"[\w.:-]{1,80}")


@dataclass(frozen=True, slots=True)
class _Said:
    """What an error payload says: its sentence, and every code and type in it, lower case."""

    sentence: str
    words: str
    status: int | None


def read_refusal(
    status: int, headers: Mapping[str, str], body: bytes, *, secrets: Iterable[str] = ()
) -> ProviderError:
    """Return the error of an answer with an HTTP status of 300 or more; ``secrets`` never appear in it."""
    return refusal(_payload(body), status=status, headers=headers, secrets=secrets)


def complaint(payload: Any) -> Any | None:
    """Return the error inside a payload, or None when the payload is no error."""
    if not isinstance(payload, dict):
        return None
    if payload.get("error") or "error" in (payload.get("type"), payload.get("object")):
        return payload
    if isinstance(said := payload.get("base_resp"), dict) and _is_coded(said):
        return payload
    if payload.get("choices") or payload.get("content") or payload.get("usage") or payload.get("delta"):
        return None
    if any(payload.get(name) for name in ("detail", "errors", "fault")):
        return payload
    says_why = any(isinstance(payload.get(name), str) for name in _WHY)
    return payload if says_why and _is_coded(payload) else None


def refusal(
    payload: Any,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
) -> ProviderError:
    """Return the error of a payload, which may be of any shape; ``status`` is the HTTP status, if it was one."""
    headers = headers or {}
    said = _said(payload)
    status = status or said.status
    code = _code(status, said)
    sentence = _SENTENCES[code] + (f" ({status})" if status else "")
    words = _clean(said.sentence, secrets)
    request_id = _request_id(payload, headers)
    return ProviderError(
        code,
        sentence + (f": {words}" if words else "") + (f" [request {request_id}]" if request_id else ""),
        status=status,
        retryable=_retryable(code, headers),
        retry_after=retry_after(headers),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return seconds, from ``retry-after-ms`` or ``Retry-After`` (RFC 9110, 10.2.3)."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _payload(body: bytes) -> Any:
    text = body.decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.startswith("<") else text


def _said(payload: Any) -> _Said:
    items = list(itertools.islice(_inward(payload), _MOST_ITEMS))
    objects = [item for item in items if isinstance(item, dict)]
    sentence = next((item for item in items if isinstance(item, str)), "")
    codes = [str(item[name]) for item in objects for name in _CODES if item.get(name)]
    statuses = [_status(item.get(name)) for item in objects for name in ("code", "status")]
    status = next((status for status in statuses if status), None)
    return _Said(sentence, f"{' '.join(codes)} {sentence}".lower(), status)


def _inward(payload: Any) -> Iterator[Any]:
    """Yield an error's objects and sentences, from the outside in, the most telling member first."""
    waiting = [payload]
    while waiting:
        item = waiting.pop(0)
        yield item
        if isinstance(item, list):
            waiting += item[:4]
        elif isinstance(item, dict):
            waiting = [item[name] for name in _MEMBERS if item.get(name)] + waiting


def _is_coded(payload: Mapping[str, Any]) -> bool:
    """Whether a payload has a code of failure; a progress note has none, or one that says all is well."""
    if any(payload.get(name) for name in ("error_code", "error_msg", "error_message")):
        return True
    if payload.get("success") is False or payload.get("status") == "error" or _status(payload.get("status")):
        return True
    code = payload.get("code") or payload.get("status_code") or "0"
    return str(code).lower() not in ("0", "200", "ok", "success")


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and 400 <= value <= 599 else None


def _code(status: int | None, said: _Said) -> str:
    if status is not None and 300 <= status < 400:
        return "configuration"
    by_words = next((code for code, words in _BY_WORDS if words.search(said.words)), None)
    if status in (401, 402, 429, 529) and by_words not in ("quota", "content_filter"):
        return _BY_STATUS[status]
    if by_words is not None and not (by_words == "bad_request" and status in _BY_STATUS):
        return by_words
    if status is None:
        return "server"
    return _BY_STATUS.get(status) or ("server" if status >= 500 or status == 409 else "bad_request")


def _retryable(code: str, headers: Mapping[str, str]) -> bool:
    match headers.get("x-should-retry", "").strip().lower():
        case "true":
            return True
        case "false":
            return False
    return code in _RETRYABLE


def _number(value: str | None) -> float | None:
    if value and re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", value, re.ASCII):
        return float(value)
    return None


def _clean(text: str, secrets: Iterable[str]) -> str:
    if re.match(r"\s*<(!doctype|html|\?xml|head|body)", text, re.IGNORECASE):
        return ""
    for secret in secrets:
        if len(secret) > 3:
            text = text.replace(secret, "[key]")
    text = _KEY.sub("[key]", text[: _LONGEST * 10])
    text = "".join(character if character.isprintable() else " " for character in text)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _request_id(payload: Any, headers: Mapping[str, str]) -> str:
    given = headers.get("request-id") or headers.get("x-request-id") or ""
    if not given and isinstance(payload, dict):
        given = payload.get("request_id") or ""
    return given if isinstance(given, str) and _REQUEST_ID.fullmatch(given) else ""
