from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import catalogue, components, database, periods, reports
from example_app.money import euros
from flask_litro_agent import Mode, tool, ui

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_30_days")
    category = parameters.category()


@tool(
    description="Orders, pieces and turnover of a period, in all and by category. Cancelled orders do not count.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def sales_report(params, ctx):
    held = database.connection()
    period = periods.named(params["period"], date.today())
    wanted = [params["category"]] if "category" in params else catalogue.CATEGORIES
    rows = []
    for step, category in enumerate(wanted, 1):
        if ctx.stopped:
            return None
        yield {"done": step, "of": len(wanted), "step": category}
        rows.append((category, reports.sales_of(held, period, category)))
    whole = rows[0][1] if "category" in params else reports.sales(held, period)
    data = {
        "period": period.name,
        "since": period.since.isoformat(),
        "until": period.until.isoformat(),
        "orders": whole.orders,
        "pieces": whole.pieces,
        "turnover": euros(whole.goods_cents),
        "turnover_cents": whole.goods_cents,
        "categories": _by_turnover(rows),
    }
    turnover = {name: sales.goods_cents for name, sales in rows if sales.pieces}
    return ui("sales-chart", data=data, **components.sales_chart("Turnover by category", turnover))


def _by_turnover(rows):
    sold = sorted(rows, key=lambda row: -row[1].goods_cents)
    return [
        {"name": name, "pieces": sales.pieces, "turnover": euros(sales.goods_cents)}
        for name, sales in sold
        if sales.pieces
    ]
