"""The proposals' routes: one proposal, and what an operator decides about it.

A decision is a POST with Flask-WTF's token, as JSON or as a plain form, and passes the same fetch gates as everything
else. This module alone calls ``Gate.approve``; every check that counts is the gate's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response, jsonify, request

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.operators import APPROVE
from flask_litro_agent.core.outcome import NeedsApproval, Outcome, Refused
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.errors import AgentError, BadRequest, ProposalClosed
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import forms, guards
from flask_litro_agent.web.admin.answers import STANDS, FormAnswers, Place, lead_to
from flask_litro_agent.web.card import card

__all__ = ["ProposalViews"]

_ANSWERS = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """Who decides, about what, with which fields; ``place`` is the page that the answer leads back to."""

    actor: Actor
    proposal: Proposal
    form: dict[str, str]
    is_operator: bool
    place: Place | None


class ProposalViews:
    """The views of one app's proposals."""

    def __init__(self, installed: Installation, answers: FormAnswers | None) -> None:
        """``answers`` are those of the operator's pages, None where these are closed."""
        self._installed = installed
        self._answers = answers

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
        proposal, is_operator = self._seen(proposal_id, actor), self._is_operator(actor)
        shown = self._card(proposal, is_operator=is_operator)
        if is_operator:
            shown["csrf_token"] = forms.fresh_token()
            shown["hindrance"] = self._hindrance(proposal, actor)
        return jsonify(shown)

    def approve(self, proposal_id: str) -> Response:
        """Run what the card shows, at most once."""
        entry, gate = self._enter(proposal_id, "digest"), self._installed.gate
        digest, proved = _needed(entry.form, "digest"), self._installed.identity.authenticated_at()
        return self._decided(
            entry, lambda: gate.approve(proposal_id, digest, entry.actor, authenticated_at=proved)
        )

    def dismiss(self, proposal_id: str) -> Response:
        """Close the proposal; nothing runs."""
        entry, gate = self._enter(proposal_id, "digest", "note"), self._installed.gate
        digest, note = _needed(entry.form, "digest"), entry.form.get("note")
        return self._decided(entry, lambda: gate.dismiss(proposal_id, digest, entry.actor, note))

    def answer(self, proposal_id: str) -> Response:
        """Say whether an unknown one happened."""
        entry, gate = self._enter(proposal_id, "happened", "note"), self._installed.gate
        said, note = _needed(entry.form, "happened"), entry.form.get("note")
        if said not in _ANSWERS:
            raise BadRequest("'happened' must be yes or no")
        return self._decided(
            entry, lambda: gate.answer(proposal_id, entry.actor, happened=_ANSWERS[said], note=note)
        )

    def reconcile(self, proposal_id: str) -> Response:
        """Let the tool ask the other side whether an unknown one happened."""
        entry = self._enter(proposal_id)
        return self._decided(entry, lambda: self._installed.gate.reconcile(proposal_id, entry.actor))

    def again(self, proposal_id: str) -> Response:
        """Propose the same once more, as a new proposal."""
        entry = self._enter_agent(proposal_id)
        return self._proposed(entry, self._installed.gate.repeat(proposal_id, entry.actor))

    def reverse(self, proposal_id: str) -> Response:
        """Propose what takes an executed one back, as a new proposal."""
        entry = self._enter_agent(proposal_id)
        return self._proposed(entry, self._installed.gate.reverse(proposal_id, entry.actor))

    def _enter(self, proposal_id: str, *names: str) -> _Entry:
        """Let somebody in to a proposal that he may see; everything but the decision itself is asked here."""
        guards.check_fetch(request, self._installed.settings)
        guards.check_referer(request, self._installed.settings)
        is_form = request.mimetype == forms.FORM
        form = forms.read_form(request, (*names, *STANDS) if is_form else names)
        stands: dict[str, str] = {name: form.pop(name) for name in STANDS if name in form}
        actor = self._installed.identity.current()
        return _Entry(
            actor=actor,
            proposal=self._seen(proposal_id, actor),
            form=form,
            is_operator=self._is_operator(actor),
            place=self._answers.place(stands, actor) if self._answers else None,
        )

    def _enter_agent(self, proposal_id: str) -> _Entry:
        """Let in who proposes anew; whoever is no operator must still be let in by the agent."""
        entry = self._enter(proposal_id)
        if not entry.is_operator:
            guards.enter_agent(self._installed.agents, entry.proposal.agent)
        return entry

    def _is_operator(self, actor: Actor) -> bool:
        return actor.may(APPROVE) and self._installed.gate.admits(actor, APPROVE)

    def _seen(self, proposal_id: str, actor: Actor) -> Proposal:
        return self._installed.gate.proposal(proposal_id, actor)

    def _hindrance(self, proposal: Proposal, actor: Actor) -> str | None:
        """Return why this operator's approval would be refused at once."""
        if proposal.state is not State.PROPOSED:
            return "closed"
        proved = self._installed.identity.authenticated_at()
        return self._installed.gate.hindrances([proposal], actor, authenticated_at=proved)[0]

    def _card(self, proposal: Proposal, *, is_operator: bool) -> dict[str, Any]:
        return card(proposal, is_operator=is_operator, tool=self._installed.tool_of(proposal))

    def _answer(self, entry: _Entry, proposal: Proposal, *, status: int) -> Response:
        """Answer JSON with the card, and a form with the way to a page: loading that again decides nothing."""
        if request.mimetype == forms.FORM:
            return lead_to(entry.place, proposal)
        response = jsonify(self._card(proposal, is_operator=entry.is_operator))
        response.status_code = status
        return response

    def _decided(self, entry: _Entry, decide: Callable[[], Proposal]) -> Response:
        try:
            decided = decide()
        except ProposalClosed:
            self._installed.tell(entry.proposal)  # a check may have made it void
            raise
        self._installed.tell(decided, wake=True)
        return self._answer(entry, decided, status=200)

    def _proposed(self, entry: _Entry, outcome: Outcome) -> Response:
        match outcome:
            case NeedsApproval(proposal):
                return self._answer(entry, proposal, status=201)
            case Refused(code, message, errors):
                raise AgentError(f"{code}: {message}", status=409, errors=errors)
            case _:
                raise TypeError("a write tool ran in a call")


def _needed(form: dict[str, str], name: str) -> str:
    if not form.get(name):
        raise BadRequest(f"the form has no {name}: load the proposal again")
    return form[name]
