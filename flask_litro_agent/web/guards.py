"""What stands before every route, in this order: fetch gates, session id, agent, its access, body.

A fetch gate that fails says the same to everybody and reflects nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from flask import Request

from flask_litro_agent import strict_json
from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.errors import (
    BadRequest,
    BodyTooLarge,
    Forbidden,
    InvalidJSON,
    NotFound,
    UnsupportedMediaType,
)
from flask_litro_agent.settings import Settings
from flask_litro_agent.web.origins import Host, parse_host, parse_origin

__all__ = [
    "check_fetch",
    "check_header",
    "check_host",
    "check_origin_list",
    "check_page",
    "check_referer",
    "check_session_id",
    "enter_agent",
    "query_number",
    "read_body",
    "read_text",
]

logger = logging.getLogger(__name__)

_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REFERER = re.compile(r"(https?://[^/?#\\]+)(?:[/?#].*)?", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,15}")
_REFUSED = (
    "this request did not come from a page of this site; POST and DELETE need the header X-Litro-Agent: 1"
)
_NO_AGENT = "there is no such agent"


def check_fetch(request: Request, settings: Settings) -> None:
    """Refuse what another site's page sends: by Sec-Fetch-Site, by Origin, and by the list of hosts."""
    _check_site(request)
    _check_host_and_origin(request, settings)


def check_page(request: Request, settings: Settings) -> None:
    """Refuse what is no page load by a person: a link in a letter or on another site may lead to a page, nothing else.

    Such a load has ``Sec-Fetch-Mode: navigate`` and ``Sec-Fetch-Dest: document`` (W3C Fetch Metadata).
    """
    told = [request.headers.get(f"Sec-Fetch-{name}") for name in ("Mode", "Dest")]
    if told != ["navigate", "document"]:
        _check_site(request)
    _check_host_and_origin(request, settings)


def _check_site(request: Request) -> None:
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None and site not in ("same-origin", "none"):
        raise _refused(logging.INFO, "Sec-Fetch-Site is %.80r", site)


def check_host(request: Request, settings: Settings) -> Host:
    """Return the host that the request is for; refuse one that is not on the site's list."""
    host = _host(request, settings.trusted_proxies)
    if host is None or not _is_ours(host, settings.hosts):
        raise _refused(
            logging.WARNING,
            "Host and X-Forwarded-Host are %.200r, LITRO_HOSTS is %s",
            _named(request),
            settings.hosts,
        )
    return host


def check_origin_list(request: Request, origins: tuple[str, ...]) -> None:
    """Refuse what a page sends whose origin is not on the list; a program sends no Origin."""
    written = request.headers.get("Origin")
    if written is None:
        return
    origin = parse_origin(written)
    if origin is None or origin not in [parse_origin(listed) for listed in origins]:
        logger.warning("litro: Origin is %.80r, LITRO_MCP_ORIGINS is %s", written, origins)
        raise Forbidden("this origin may not call this address")


def _check_host_and_origin(request: Request, settings: Settings) -> None:
    host = check_host(request, settings)
    written = request.headers.get("Origin")
    if written is None:
        return
    origin = parse_origin(written)
    if origin is None or not origin.is_of(host, secure=request.is_secure):
        raise _refused(
            logging.WARNING, "Origin is %.80r, Host and X-Forwarded-Host are %.200r", written, _named(request)
        )


def check_header(request: Request) -> None:
    """Refuse a request without our header, which no form and no simple cross-site request can send."""
    if request.headers.get("X-Litro-Agent") != "1":
        raise _refused(logging.INFO, "it has no header X-Litro-Agent: 1")


def check_referer(request: Request, settings: Settings) -> None:
    """Refuse what the page of another site sends with a browser that names no Origin."""
    written = request.headers.get("Referer")
    if written is None or "Origin" in request.headers:
        return
    page = _REFERER.fullmatch(written)
    origin = parse_origin(page[1]) if page else None
    host = _host(request, settings.trusted_proxies)
    if origin is None or host is None or not origin.is_of(host, secure=request.is_secure):
        raise Forbidden(_REFUSED)


