"""What a decision's request carries: its fields, as JSON or as a plain form, and Flask-WTF's token.

The token is checked here and always: our blueprint is exempt from the site's CSRFProtect, which would check it only
where the site has one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import parse_qsl

from flask import Request, current_app
from flask_wtf.csrf import generate_csrf, validate_csrf
from wtforms import ValidationError

from flask_litro_agent import strict_json
from flask_litro_agent.errors import BadRequest, InvalidJSON, UnsupportedMediaType
from flask_litro_agent.web import guards

__all__ = ["FORM", "field_name", "fresh_token", "read_form"]

FORM: Final = "application/x-www-form-urlencoded"
#: The longest note, percent-encoded, is 24,000 bytes.
_MOST_BYTES: Final = 32 * 1024
_MOST_FIELDS: Final = 10
_NO_TOKEN: Final = "the form's token is missing, too old or another person's: load the proposal again"


def read_form(request: Request, names: Iterable[str]) -> dict[str, str]:
    """Return the fields, texts of these names alone; BadRequest also when the token is missing or wrong.

    BodyTooLarge and UnsupportedMediaType as for every body. JSON brings the token in the header ``X-CSRFToken``, a
    form in its field.
    """
    if request.mimetype == FORM:
        fields = _form(guards.read_body(request, _MOST_BYTES))
        token = fields.pop(field_name(), None)
    elif request.mimetype == "application/json":
        fields = _json(guards.read_body(request, _MOST_BYTES))
        headers = _config("WTF_CSRF_HEADERS", ["X-CSRFToken", "X-CSRF-Token"])
        token = next((request.headers[name] for name in headers if name in request.headers), None)
    else:
        raise UnsupportedMediaType("the body must be application/json or a plain form")
    _check_token(token)
    known = tuple(names)
    if strangers := [ascii(name[:40]) for name in fields if name not in known]:
        raise BadRequest(
            f"the body may have {', '.join(known) or 'no field'}; it has {', '.join(strangers[:5])}"
        )
    return fields


def fresh_token() -> str:
    """Return a token for the forms of this request's session."""
    return str(generate_csrf())


def field_name() -> str:
    """Return the name of a plain form's field for the token."""
    return str(_config("WTF_CSRF_FIELD_NAME", "csrf_token"))


def _form(body: bytes) -> dict[str, str]:
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(
            text,
            keep_blank_values=True,
            strict_parsing=bool(text),
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:  # UnicodeDecodeError is one
        raise BadRequest("the body is not a form") from None
    return _once(pairs)


def _json(body: bytes) -> dict[str, str]:
    try:
        value = strict_json.decode(body)
    except InvalidJSON as error:
        raise BadRequest(f"the body is {error}") from None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise BadRequest("the body must be a JSON object of texts")
    return value


def _once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise BadRequest("the form has a field twice")
    if any("\x00" in text for pair in pairs for text in pair):
        raise BadRequest("the form has a NUL character")
    return fields


def _check_token(token: str | None) -> None:
    try:
        validate_csrf(token)
    except ValidationError:
        raise BadRequest(_NO_TOKEN) from None


def _config(key: str, default: Any) -> Any:
    return current_app.config.get(key, default)
