"""From values to a page: templates that a site may override, and the headers that every page has."""

from __future__ import annotations

import logging
import secrets
from typing import Any, Final
from urllib.parse import urlencode

from flask import Response, current_app, g, make_response, render_template, url_for
from markupsafe import escape

from flask_litro_agent.contracts import Actor
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import forms
from flask_litro_agent.web.admin.entry import ADMIN, APPROVE, may
from flask_litro_agent.web.admin.moments import moment
from flask_litro_agent.web.admin.people import seen
from flask_litro_agent.web.admin.words import direction, language, mark, say, say_many

__all__ = ["HEADERS", "Rendering", "is_page"]

logger = logging.getLogger(__name__)

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

_UNDRAWN: Final = mark(
    "This page could not be drawn. The ledger knows what was decided; the site's log has the error as"
)
_DRAWN: Final = "litro_admin_page"
#: What the navigation offers, in this order: endpoint, label, permission.
_PLACES: Final = (
    ("inbox", mark("Inbox"), APPROVE),
    ("ledger", mark("Ledger"), ADMIN),
    ("sessions", mark("Sessions"), ADMIN),
    ("tools", mark("Tools"), ADMIN),
    ("ceiling", mark("Ceiling"), ADMIN),
    ("usage", mark("Usage"), ADMIN),
)


class Rendering:
    """Draws the pages of one app."""

    def __init__(self, installed: Installation) -> None:
        self._installed = installed

    def page(self, template: str, actor: Actor | None, *, status: int = 200, **values: Any) -> Response:
        """Return ``litro_agent/admin/<template>``; a template that raises is a plain page and a logged line."""
        try:
            known = {"status": status, **self._everywhere(actor), **values}
            html = render_template(f"litro_agent/admin/{template}", **known)
        except Exception as error:  # the template may be a site's own
            return self._broken(template, error)
        return _page(html, status)

    def sign_in(self, then: str) -> str | None:
        """Return the way to the site's sign-in that leads on to this path; None when the site has named none."""
        way = self._installed.settings.sign_in
        if way is None:
            return None
        return f"{way}{'&' if '?' in way else '?'}{urlencode({'next': then})}"

    def _everywhere(self, actor: Actor | None) -> dict[str, Any]:
        return {
            "_": say,
            "ngettext": say_many,
            "lang": language(),
            "direction": direction(),
            "actor": actor,
            "places": [] if actor is None else list(self._places(actor)),
            "csrf_token": forms.fresh_token,
            "csrf_field": forms.field_name(),
            "moment": moment,
            "seen": seen,
            "sign_in_way": self.sign_in,
            "prefix": self._installed.settings.admin_prefix,
        }

    def _places(self, actor: Actor) -> Any:
        for endpoint, label, permission in _PLACES:
            is_there = f"litro_admin.{endpoint}" in current_app.view_functions
            if is_there and may(self._installed, actor, permission):
                yield {"endpoint": f"litro_admin.{endpoint}", "label": say(label)}

    def _broken(self, template: str, error: Exception) -> Response:
        error_id = secrets.token_hex(4)
        logger.error("litro admin: the template %s raised, %s", template, error_id, exc_info=error)
        said = escape(say(_UNDRAWN))
        way = escape(url_for("litro_admin.inbox"))
        html = f'<!doctype html><title>Litro</title><p>{said} {error_id}.</p><p><a href="{way}">Litro</a></p>'
        return _page(html, 500)


def is_page() -> bool:
    """Whether a page was drawn in this request."""
    return bool(g.get(_DRAWN, False))


def _page(html: str, status: int) -> Response:
    g.setdefault(_DRAWN, True)
    response = make_response(html, status)
    response.headers.update(HEADERS)
    return response
