"""An operator at the real decision view, signed in by nothing but the word of a test.

The view, its token and its checks are the site's; an app of the kit's own carries them, whose request loader gives
the operator, so that no site needs a back door by which a test signs in.
"""

from __future__ import annotations

import dataclasses
import secrets
import time

from flask import Flask
from werkzeug.test import TestResponse

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.errors import AgentError, BadRequest, Forbidden, LedgerAway, NotFound, ProposalClosed
from flask_litro_agent.identity import Identity
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import forms
from flask_litro_agent.web.blueprint import register_routes
from flask_litro_agent.web.slots import Slots

__all__ = ["OperatorDesk"]

_TOKEN = "/a-page-with-a-form"
_KINDS = {kind.__name__: kind for kind in (BadRequest, Forbidden, NotFound, ProposalClosed, LedgerAway)}


class OperatorDesk:
    """Decides over HTTP as ``operator`` about the proposals of one app."""

    def __init__(self, installed: Installation, operator: Actor) -> None:
        desk = Flask(__name__)
        desk.secret_key = secrets.token_hex()
        desk.add_url_rule(_TOKEN, view_func=forms.fresh_token)
        settings = dataclasses.replace(installed.settings, hosts=None, trusted_proxies=0)
        identity = Identity(
            lambda: operator, installed.identity.by_id, time.time
        )  # proved by the test's word
        theirs = dataclasses.replace(installed, settings=settings, identity=identity)
        register_routes(desk, theirs, Slots(most=1, most_per_actor=1), None)
        self._place = f"{settings.url_prefix}/proposals"
        self._client = desk.test_client()

    def decide(self, what: str, proposal: Proposal, fields: dict[str, str]) -> None:
        """Send the decision about what ``proposal`` shows; raise what the view refuses with."""
        headers = {"X-CSRFToken": self._client.get(_TOKEN).text}
        body = {"digest": proposal.digest, **fields}
        _check(self._client.post(f"{self._place}/{proposal.id}/{what}", json=body, headers=headers))


def _check(answer: TestResponse) -> None:
    """Raise the error that an answer names."""
    if answer.status_code < 400:
        return
    said = answer.get_json()
    raise _KINDS.get(said["name"], AgentError)(
        said["message"], status=said["status"], errors=said.get("errors")
    )
