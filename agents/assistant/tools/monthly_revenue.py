from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import components, database
from example_app.assistant import months
from example_app.assistant.shares import change
from example_app.money import euros
from flask_litro_agent import Mode, tool, ui

from ..._shared import parameters


class Params(Schema):
    months = parameters.number_of("So many calendar months, the running one included", 6, 1, 24)


@tool(
    description="Revenue month by month for the books: gross, VAT, net, refunds, the change against the month before"
    " and the year before, and the VAT of all these months by country. Goods and shipping count.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def monthly_revenue(params, ctx):
    held = database.connection()
    found = months.last(held, date.today(), params["months"])
    taxed = months.vat(held, months.first_of(found)) if found else []
    data = {
        "months": [_line(month) for month in found],
        "gross": euros(sum(month.gross_cents for month in found)),
        "vat": euros(sum(month.vat_cents for month in found)),
        "net": euros(sum(month.net_cents for month in found)),
        "refunds": euros(sum(month.refund_cents for month in found)),
        "vat_by_country": [_country(each) for each in taxed],
    }
    chart = components.sales_chart("Revenue by month", {month.month: month.gross_cents for month in found})
    return ui("sales-chart", data=data, **chart)


def _line(month):
    return {
        "month": month.month,
        "orders": month.orders,
        "gross": euros(month.gross_cents),
        "vat": euros(month.vat_cents),
        "net": euros(month.net_cents),
        "refunds": euros(month.refund_cents),
        "change_to_month_before_percent": change(month.gross_cents, month.month_before_cents),
        "change_to_year_before_percent": change(month.gross_cents, month.year_before_cents),
    }


def _country(taxed):
    return {
        "country": taxed.country,
        "rate_percent": taxed.rate / 100,
        "orders": taxed.orders,
        "gross": euros(taxed.gross_cents),
        "vat": euros(taxed.vat_cents),
    }
