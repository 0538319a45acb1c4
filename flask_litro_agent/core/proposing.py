"""From a write tool's call to a proposal: the canonical arguments, what the card shows beside them, and the row."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core import cards, output
from flask_litro_agent.core.ledger import Dismissed, Flooded, Ledger, Recorded, Twin
from flask_litro_agent.core.outcome import CallSite, NeedsApproval, Refused
from flask_litro_agent.core.proposals import Proposal, ProposalDraft
from flask_litro_agent.core.protected import matches
from flask_litro_agent.core.verdicts import copied
from flask_litro_agent.core.visible import escape, is_seen
from flask_litro_agent.core.wiring import Wiring
from flask_litro_agent.schemas import Canonical, pointer
from flask_litro_agent.tools import Change, Tool, ToolContext, UIResult, tool_contract

__all__ = ["as_of_now", "asks_four_eyes", "propose", "summary"]

_PREVIEW_LIMIT: Final = 16 * 1024
_LABELS_LIMIT: Final = 16 * 1024
_AS_OF_LIMIT: Final = 4 * 1024
_SUMMARY_LIMIT: Final = 300


def propose(
    wiring: Wiring,
    ledger: Ledger,
    agent: str,
    tool: Tool,
    canonical: Canonical,
    *,
    actor: Actor,
    site: CallSite,
) -> NeedsApproval | Refused:
    """Record the change that the call asks for; nothing of it happens. Raise what the tool's own functions raise."""
    draft = _draft(wiring, agent, tool, canonical, actor, site)
    if site.relation == "again":
        draft = replace(draft, filled=(*draft.filled, *_filled_before(ledger, site)))
    match ledger.record(draft):
        case Recorded(proposal, is_new):
            return NeedsApproval(proposal, is_new)
        case Twin(proposal):
            return NeedsApproval(proposal, is_new=False)
        case Dismissed(proposal):
            return Refused("dismissed", _dismissal(proposal))
        case Flooded(count):
            return Refused(
                "failed",
                f"{count} proposals wait for a decision already: nothing was proposed; wait for them",
            )


def asks_four_eyes(wiring: Wiring, tool: Tool) -> bool:
    """Whether who proposes may not approve, by the tool or by the site's patterns."""
    return tool.four_eyes or any(matches(str(tool.permission), pattern) for pattern in wiring.four_eyes)


def as_of_now(
    wiring: Wiring,
    tool: Tool,
    arguments: dict[str, Any],
    context: ToolContext,
    seconds: float,
    site: CallSite,
) -> str | None:
    """Return the version, as JSON text, of what the tool would change; None for a tool that names none."""
    named = tool.as_of
    if named is None:
        return None
    value = _aside(wiring, lambda ctx: named(arguments, ctx), context, seconds, site)
    plain = output.plain(value, limit=_AS_OF_LIMIT)
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def summary(tool: str, canonical: bytes) -> str:
    """Return the call in one line of at most 300 characters, whose every character shows."""
    arguments = json.loads(canonical)
    listed = ", ".join(f"{name}: {json.dumps(arguments[name], ensure_ascii=False)}" for name in arguments)
    line = "".join(each if is_seen(each) else escape(each) for each in f"{tool}({listed})")
    return line if len(line) <= _SUMMARY_LIMIT else f"{line[: _SUMMARY_LIMIT - 1]}…"


def _draft(
    wiring: Wiring, agent: str, tool: Tool, canonical: Canonical, actor: Actor, site: CallSite
) -> ProposalDraft:
    limits = wiring.limits[agent]
    seconds = min(limits.tool_seconds, site.seconds)
    context = ToolContext(
        actor=copied(actor),
        agent=agent,
        session_id=site.session_id,
        turn_id=site.turn_id,
        call_id=site.call_id,
    )
    as_of = as_of_now(wiring, tool, copy.deepcopy(canonical.arguments), context, seconds, site)
    named = _labels(wiring, tool, canonical, context, seconds, site)
    return ProposalDraft(
        agent=agent,
        owner=actor.id if site.owner is None else site.owner,
        session=site.session_id,
        turn=site.turn_id,
        call_id=site.call_id,
        tool=tool.name,
        mode=tool.facts.mode,
        permission=str(tool.permission),
        proposer=actor.id,
        arguments=canonical.data,
        summary=summary(tool.name, canonical.data),
        preview=_preview(wiring, tool, copy.deepcopy(canonical.arguments), context, seconds, site),
        as_of=as_of,
        contract_digest=tool_contract(tool),
        four_eyes=asks_four_eyes(wiring, tool),
        ttl_ms=min(tool.ttl, wiring.max_ttl) * 1000,
        limit_ms=int(limits.tool_seconds * 1000),
        made_from=site.made_from,
        relation=site.relation,
        labels=named,
        filled=canonical.filled,
        via=site.via,
    )


def _filled_before(ledger: Ledger, site: CallSite) -> Sequence[str]:
    """Return what the schema filled in when the model asked: who proposes it again gives every value."""
    first = None if site.made_from is None else ledger.get(site.made_from)
    return () if first is None else first.filled


def _labels(
    wiring: Wiring, tool: Tool, canonical: Canonical, context: ToolContext, seconds: float, site: CallSite
) -> dict[str, str] | None:
    """Return what the tool calls the things that its arguments name, by JSON pointer."""
    named = tool.labels
    if named is None:
        return None
    arguments = copy.deepcopy(canonical.arguments)
    value = _aside(wiring, lambda ctx: named(arguments, ctx), context, seconds, site)
    if not isinstance(value, Mapping):
        raise TypeError(f"the labels of {tool.name} must be a mapping, not {type(value).__name__}")
    there = frozenset(cards.places(canonical.data))
    return {
        _place(tool, name, there): _label(tool, name, text)
        for name, text in output.plain(value, limit=_LABELS_LIMIT).items()
    }


def _place(tool: Tool, name: str, there: frozenset[str]) -> str:
    place = name if name in there else pointer("", name)
    if place not in there:
        raise ValueError(f"the labels of {tool.name} name {name!r}, and no single value stands there")
    return place


def _label(tool: Tool, name: str, text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"the label {name!r} of {tool.name} must be a text, not {type(text).__name__}")
    return text


def _preview(
    wiring: Wiring,
    tool: Tool,
    arguments: dict[str, Any],
    context: ToolContext,
    seconds: float,
    site: CallSite,
) -> Any:
    made = tool.preview
    if made is None:
        return None
    value = _aside(wiring, lambda ctx: made(arguments, ctx), context, seconds, site)
    return output.plain(_shown(tool, value), limit=_PREVIEW_LIMIT)


def _shown(tool: Tool, value: object) -> Any:
    if isinstance(value, UIResult):
        return {"component": value.component, "data": value.data, "props": value.props}
    if isinstance(value, (list, tuple)) and all(isinstance(change, Change) for change in value):
        return [{"label": change.label, "before": change.before, "after": change.after} for change in value]
    raise TypeError(
        f"the preview of {tool.name} must be a list of Change or ui(…), not {type(value).__name__}"
    )


def _aside(
    wiring: Wiring, work: Callable[[ToolContext], Any], context: ToolContext, seconds: float, site: CallSite
) -> Any:
    return wiring.aside(work, context, seconds, site.stop)


def _dismissal(proposal: Proposal) -> str:
    said = f" and wrote: {proposal.note}" if proposal.note else ""
    return f"an operator dismissed exactly this a short while ago{said}; do not ask for it again now"
