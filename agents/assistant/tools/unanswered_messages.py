from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods
from example_app.assistant import messages
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    limit = parameters.limit(8)


@tool(
    description="What customers wrote and nobody has answered yet, the oldest first, with their words, their order and"
    " how long they wait; with the median of the days that answers took lately.",
    permission="customers:read",
    mode=Mode.READ,
    params=Params,
)
def unanswered_messages(params, ctx):
    held, today = database.connection(), date.today()
    found = messages.unanswered(held, today)
    return {
        "total": len(found),
        "overdue": sum(message.is_overdue for message in found),
        "promised_days": messages.PROMISED_DAYS,
        "oldest_days": found[0].days if found else None,
        "median_answer_days": messages.answer_days(held, periods.named("last_90_days", today)),
        "messages": [_line(message) for message in found[: params["limit"]]],
    }


def _line(message):
    return {
        "customer_id": message.customer_id,
        "customer": message.customer,
        "email": message.email,
        "order_number": message.order_number,
        "order_status": message.order_status,
        "subject": message.subject,
        "text": message.text,
        "received_on": message.received_on,
        "days": message.days,
        "overdue": message.is_overdue,
    }
