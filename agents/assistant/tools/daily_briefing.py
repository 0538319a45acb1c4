from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, orders, periods, stock
from example_app.assistant import briefing, messages, opinions, packing, payments
from example_app.money import euros
from flask_litro_agent import Mode, tool


@tool(
    description="The morning's overview: what yesterday brought against a usual such day, and what waits: orders to"
    " pack, late parcels, payments, messages, returns, low stock, bad reviews.",
    permission="reports:read",
    mode=Mode.READ,
    params=Schema,
)
def daily_briefing(params, ctx):
    held, today = database.connection(), date.today()
    day = briefing.yesterday(held, today)
    tasks = []
    for step, (name, look) in enumerate(_LOOKS.items(), 1):
        if ctx.stopped:
            return None
        yield {"done": step, "of": len(_LOOKS), "step": name}
        tasks.append({"task": name, **look(held, today)})
    return {
        "day": day.day.isoformat(),
        "weekday": day.day.strftime("%A"),
        "orders": day.orders,
        "turnover": euros(day.goods_cents),
        "usual_turnover": euros(day.usual_cents),
        "change_percent": day.change,
        "to_do": [task for task in tasks if task["count"]],
        "nothing_to_do": [task["task"] for task in tasks if not task["count"]],
    }


def _packing(held, today):
    found = packing.queue(held, today)
    stuck = sum(bool(each.obstacles) for each in found)
    return {
        "count": len(found),
        "detail": f"the oldest for {found[0].days} days, {stuck} stuck" if found else None,
    }


def _late(held, today):
    found = orders.late(held, today)
    return {"count": len(found), "detail": f"order {found[0].number} the longest" if found else None}


def _payments(held, today):
    found = payments.problems(held, today)
    return {"count": len(found), "detail": euros(sum(each.amount_cents for each in found)) if found else None}


def _messages(held, today):
    found = messages.unanswered(held, today)
    overdue = sum(message.is_overdue for message in found)
    return {"count": len(found), "detail": f"{overdue} longer than promised" if found else None}


def _returns(held, today):
    return {"count": briefing.returns_to_settle(held), "detail": None}


def _stock(held, today):
    found = [level for city in stock.CITIES for level in stock.low(held, city)]
    empty = sum(level.quantity == 0 for level in found)
    return {"count": len(found), "detail": f"{empty} sold out" if found else None}


def _reviews(held, today):
    found = opinions.digest(held, periods.named("last_7_days", today)).reviews
    bad = [review for review in found if review.stars <= 2]
    return {"count": len(bad), "detail": f"“{bad[0].text}” ({bad[0].product})" if bad else None}


_LOOKS = {
    "orders to send": _packing,
    "late parcels": _late,
    "payment problems": _payments,
    "unanswered messages": _messages,
    "returns to settle": _returns,
    "shelves at their reorder level": _stock,
    "bad reviews of the last 7 days": _reviews,
}
