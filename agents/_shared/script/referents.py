"""What "it", "the second one" and "the blue one" mean: things that earlier answers have shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import words
from .question import Outcome, Question

__all__ = ["product", "products", "shown_order"]

_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_POINTING = (
    r"it|its|that|this|one|ones|them|these|those|both|they|first|second|third|fourth|fifth|last|two|three"
)


def product(asked: Question, *, beside: str = "") -> str | None:
    """Return the product that the question names, or that it points at; None when there is none."""
    named = words.subject(asked, beside=f"{_POINTING}|{beside}" if beside else _POINTING)
    if named and named != words.colour(asked):
        return named
    return _pointed_at(asked, shown_products(asked.past))


def products(asked: Question, *, beside: str = "") -> list[str]:
    """Return the products that a question sets against each other, two or more, or nothing."""
    parts = [
        words.subject(Question(text=part), beside=beside)
        for part in re.split(r"\b(?:and|with|or|vs|versus|to)\b|,", asked.words)
    ]
    named = [part for part in parts if part and not re.fullmatch(rf"(?:(?:{_POINTING})\s*)+", part)]
    if len(named) >= 2:
        return named[:4]
    if named:
        return [*named, *shown_products(asked.past)[:1]]
    return shown_products(asked.past, least=2)[: 3 if asked.says("three") else 2]


def shown_products(past: Sequence[Outcome], least: int = 1) -> list[str]:
    """Return the products of the newest answer that showed so many, each as name and colour."""
    for outcome in reversed(past):
        found = _in(outcome.value)
        if len(found) >= least:
            return found
    return []


def shown_order(past: Sequence[Outcome]) -> int | None:
    """Return the number of the order that the newest answer about orders showed first."""
    for outcome in reversed(past):
        value = outcome.value if isinstance(outcome.value, Mapping) else {}
        for order in [value, *value.get("orders", [])]:
            if isinstance(order.get("number"), int):
                return int(order["number"])
    return None


def _pointed_at(asked: Question, shown: Sequence[str]) -> str | None:
    if not shown:
        return None
    tint = words.colour(asked)
    if tint:
        fitting = [text for text in shown if text.endswith(tint)]
        return fitting[0] if fitting else f"{shown[0].partition(',')[0]} {tint}"
    for word, place in _PLACES.items():
        if asked.says(word) and place < len(shown):
            return shown[place]
    return shown[0]


def _in(value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        return []
    rows = [
        row
        for key in ("products", "items", "levels")
        for row in value.get(key, ())
        if isinstance(row, Mapping)
    ]
    labels = [_label(row) for row in (rows or [value])]
    return [label for label in labels if label]


def _label(row: Mapping[str, Any]) -> str | None:
    if isinstance(row.get("product"), str):
        return str(row["product"])
    if "sku" in row and "name" in row:
        return f"{row['name']}, {row['colour']}"
    return None
