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
from flask_litro_agent.web.admin.answers import FormAnswers
from flask_litro_agent.web.components import ComponentViews, page_functions
from flask_litro_agent.web.mcp import McpView
from flask_litro_agent.web.proposals import ProposalViews
from flask_litro_agent.web.sessions import SessionViews
from flask_litro_agent.web.slots import Slots

__all__ = ["register_routes"]

logger = logging.getLogger(__name__)

_NAME = "litro"
#: What a browser may keep: files, with nothing in them about a person.
_KEPT = frozenset({f"{_NAME}.static", f"{_NAME}.components", f"{_NAME}.component_file"})
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
View = Callable[..., Any]
Sentence = Callable[[AgentError, str], Response]


def register_routes(app: Flask, installed: Installation, slots: Slots, answers: FormAnswers | None) -> None:
    """Add the routes to the app, apart from its CSRFProtect and ahead of nobody's headers.

    ``slots`` are those of all streams, ``answers`` what the forms of the operator's pages get.
    """
    app.register_blueprint(_blueprint(installed, slots, answers))
    app.jinja_env.globals.update(page_functions(installed.components))
    # of all after_request functions the first one runs last
    app.after_request_funcs.setdefault(None, []).insert(0, _last_word(installed.settings.url_prefix))


def _blueprint(installed: Installation, slots: Slots, answers: FormAnswers | None) -> Blueprint:
    blueprint = Blueprint(
        _NAME,
        "flask_litro_agent",
        url_prefix=installed.settings.url_prefix,
        static_folder="static/litro_agent",
        static_url_path="/static",
    )
    for rule, name, view, methods in SessionViews(installed, slots).routes():
        # a redirect from agent//id to agent/id would let one id stand for another
        blueprint.add_url_rule(rule, name, _answering(view), methods=methods, merge_slashes=False)

    for rule, name, view, methods in ProposalViews(installed, answers).routes():
        blueprint.add_url_rule(rule, name, _answering(view, sentence=_saying(answers)), methods=methods)

    for rule, name, view, methods in ComponentViews(installed.components).routes():
        blueprint.add_url_rule(rule, name, view, methods=methods)

    for rule, name, view, methods in McpView(installed, slots).routes():
        blueprint.add_url_rule(rule, name, _answering(view), methods=methods)

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
            if request.endpoint not in _KEPT or response.status_code >= 400:
                response.headers["Cache-Control"] = "no-store"
        return response

    return last_word


def _answering(view: View, *, sentence: Sentence | None = None) -> View:
    """Return the view with its errors as JSON; ``sentence`` answers a plain form about the proposal of this id."""

    @functools.wraps(view)
    def answer(**values: Any) -> Any:
        is_form = sentence is not None and request.mimetype == forms.FORM
        try:
            return view(**values)
        except HTTPException:
            raise  # an agent's access() speaks for itself
        except AgentError as error:
            fault = error
        except StoreError as error:
            logger.error("litro: the session store failed: %s", error)
            fault = AgentError("the session log is not available now", status=503)
        except Exception as error:
            if not is_form:
                return _internal(error)
            fault = AgentError(_note_internal(error))
        return sentence(fault, values["proposal_id"]) if is_form and sentence else _error(fault)

    return answer


def _saying(answers: FormAnswers | None) -> Sentence:
    """Return what says an error to a plain form: a page where a browser waits for one, else a sentence."""

    def say(error: AgentError, proposal_id: str) -> Response:
        if answers is None or not answers.wants_page():
            return _sentence(error)
        try:
            return answers.refusal(error, proposal_id)
        except Exception as raised:  # the site's loaders, perhaps the very fault that is to be told
            logger.error("litro: no page could be drawn for an error", exc_info=raised)
            return _sentence(error)

    return say


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


def _note_internal(error: Exception) -> str:
    error_id = secrets.token_hex(4)
    logger.error("litro: internal error %s", error_id, exc_info=error)
    return f"internal error {error_id}"


def _internal(error: Exception) -> Response:
    body: dict[str, Any] = {"name": "InternalError", "message": _note_internal(error), "status": 500}
    if current_app.debug:
        body["trace"] = traceback.format_exception(error)
    response = jsonify(body)
    response.status_code = 500
    return response
