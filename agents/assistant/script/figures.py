"""Questions about figures: sales, best sellers and returns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flask_litro_agent import call

from ..._shared.script import words
from ..._shared.script.brain import Play
from ..._shared.script.products import counted
from ..._shared.script.question import Question

__all__ = ["best_sellers", "compare_sales", "returns_overview", "sales_report"]


def sales_report(asked: Question) -> Play:
    """Say what was sold in a period."""
    wanted = {"period": words.period(asked), "category": words.category(asked)}
    named = {name: value for name, value in wanted.items() if value}
    (report,) = yield [call("sales_report", **{**asked.before, **named})]
    lines = [
        f"Sales, {report['period']} ({report['since']} to {report['until']}): {report['turnover']} "
        f"with {counted(report['orders'], 'order')} and {counted(report['pieces'], 'piece')}."
    ]
    return "\n".join(lines + [_sold(row) for row in report["categories"]])


def _sold(row: Mapping[str, Any]) -> str:
    return f"• {row['name'].replace('-', ' ')}: {row['turnover']}, {counted(row['pieces'], 'piece')}"


def compare_sales(asked: Question) -> Play:
    """Set two periods side by side."""
    first, second = _two_periods(asked)
    one, other = yield [call("sales_report", period=first), call("sales_report", period=second)]
    before, now = other["turnover_cents"], one["turnover_cents"]
    change = f"{100 * (now - before) / before:+.0f} %" if before else "no figure to compare with"
    return "\n".join(
        [
            f"• {_total(one)}",
            f"• {_total(other)}",
            f"{one['period'].capitalize()} against {other['period']}: {change}.",
        ]
    )


def _two_periods(asked: Question) -> tuple[str, str]:
    parts = re.split(r"\b(?:with|to|and|vs|versus|against)\b", asked.words)
    named = [period for part in parts if (period := words.period(Question(text=part)))]
    match named:
        case [first, second, *_]:
            return first, second
        case ["last_month"] | []:
            return "this_month", "last_month"
        case ["this_week"]:
            return "this_week", "last_week"
        case _:
            return named[0], "last_month"


def _total(report: Mapping[str, Any]) -> str:
    return f"{report['period']}: {report['turnover']}, {counted(report['orders'], 'order')}"


def best_sellers(asked: Question) -> Play:
    """Say what was sold most."""
    top = re.search(r"\btop (\d{1,2})\b|\b(\d{1,2}) best", asked.words)
    wanted = {
        "period": words.period(asked),
        "category": words.category(asked),
        "limit": int(top[1] or top[2]) if top else None,
    }
    named = {name: value for name, value in wanted.items() if value}
    (found,) = yield [call("best_sellers", **{**asked.before, **named})]
    if not found["products"]:
        return f"Nothing was sold in that period ({found['period']})."
    lines = [
        f"{place}. {row['product']}: {counted(row['pieces'], 'piece')}, {row['turnover']}"
        for place, row in enumerate(found["products"], 1)
    ]
    return "\n".join([f"Best sellers, {found['period']}:", *lines])


def returns_overview(asked: Question) -> Play:
    """Say what came back, and why."""
    period = words.period(asked)
    (found,) = yield [call("returns_overview", **{**asked.before, **({"period": period} if period else {})})]
    head = (
        f"Returns, {found['period']}: {counted(found['cases'], 'case')}, {found['rate_percent']} % of the pieces sold, "
        f"{found['refunds']} refunded."
    )
    parts = {"States": found["states"], "Reasons": found["reasons"], "Products": found["products"]}
    lines = [
        f"• {name}: " + ", ".join(f"{what} ({n})" for what, n in rows.items())
        for name, rows in parts.items()
        if rows
    ]
    return "\n".join([head, *lines])


def _counts(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in rows.items())
