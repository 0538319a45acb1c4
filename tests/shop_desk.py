"""The people who work in the demo shop, and the way from a proposal to a decision; shop_fixtures has the shop."""

from __future__ import annotations

import re
from typing import Any

from flask import Flask

from example_app import seed
from example_app.identity import PERMISSIONS
from flask_litro_agent import Actor
from flask_litro_agent.core.outcome import NeedsApproval

ANNA = Actor("account:1", "Anna Berg", PERMISSIONS["customer"], {"role": "customer", "customer_id": 1})
SAM = Actor("account:2", "Sam Ritter", PERMISSIONS["support"], {"role": "support", "customer_id": None})
OLGA = Actor("account:3", "Olga Stein", PERMISSIONS["operator"], {"role": "operator", "customer_id": None})
TREK = "PCK-TRK65-RED"


def propose(app, tool, *, actor=OLGA, agent="assistant", **arguments):
    return app.extensions["litro_agent"].gate.call(agent, tool, arguments, actor=actor, origin="test")


def proposed(app, tool, **arguments):
    outcome = propose(app, tool, **arguments)
    assert isinstance(outcome, NeedsApproval), outcome
    return outcome.proposal


class Person:
    """Somebody who is signed in with a browser."""

    def __init__(self, app: Flask, username: str) -> None:
        self.client = app.test_client()
        token = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', self.client.get("/sign-in").text)
        form = {"username": username, "password": seed.PASSWORD, "csrf_token": token[1]}
        assert self.client.post("/sign-in", data=form).status_code == 302

    def card(self, proposal_id: str):
        return self.client.get(f"/__litro/proposals/{proposal_id}")

    def decide(self, what: str, proposal_id: str, **fields: Any):
        card = self.card(proposal_id).json
        digest = {"digest": card["digest"]} if what in ("approve", "dismiss") else {}
        return self.client.post(
            f"/__litro/proposals/{proposal_id}/{what}",
            json={**digest, **fields},
            headers={"X-CSRFToken": card.get("csrf_token", "")},
        )


def approve(person, proposal):
    answer = person.decide("approve", proposal.id)
    assert answer.status_code == 200, answer.json
    assert (answer.json["state"], answer.json["outcome"]) == ("executed", "ok")
    return answer.json["result"]


def undo(person, proposal):
    """Propose the reverse of what was done, and approve that; return its result."""
    back = person.decide("reverse", proposal.id)
    assert back.status_code == 201, back.json
    answer = person.decide("approve", back.json["id"])
    assert answer.status_code == 200, answer.json
    return answer.json["result"]
