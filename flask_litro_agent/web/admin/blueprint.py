"""The blueprint ``litro_admin``: its pages, who is let in, how its errors read, and the headers with the last word."""

from __future__ import annotations

import functools
import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from flask import Blueprint, Flask, Response, current_app, redirect, request
from werkzeug.exceptions import HTTPException

from flask_litro_agent.contracts import Actor
from flask_litro_agent.errors import AgentError, SignInNeeded, StoreError
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import guards
from flask_litro_agent.web.admin.answers import FormAnswers
from flask_litro_agent.web.admin.audit import AuditPages
from flask_litro_agent.web.admin.card_views import CardViews
from flask_litro_agent.web.admin.ceiling import CeilingPages
from flask_litro_agent.web.admin.entry import enter
from flask_litro_agent.web.admin.inbox import InboxPages
from flask_litro_agent.web.admin.ledger import LedgerPages
from flask_litro_agent.web.admin.live import LivePages
from flask_litro_agent.web.admin.proposal import ProposalPages
from flask_litro_agent.web.admin.rendering import HEADERS, Rendering, is_page
from flask_litro_agent.web.admin.routes import Pages, Route
from flask_litro_agent.web.admin.sessions import SessionPages
from flask_litro_agent.web.admin.tools import ToolPages
from flask_litro_agent.web.admin.usage import UsagePages
from flask_litro_agent.web.admin.words import say
from flask_litro_agent.web.slots import Slots

__all__ = ["register_admin"]

logger = logging.getLogger(__name__)

_NAME = "litro_admin"


def register_admin(app: Flask, installed: Installation, slots: Slots) -> FormAnswers | None:
    """Add the operator's pages to the app, and return what their forms are answered with.

    A site that sets LITRO_ADMIN_PREFIX to None has neither. ``slots`` are those of all streams.
    """
    prefix = installed.settings.admin_prefix
    if prefix is None:
        return None
    rendering, cards = Rendering(installed), CardViews(installed)
    app.register_blueprint(_blueprint(installed, rendering, cards, slots, prefix))
    app.after_request_funcs.setdefault(None, []).insert(0, _last_word(prefix))
    return FormAnswers(installed, rendering, cards)


def _blueprint(
    installed: Installation, rendering: Rendering, cards: CardViews, slots: Slots, prefix: str
) -> Blueprint:
    blueprint = Blueprint(_NAME, "flask_litro_agent", url_prefix=prefix, template_folder="templates")
    for route in _routes(installed, rendering, cards, slots):
        view = _entered(installed, rendering, route)
        blueprint.add_url_rule(route.rule, route.endpoint, view, methods=route.methods)

    @blueprint.url_value_preprocessor
    def leave_alone(endpoint: str | None, values: dict[str, Any] | None) -> None:
        csrf = current_app.extensions.get("csrf")
        if csrf is not None:
            csrf.exempt(blueprint)

    return blueprint


def _routes(installed: Installation, rendering: Rendering, cards: CardViews, slots: Slots) -> Iterator[Route]:
    rooms: tuple[Pages, ...] = (
        InboxPages(installed, rendering, cards),
        ProposalPages(installed, rendering, cards),
        LivePages(installed, slots),
        SessionPages(installed, rendering),
        LedgerPages(installed, rendering),
        AuditPages(installed, rendering),
        CeilingPages(installed, rendering),
        ToolPages(installed, rendering),
        UsagePages(installed, rendering),
    )
    for pages in rooms:
        yield from pages.routes()


def _entered(installed: Installation, rendering: Rendering, route: Route) -> Callable[..., Any]:
    """Return the view behind its guards, with its errors as pages."""

    @functools.wraps(route.view)
    def answer(**values: Any) -> Any:
        actor = None
        try:
            _guard(installed)
            actor = enter(installed, *route.permissions)
            return route.view(actor, **values)
        except HTTPException:
            raise
        except SignInNeeded as error:
            return _to_sign_in(rendering, error, actor)
        except AgentError as error:
            return _sorry(rendering, error, actor)
        except StoreError as error:
            logger.error("litro admin: the session store failed: %s", error)
            return _sorry(rendering, AgentError("the session log is not available now", status=503), actor)
        except Exception as error:
            return _sorry(rendering, _internal(error), actor)

    return answer


def _guard(installed: Installation) -> None:
    if request.method in ("GET", "HEAD"):
        guards.check_page(request, installed.settings)
        return
    guards.check_fetch(request, installed.settings)
    guards.check_referer(request, installed.settings)


def _to_sign_in(rendering: Rendering, error: SignInNeeded, actor: Actor | None) -> Any:
    way = rendering.sign_in(request.script_root + request.full_path.rstrip("?"))
    if way is None or request.method != "GET":
        return _sorry(rendering, error, actor, sign_in=way)
    return redirect(way, code=303)


def _sorry(
    rendering: Rendering, error: AgentError, actor: Actor | None, *, sign_in: str | None = None
) -> Response:
    """Return the error as a page; ``actor`` is who has entered."""
    response = rendering.page(
        "sorry.html", actor, status=error.status, message=say(error.message), sign_in=sign_in
    )
    response.headers.update(error.headers)
    return response


def _internal(error: Exception) -> AgentError:
    error_id = secrets.token_hex(4)
    logger.error("litro admin: internal error %s", error_id, exc_info=error)
    return AgentError(f"internal error {error_id}")


def _last_word(prefix: str) -> Callable[[Response], Response]:
    def last_word(response: Response) -> Response:
        """Set the pages' headers on every answer under the prefix, and on every page."""
        if request.path == prefix or request.path.startswith(f"{prefix}/") or is_page():
            response.headers.update(HEADERS)
        return response

    return last_word
