"""From what has happened to blinker's signals: each receiver by itself, in an app context and without a request."""

from __future__ import annotations

import contextvars
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from blinker import Signal
from flask import Flask

from flask_litro_agent.core.news import CeilingChanged, News, ProposalRecorded, ProposalSettled
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.notices.links import card_url
from flask_litro_agent.settings import Settings
from flask_litro_agent.signals import (
    ProposalFacts,
    TurnFacts,
    ceiling_changed,
    proposal_recorded,
    proposal_settled,
    turn_ended,
)
from flask_litro_agent.turns.endings import TurnEnd

__all__ = ["Signalling"]

logger = logging.getLogger(__name__)


class Signalling:
    """Sends one app's signals; ``models`` are the agents', for a turn whose upstream named none."""

    def __init__(self, app: Flask, settings: Settings, *, models: Mapping[str, str]) -> None:
        self._app = app
        self._settings = settings
        self._models = models

    def hear(self, news: News) -> None:
        """Send the signal of what was committed."""
        match news:
            case ProposalRecorded(proposal):
                self._send(proposal_recorded, lambda: {"proposal": self._facts(proposal)})
            case ProposalSettled(proposal):
                self._send(proposal_settled, lambda: {"proposal": self._facts(proposal)})
            case CeilingChanged(scope=scope, before=before, after=after, by=by):
                values = {"scope": scope, "before": before, "after": after, "by": by}
                self._send(ceiling_changed, lambda: values)

    def turn_ended(self, end: TurnEnd) -> None:
        """Send the signal of a turn's end."""
        self._send(turn_ended, lambda: {"turn": self._turn_facts(end)})

    def _send(self, signal: Signal, values: Callable[[], dict[str, Any]]) -> None:
        receivers = [] if signal.is_muted else list(signal.receivers_for(self._app))
        for receiver in receivers:
            contextvars.Context().run(self._call, receiver, values())

    def _call(self, receiver: Callable[..., Any], values: dict[str, Any]) -> None:
        try:
            with self._app.app_context():
                _refuse_coroutine(receiver(self._app, **values))
        except KeyboardInterrupt:
            raise
        except BaseException:  # also SystemExit: what it was told of has happened
            name = getattr(receiver, "__qualname__", type(receiver).__name__)
            logger.exception("litro signal: the receiver %s failed; the others are still told", name)

    def _turn_facts(self, end: TurnEnd) -> TurnFacts:
        return TurnFacts(
            agent=end.key.agent,
            owner=end.key.owner,
            session=end.key.session,
            turn_id=end.turn_id,
            actor=end.actor_id,
            model=end.model or self._models.get(end.key.agent, ""),
            reason=end.reason,
            input_tokens=end.input_tokens,
            output_tokens=end.output_tokens,
            cached_tokens=end.cached_tokens,
        )

    def _facts(self, proposal: Proposal) -> ProposalFacts:
        return ProposalFacts(
            id=proposal.id,
            agent=proposal.agent,
            owner=proposal.owner,
            session=proposal.session,
            turn_id=proposal.turn,
            tool=proposal.tool,
            mode=proposal.mode,
            permission=proposal.permission,
            proposer=proposal.proposer,
            summary=proposal.summary,
            arguments=proposal.arguments.decode(),
            four_eyes=proposal.four_eyes,
            created_at=proposal.created_at,
            expires_at=proposal.expires_at,
            state=proposal.state.value,
            outcome=proposal.outcome,
            truth=proposal.truth,
            reason=proposal.reason,
            decided_by=proposal.decided_by,
            note=proposal.note,
            settled_at=proposal.settled_at,
            error_id=proposal.error_id,
            made_from=proposal.made_from,
            relation=proposal.relation,
            url=card_url(self._settings, proposal.id),
        )


def _refuse_coroutine(answer: object) -> None:
    if inspect.iscoroutine(answer):
        answer.close()
        raise TypeError("it is an async function, which nobody awaits: connect a plain one")
