"""The blueprint ``litro_admin``: its pages, who is let in, how its errors read, and the headers with the last word."""

from __future__ import annotations

import functools
import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Flask, Response, current_app, redirect, request
from werkzeug.exceptions import HTTPException

from flask_litro_agent.errors import AgentError, SignInNeeded, StoreError
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import guards
from flask_litro_agent.web.admin.entry import enter
from flask_litro_agent.web.admin.inbox import InboxPages
from flask_litro_agent.web.admin.rendering import HEADERS, Rendering
from flask_litro_agent.web.admin.routes import Route
from flask_litro_agent.web.admin.sessions import SessionPages

__all__ = ["register_admin"]

logger = logging.getLogger(__name__)

_NAME = "litro_admin"


def register_admin(app: Flask, installed: Installation) -> None:
    """Add the operator's pages to the app; a site that sets LITRO_ADMIN_PREFIX to None has none."""
    prefix = installed.settings.admin_prefix
    if prefix is None:
        return
    app.register_blueprint(_blueprint(installed, prefix))
    app.after_request_funcs.setdefault(None, []).insert(0, _last_word(prefix))


def _blueprint(installed: Installation, prefix: str) -> Blueprint:
    rendering = Rendering(installed)
    blueprint = Blueprint(_NAME, "flask_litro_agent", url_prefix=prefix, template_folder="templates")
    for route in _routes(installed, rendering):
        view = _entered(installed, rendering, route)
        blueprint.add_url_rule(route.rule, route.endpoint, view, methods=route.methods)

    @blueprint.url_value_preprocessor
    def leave_alone(endpoint: str | None, values: dict[str, Any] | None) -> None:
        csrf = current_app.extensions.get("csrf")
        if csrf is not None:
            csrf.exempt(blueprint)

    return blueprint


def _routes(installed: Installation, rendering: Rendering) -> Iterator[Route]:
    for pages in (InboxPages(installed, rendering), SessionPages(installed, rendering)):
        yield from pages.routes()


def _entered(installed: Installation, rendering: Rendering, route: Route) -> Callable[..., Any]:
    """Return the view behind its guards, with its errors as pages."""

    @functools.wraps(route.view)
    def answer(**values: Any) -> Any:
        try:
            _guard(installed)
            return route.view(enter(installed, *route.permissions), **values)
        except HTTPException:
            raise
        except SignInNeeded as error:
            return _to_sign_in(installed, rendering, error)
        except AgentError as error:
            return rendering.page("sorry.html", None, status=error.status, message=error.message)
        except StoreError as error:
            logger.error("litro admin: the session store failed: %s", error)
            return rendering.page(
                "sorry.html", None, status=503, message="the session log is not available now"
            )
        except Exception as error:
            return _internal(rendering, error)

    return answer


def _guard(installed: Installation) -> None:
    if request.method in ("GET", "HEAD"):
        guards.check_page(request, installed.settings)
        return
    guards.check_fetch(request, installed.settings)
    guards.check_referer(request, installed.settings)


def _to_sign_in(installed: Installation, rendering: Rendering, error: SignInNeeded) -> Any:
    way = installed.settings.sign_in
    if way is None or request.method != "GET":
        return rendering.page("sorry.html", None, status=401, message=error.message)
    joint = "&" if "?" in way else "?"
    return redirect(f"{way}{joint}{urlencode({'next': request.full_path.rstrip('?')})}", code=303)


def _internal(rendering: Rendering, error: Exception) -> Response:
    error_id = secrets.token_hex(4)
    logger.error("litro admin: internal error %s", error_id, exc_info=error)
    return rendering.page("sorry.html", None, status=500, message=f"internal error {error_id}")


def _last_word(prefix: str) -> Callable[[Response], Response]:
    def last_word(response: Response) -> Response:
        """Set the pages' headers on every answer under the prefix."""
        if request.path == prefix or request.path.startswith(f"{prefix}/"):
            response.headers.update(HEADERS)
        return response

    return last_word
