"""The proposals' routes: one proposal, and what an operator decides about it.

A decision is a POST with Flask-WTF's token, as JSON or as a plain form, and passes the same fetch gates as everything
else. This module alone calls ``Gate.approve``; every check that counts is the gate's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flask import Response, jsonify, redirect, request, url_for

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.operators import APPROVE
from flask_litro_agent.core.outcome import NeedsApproval, Outcome, Refused
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.errors import AgentError, BadRequest, ProposalClosed
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import forms, guards
from flask_litro_agent.web.card import card

__all__ = ["ProposalViews"]

_ANSWERS = {"yes": True, "no": False}


class ProposalViews:
    """The views of one app's proposals."""

    def __init__(self, installed: Installation) -> None:
        self._installed = installed

    def routes(self) -> Iterator[tuple[str, str, Callable[..., Any], Sequence[str]]]:
        """Yield (rule, endpoint, view, methods)."""
        rule = "/proposals/<proposal_id>"
        yield rule, "proposal", self.get, ["GET"]
        yield f"{rule}/approve", "approve", self.approve, ["POST"]
        yield f"{rule}/dismiss", "dismiss", self.dismiss, ["POST"]
        yield f"{rule}/answer", "answer", self.answer, ["POST"]
        yield f"{rule}/reconcile", "reconcile", self.reconcile, ["POST"]
        yield f"{rule}/again", "again", self.again, ["POST"]
        yield f"{rule}/reverse", "reverse", self.reverse, ["POST"]

    def get(self, proposal_id: str) -> Response:
        """Return the proposal's card; for an operator, with a token for the forms."""
        guards.check_fetch(request, self._installed.settings)
        actor = self._installed.identity.current()
        shown = self._card(self._seen(proposal_id, actor), actor)
        if actor.may(APPROVE):
            shown["csrf_token"] = forms.fresh_token()
        return jsonify(shown)

    def approve(self, proposal_id: str) -> Response:
        """Run what the card shows, at most once."""
        operator, proposal, form = self._enter(proposal_id, "digest")
        digest = _needed(form, "digest")
        return self._decided(
            proposal, operator, lambda: self._installed.gate.approve(proposal_id, digest, operator)
        )

    def dismiss(self, proposal_id: str) -> Response:
        """Close the proposal; nothing runs."""
        operator, proposal, form = self._enter(proposal_id, "digest", "note")
        digest, note = _needed(form, "digest"), form.get("note")
        return self._decided(
            proposal, operator, lambda: self._installed.gate.dismiss(proposal_id, digest, operator, note)
        )

    def answer(self, proposal_id: str) -> Response:
        """Say whether an unknown one happened."""
        operator, proposal, form = self._enter(proposal_id, "happened", "note")
        said, note = _needed(form, "happened"), form.get("note")
        if said not in _ANSWERS:
            raise BadRequest("'happened' must be yes or no")
        gate, happened = self._installed.gate, _ANSWERS[said]
        return self._decided(
            proposal,
            operator,
            lambda: gate.answer(proposal_id, operator, happened=happened, note=note),
        )

    def reconcile(self, proposal_id: str) -> Response:
        """Let the tool ask the other side whether an unknown one happened."""
        operator, proposal, _ = self._enter(proposal_id)
        return self._decided(
            proposal, operator, lambda: self._installed.gate.reconcile(proposal_id, operator)
        )

    def again(self, proposal_id: str) -> Response:
        """Propose the same once more, as a new proposal."""
        actor = self._enter_agent(proposal_id)
        return self._proposed(self._installed.gate.repeat(proposal_id, actor), actor)

    def reverse(self, proposal_id: str) -> Response:
        """Propose what takes an executed one back, as a new proposal."""
        actor = self._enter_agent(proposal_id)
        return self._proposed(self._installed.gate.reverse(proposal_id, actor), actor)

    def _enter(self, proposal_id: str, *names: str) -> tuple[Actor, Proposal, dict[str, str]]:
        """Return who decides, about what, and the form's fields; the proposal is one that he may see."""
        guards.check_fetch(request, self._installed.settings)
        guards.check_referer(request, self._installed.settings)
        form = forms.read_form(request, names)
        actor = self._installed.identity.current()
        return actor, self._seen(proposal_id, actor), form

    def _enter_agent(self, proposal_id: str) -> Actor:
        """Return who proposes anew; whoever is no operator must still be let in by the agent."""
        actor, proposal, _ = self._enter(proposal_id)
        if not actor.may(APPROVE):
            guards.enter_agent(self._installed.agents, proposal.agent)
        return actor

    def _seen(self, proposal_id: str, actor: Actor) -> Proposal:
        return self._installed.gate.proposal(proposal_id, actor)

    def _decided(self, proposal: Proposal, operator: Actor, decide: Callable[[], Proposal]) -> Response:
        try:
            decided = decide()
        except ProposalClosed:
            self._installed.tell(proposal)  # a check may have made it void
            raise
        self._installed.tell(decided, wake=True)
        return self._answer(decided, operator, status=200)

    def _proposed(self, outcome: Outcome, operator: Actor) -> Response:
        match outcome:
            case NeedsApproval(proposal):
                return self._answer(proposal, operator, status=201)
            case Refused(code, message, errors):
                raise AgentError(f"{code}: {message}", status=409, errors=errors)
            case _:
                raise TypeError("a write tool ran in a call")

    def _answer(self, proposal: Proposal, operator: Actor, *, status: int) -> Response:
        """Answer JSON with the card, and a form with the way to it: loading that page again decides nothing."""
        if request.mimetype == forms.FORM:
            place: Any = redirect(url_for("litro.proposal", proposal_id=proposal.id), code=303)
            return Response(headers=list(place.headers), status=303)
        response = jsonify(self._card(proposal, operator))
        response.status_code = status
        return response

    def _card(self, proposal: Proposal, actor: Actor) -> dict[str, Any]:
        tool = self._installed.tool_of(proposal)
        return card(proposal, is_operator=actor.may(APPROVE), tool=tool)


def _needed(form: dict[str, str], name: str) -> str:
    if not form.get(name):
        raise BadRequest(f"the form has no {name}: load the proposal again")
    return form[name]
