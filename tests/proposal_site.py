"""A site with write tools in a temporary folder, and how a browser and a script decide about proposals on it."""

from __future__ import annotations

from flask import Flask, request

from flask_litro_agent import Actor, LitroAgent
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.events import decode
from tests.asking import events, post, rounds

EVE = Actor("eve", "Eve", frozenset({"refunds:edit"}))
OPS = Actor("ops", "Olga", frozenset({"refunds:edit", "litro:approve"}))
TWO = Actor("two", "Otto", frozenset({"refunds:edit", "litro:approve"}))
BOB = Actor("bob", "Bob", frozenset({"refunds:edit"}))
PROPOSALS = "/__litro/proposals"
FORM = "application/x-www-form-urlencoded"

_AGENT = """
from flask_litro_agent import Agent
from tests.site.agents.desk.agent import Puppet

agent = Agent(model=Puppet(), continue_after_approval={wakes}{declares})
"""
_TOOL = """
from flask import current_app
from marshmallow import Schema, fields
from flask_litro_agent import Mode, tool
from flask_litro_agent.errors import NothingDone

class Order(Schema):
    order = fields.Integer(required=True, strict=True)
    text = fields.String()

@tool(description="{name} an order.", permission="refunds:edit", mode=Mode.PROPOSE, params=Order{more})
def {name}(params, ctx):
    if params["order"] == 13:
        raise RuntimeError("canary-secret")
    if params["order"] == 0:
        raise NothingDone("nothing to pay")
    current_app.extensions["done"].append(("{name}", params["order"]))
    return {{"paid": params["order"]}}
"""


def proposal_site(
    folder,
    *,
    wakes=False,
    access="",
    declares="",
    reconciles=False,
    authenticated_at=None,
    extensions=(),
    **config,
):
    """Return the site: X-Actor says who is signed in, ``app.extensions["done"]`` what its tools did.

    ``access`` is the source of the agent's, ``declares`` that of more arguments of its ``Agent(...)``; with
    ``reconciles`` the other side has taken every refund.
    """
    desk = folder / "agents" / "desk"
    (desk / "tools").mkdir(parents=True, exist_ok=True)
    (desk / "agent.py").write_text(_AGENT.format(wakes=wakes, declares=declares) + access)
    inverse = ', inverse=lambda params, result: ("charge", {"order": params["order"]})'
    inverse += ", reconcile=lambda key: True" if reconciles else ""
    (desk / "tools" / "refund.py").write_text(_TOOL.format(name="refund", more=inverse))
    (desk / "tools" / "charge.py").write_text(_TOOL.format(name="charge", more=", four_eyes=True"))
    app = Flask("site", root_path=str(folder), instance_path=str(folder / "instance"))
    app.config.update(SECRET_KEY="for tests", LITRO_FSYNC="never", LITRO_PROTECTED_PERMISSIONS=(), **config)
    app.extensions["done"] = []
    app.extensions["people"] = people = {person.id: person for person in (EVE, OPS, TWO, BOB)}
    litro = LitroAgent()
    litro.request_loader(lambda: people.get(request.headers.get("X-Actor", "")))
    litro.actor_loader(people.get)
    if authenticated_at is not None:
        litro.authenticated_at(authenticated_at)
    for extension in extensions or (litro,):
        (litro if extension == "litro" else extension).init_app(app)
    return app


class Browser:
    """Somebody at the site; the cookie jar is his own."""

    def __init__(self, app, actor="ops"):
        self.app = app
        self.client = app.test_client()
        self.actor = actor

    def ask(self, tool="refund", order=1, *, session="s1", **more):
        """Have the agent call the tool; return the card's event."""
        text = rounds([["call", tool, {"order": order, **more}]])
        found = events(post(self.client, text, session=session, actor=self.actor))
        (card,) = [event["payload"] for event in found if event["kind"] == "proposal"]
        return card

    def get(self, proposal_id, **headers):
        return self.client.get(f"{PROPOSALS}/{proposal_id}", headers={"X-Actor": self.actor, **headers})

    def token(self, proposal_id):
        return self.get(proposal_id).json["csrf_token"]

    def decide(self, what, proposal_id, *, token=None, digest=None, headers=None, **fields):
        """Decide as a script does, in JSON, with the card that was just loaded where nothing else is given."""
        card = self.get(proposal_id).json
        if what in ("approve", "dismiss"):
            fields["digest"] = card["digest"] if digest is None else digest
        sent = {"X-Actor": self.actor, "X-CSRFToken": card.get("csrf_token", "") if token is None else token}
        return self.client.post(
            f"{PROPOSALS}/{proposal_id}/{what}", json=fields, headers={**sent, **(headers or {})}
        )

    def submit(self, what, proposal_id, fields, **headers):
        """Send a plain form."""
        signed = {"X-Actor": self.actor, **headers}
        return self.client.post(
            f"{PROPOSALS}/{proposal_id}/{what}", data=fields, headers=signed, content_type=FORM
        )

    def form(self, proposal_id, **fields):
        """Return the fields of the form that a page would carry."""
        card = self.get(proposal_id).json
        return {"csrf_token": card["csrf_token"], "digest": card["digest"], **fields}


def log_of(app, *, session="s1", owner="eve"):
    """Return the session's events."""
    store = app.extensions["litro_agent"].store
    return [decode(entry.line) for entry in store.read(SessionKey("desk", owner, session))]
