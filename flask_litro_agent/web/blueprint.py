"""The blueprint ``litro``: its routes, how its errors read, and the headers that have the last word."""

from __future__ import annotations

import functools
import logging
import secrets
import traceback
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Flask, Response, current_app, jsonify, request
from werkzeug.exceptions import HTTPException

from flask_litro_agent.errors import AgentError, StoreError
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import forms
from flask_litro_agent.web.proposals import ProposalViews
from flask_litro_agent.web.sessions import SessionViews

__all__ = ["register_routes"]

logger = logging.getLogger(__name__)

_NAME = "litro"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
View = Callable[..., Any]


def register_routes(app: Flask, installed: Installation) -> None:
    """Add the routes to the app, apart from its CSRFProtect and ahead of nobody's headers."""
    app.register_blueprint(_blueprint(installed))
    # of all after_request functions the first one runs last
    app.after_request_funcs.setdefault(None, []).insert(0, _last_word(installed.settings.url_prefix))


def _blueprint(installed: Installation) -> Blueprint:
    blueprint = Blueprint(
        _NAME,
        "flask_litro_agent",
        url_prefix=installed.settings.url_prefix,
        static_folder="static/litro_agent",
        static_url_path="/static",
    )
    for rule, name, view, methods in SessionViews(installed).routes():
        # a redirect from agent//id to agent/id would let one id stand for another
        blueprint.add_url_rule(rule, name, _answering(view), methods=methods, merge_slashes=False)

    for rule, name, view, methods in ProposalViews(installed).routes():
        blueprint.add_url_rule(rule, name, _answering(view, sentence=_sentence), methods=methods)

    @blueprint.url_value_preprocessor
    def leave_alone(endpoint: str | None, values: dict[str, Any] | None) -> None:
        # runs before CSRFProtect's check, whichever of the two was initialised first
        csrf = current_app.extensions.get("csrf")
        if csrf is not None:
            csrf.exempt(blueprint)

    return blueprint


def _last_word(prefix: str) -> Callable[[Response], Response]:
    def last_word(response: Response) -> Response:
        """Set our headers on every answer under the prefix, a 404 and a 405 included."""
        if request.path.startswith(f"{prefix}/"):
            response.headers.update(_HEADERS)
            if request.endpoint != f"{_NAME}.static":
                response.headers["Cache-Control"] = "no-store"
        return response

    return last_word


def _answering(view: View, *, sentence: Callable[[AgentError], Response] | None = None) -> View:
    """Return the view with its errors as JSON; ``sentence`` answers a plain form."""

    @functools.wraps(view)
    def answer(**values: Any) -> Any:
        try:
            return view(**values)
        except HTTPException:
            raise  # an agent's access() speaks for itself
        except AgentError as error:
            return sentence(error) if sentence and request.mimetype == forms.FORM else _error(error)
        except StoreError as error:
            logger.error("litro: the session store failed: %s", error)
            return _error(AgentError("the session log is not available now", status=503))
        except Exception as error:
            return _internal(error)

    return answer


def _error(error: AgentError) -> Response:
    body: dict[str, Any] = {"name": type(error).__name__, "message": error.message, "status": error.status}
    if error.errors:
        body["errors"] = error.errors
    response = jsonify(body)
    response.status_code = error.status
    response.headers.update(error.headers)
    return response


def _sentence(error: AgentError) -> Response:
    response = Response(f"{error.message}\n", status=error.status, mimetype="text/plain")
    response.headers.update(error.headers)
    return response


def _internal(error: Exception) -> Response:
    error_id = secrets.token_hex(4)
    logger.error("litro: internal error %s", error_id, exc_info=error)
    body: dict[str, Any] = {"name": "InternalError", "message": f"internal error {error_id}", "status": 500}
    if current_app.debug:
        body["trace"] = traceback.format_exception(error)
    response = jsonify(body)
    response.status_code = 500
    return response
