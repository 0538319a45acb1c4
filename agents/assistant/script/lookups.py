"""Questions that one call answers: ``lookups.toml`` says how they are asked, ``answers/`` what is said then."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from flask_litro_agent import call

from ..._shared.script import referents, words
from ..._shared.script.brain import Play, Skill
from ..._shared.script.products import counted, not_sold
from ..._shared.script.question import Question
from .people import first_name, person

__all__ = ["LOOKUPS"]

_HERE = Path(__file__).parent
_ANSWERS = Environment(
    loader=FileSystemLoader(_HERE / "answers"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # an answer is plain text, and its reader shows it as text
)
_ANSWERS.filters["counted"] = counted


def _lookups() -> Iterator[Skill]:
    table = tomllib.loads((_HERE / "lookups.toml").read_text("utf-8"))
    for tool, spec in table.items():
        yield Skill(
            tool=tool,
            asks=spec["asks"],
            play=_player(tool, spec),
            example=spec["example"],
            opening=spec["opening"],
        )


def _player(tool: str, spec: Mapping[str, Any]) -> Callable[[Question], Play]:
    readers = {name: _READERS[reader] for name, reader in spec.get("reads", {}).items()}
    beside, missing = spec.get("beside", ""), spec.get("missing", {})

    def play(asked: Question) -> Play:
        read = {name: reader(asked, beside) for name, reader in readers.items()}
        wanted = {**asked.before, **{name: value for name, value in read.items() if value is not None}}
        unsaid = next((text for name, text in missing.items() if name not in wanted), None)
        if unsaid:
            return unsaid
        (found,) = yield [call(tool, **wanted)]
        if "did_you_mean" in found:
            return not_sold(found)
        return _ANSWERS.get_template(f"{tool}.txt").render(found).strip()

    return play


def _product(asked: Question, beside: str) -> str | None:
    return referents.product(asked, beside=beside)


def _named_product(asked: Question, beside: str) -> str | None:
    """Return the product that is named, and none that was only shown before."""
    return words.subject(asked, beside=beside) or None


def _who(asked: Question, beside: str) -> str | None:
    return person(asked, "(?:by|has|did|of|from)") or first_name(asked) or _one_name(asked)


def _one_name(asked: Question) -> str | None:
    found = re.search(r"\b(?:by|has|did) ([A-ZÄÖÜ][\w-]+)", asked.text)
    return found[1] if found else None


def _count_of(noun: str) -> Callable[[Question, str], int | None]:
    """Return a reader of "4 weeks" or "four weeks"."""

    def read(asked: Question, beside: str) -> int | None:
        found = re.search(rf"\b(\d{{1,3}}|{'|'.join(_NUMBERS)}) (?:more )?{noun}\b", asked.words)
        return (_NUMBERS.get(found[1]) or int(found[1])) if found else None

    return read


def _most(asked: Question, beside: str) -> int | None:
    found = re.search(r"\b(?:top|first|worst|best|biggest|oldest) (\d{1,2})\b", asked.words)
    return int(found[1]) if found else None


def _margin_order(asked: Question, beside: str) -> str | None:
    return _by_words(
        asked, {"earned": "most money|most profit|earn most|profit", "highest": "highest|best|high"}
    )


def _payment_kind(asked: Question, beside: str) -> str | None:
    kinds = {
        "disputed": "disputed?|chargebacks?",
        "overdue invoice": "overdue|invoices?",
        "paid too little": "too little|underpaid",
        "not given back": "not (?:been )?given back|cancelled",
        "unpaid": "unpaid|failed",
    }
    return _by_words(asked, kinds)


def _supplier(asked: Question, beside: str) -> str | None:
    found = re.search(r"\b(?:from|at|by) ([A-ZÄÖÜ][\w-]+)", asked.text)
    return found[1] if found and words.city(Question(text=found[1])) is None else None


def _by_words(asked: Question, patterns: Mapping[str, str]) -> str | None:
    return next((name for name, pattern in patterns.items() if asked.says(pattern)), None)


_NUMBERS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
#: How an argument is read out of a question, by the name that lookups.toml gives it.
_READERS: Mapping[str, Callable[[Question, str], Any]] = {
    "category": lambda asked, beside: words.category(asked),
    "city": lambda asked, beside: words.city(asked),
    "country": lambda asked, beside: words.country(asked),
    "days": _count_of("days?"),
    "margin order": _margin_order,
    "months": _count_of("months?"),
    "most": _most,
    "named product": _named_product,
    "payment kind": _payment_kind,
    "period": lambda asked, beside: words.period(asked),
    "product": _product,
    "supplier": _supplier,
    "weeks": _count_of("weeks?"),
    "who": _who,
}
LOOKUPS = tuple(_lookups())