def check_session_id(session_id: str) -> str:
    """Return the id if it is one; BadRequest otherwise."""
    if not _SESSION_ID.fullmatch(session_id):
        raise BadRequest("a session id has 1 to 64 of the characters A-Z a-z 0-9 _ -")
    return session_id


def enter_agent(agents: Mapping[str, LoadedAgent], name: str) -> LoadedAgent:
    """Return the agent if this request may use it. What its ``access`` raises passes through unchanged."""
    agent = agents.get(name)
    if agent is None:
        raise NotFound(_NO_AGENT)
    answer = agent.access() if agent.access is not None else None
    if answer is not None and answer is not True:
        raise Forbidden("you may not use this agent")
    return agent


def read_text(request: Request, *, limit: int) -> str:
    """Return the one member of the body, ``text``; BadRequest, BodyTooLarge or UnsupportedMediaType otherwise."""
    match _read_object(request, limit):
        case {"text": str(text), **others} if not others:
            if not text.strip():
                raise BadRequest("the body's 'text' is empty")
            return text
        case {"text": _, **others} if not others:
            raise BadRequest("the body's 'text' must be a text")
        case body:
            raise BadRequest(f"the body may have 'text' and must have it; {_extra(body)}")


def read_body(request: Request, limit: int) -> bytes:
    """Return the body's bytes; BodyTooLarge above the limit, BadRequest when it cannot be read to its end."""
    length = request.content_length
    request.max_content_length = limit + 1  # a body without a length is cut here, in silence
    try:
        body = b"" if (length or 0) > limit else request.get_data(cache=False)
    except Exception:  # each server has its own for chunks that are none and a client that left
        raise BadRequest("the body cannot be read to its end") from None
    if max(length or 0, len(body)) > limit:
        raise BodyTooLarge(f"the body may have {limit} bytes")
    if length is not None and len(body) < length:  # gunicorn leaves this to us
        raise BadRequest("the body is shorter than its Content-Length")
    return body


def query_number(request: Request, name: str, *, default: int, low: int, high: int) -> int:
    """Return a whole number from the query; BadRequest when it is none, is given twice, or is out of range."""
    given = request.args.getlist(name)
    if not given:
        return default
    if len(given) == 1 and _NUMBER.fullmatch(given[0]) and low <= int(given[0]) <= high:
        return int(given[0])
    raise BadRequest(f"'{name}' must be one whole number from {low} to {high}")


def _refused(level: int, why: str, *values: object) -> Forbidden:
    """Log why, at WARNING where the site or its proxy may be set up wrong; return the one answer of all gates."""
    logger.log(level, f"litro: a request was refused: {why}", *values)
    return Forbidden(_REFUSED)


def _named(request: Request) -> tuple[str | None, str | None]:
    return request.headers.get("Host"), request.headers.get("X-Forwarded-Host")


def _host(request: Request, proxies: int) -> Host | None:
    forwarded = request.headers.get("X-Forwarded-Host")
    if proxies and forwarded is not None:
        values = [value.strip() for value in forwarded.split(",")]
        return parse_host(values[-proxies]) if len(values) >= proxies else None
    return parse_host(request.headers.get("Host", ""))


def _is_ours(host: Host, hosts: tuple[str, ...] | None) -> bool:
    if hosts is None:
        return True
    listed = [parse_host(text) for text in hosts]
    return any(
        ours is not None and ours.name == host.name and ours.port in (None, host.port) for ours in listed
    )


def _read_object(request: Request, limit: int) -> dict[str, Any]:
    if request.mimetype != "application/json":
        raise UnsupportedMediaType("the body must be application/json")
    try:
        body = strict_json.decode(read_body(request, limit))
    except InvalidJSON as error:
        raise BadRequest(f"the body is {error}") from None
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object with 'text'")
    return body


def _extra(body: Mapping[str, Any]) -> str:
    names = [name for name in body if name != "text"]
    shown = ", ".join(ascii(name[:40]) for name in names[:5])
    return f"it has {shown}" + (" and more" if len(names) > 5 else "") if names else "it has nothing"
