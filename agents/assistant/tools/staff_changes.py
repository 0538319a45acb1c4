from __future__ import annotations

import textwrap
from collections import Counter
from datetime import date

from marshmallow import Schema, fields, validate

from example_app import database, periods
from example_app.assistant import decisions
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_30_days")
    by = fields.String(
        validate=validate.Length(1, 80),
        metadata={"description": "Only what somebody of this name asked for or approved"},
    )
    limit = parameters.limit(12)


@tool(
    description="What staff have changed in the shop, the newest first: prices, stock, refunds, notes and the like, who"
    " asked for each and who approved it, and how many of each kind.",
    permission="journal:read",
    mode=Mode.READ,
    params=Params,
)
def staff_changes(params, ctx):
    period = periods.named(params["period"], date.today())
    found = decisions.made(database.connection(), period, by=params.get("by"))
    counts = Counter(decision.kind for decision in found)
    return {
        "period": period.name,
        "by": params.get("by"),
        "total": len(found),
        "kinds": [{"kind": kind, "changes": count} for kind, count in counts.most_common()],
        "changes": [_line(decision) for decision in found[: params["limit"]]],
    }


def _line(decision):
    return {
        "at": decision.made_at,
        "kind": decision.kind,
        "asked_by": decision.asked_by,
        "approved_by": decision.approved_by,
        "about": {name: _text(name, value) for name, value in decision.about.items()},
    }


def _text(name, value):
    """Return money as a price tag has it, and long texts short: the journal is an overview."""
    if name.endswith("_cents") and value is not None:
        return euros(value)
    return textwrap.shorten(value, 120, placeholder="…") if isinstance(value, str) else value
