"""What the chat pages offer to ask: to each person only questions that this account may ask."""

from __future__ import annotations

from flask import current_app

from flask_litro_agent import Actor

__all__ = ["ASSISTANT", "for_actor"]

#: The assistant's questions, and the tool that answers each.
ASSISTANT = {
    "Give me the morning briefing": "daily_briefing",
    "How were sales last month?": "sales_report",
    "What should we order from the suppliers?": "reorder_plan",
    "Which parcels are late?": "late_shipments",
    "What is in order 1111, and where is it?": "order_details",
    "What has Anna Berg bought?": "customer_details",
    "What has to be packed?": "packing_queue",
    "Which messages are unanswered?": "unanswered_messages",
    "Are there payment problems?": "payment_problems",
}
_MOST = 6


def for_actor(agent: str, actor: Actor | None) -> tuple[str, ...]:
    """Return the first few of an agent's suggestions whose tool the actor may call now; all that need none."""
    installed = current_app.extensions["litro_agent"]
    offered = installed.agents[agent].agent.suggestions
    gate = installed.gate
    return tuple(
        text
        for text in offered
        if text not in ASSISTANT or (actor is not None and gate.allows(agent, ASSISTANT[text], actor=actor))
    )[:_MOST]
