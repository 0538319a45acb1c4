"""What the script says about changes: that they wait for approval, and later how they ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from example_app.money import euros

from .brain import Play, Skill
from .question import Question

__all__ = ["ENDINGS", "cents", "reason", "waits"]

_NEWEST = 5
_WHATS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "refund_order": lambda of: f"a refund of {euros(of['amount_cents'])} for order {of['order_number']}",
    "cancel_order": lambda of: f"to cancel order {of['order_number']}",
    "receive_return": lambda of: f"to book in the return of {of['sku']} from order {of['order_number']}",
    "goodwill_credit": lambda of: f"a credit of {euros(of['amount_cents'])}",
    "withdraw_credit": lambda of: f"to withdraw credit {of['credit']}",
    "order_from_supplier": lambda of: _purchase(of["lines"]),
    "reply_to_review": lambda of: f"the reply “{of['text']}” to review {of['review_id']}",
    "transfer_stock": lambda of: (
        f"to bring {of['quantity']} of {of['sku']} from {of['from_city']} to {of['to_city']}"
    ),
    "change_price": lambda of: f"the price of {euros(of['price_cents'])} for {of['sku']}",
    "change_prices": lambda of: _prices(of["prices"]),
    "correct_stock": lambda of: f"a stock of {of['quantity']} for {of['sku']} in {of['city']}",
    "save_collection": lambda of: f"the collection “{of['name']}”",
    "publish_collection": lambda of: f"to publish the collection “{of['name']}”",
    "unpublish_collection": lambda of: f"to hide the collection “{of['name']}”",
    "change_product_text": lambda of: f"the text “{of['text']}” for {of['sku']}",
    "hold_order": lambda of: _hold(of),
    "hold_my_order": lambda of: _hold(of),
    "change_address": lambda of: f"the address “{of['address']}” for order {of['order_number']}",
    "change_my_address": lambda of: f"the address “{of['address']}” for order {of['order_number']}",
    "add_customer_note": lambda of: f"the note “{of['text']}”",
    "draft_email": lambda of: f"the e-mail “{of['subject']}”",
}
_ENDS = {
    "executed": "was approved and is done",
    "failed": "was approved, but could not be done: nothing was changed",
    "dismissed": "was dismissed: nothing was changed",
    "void": "was withdrawn before anybody decided: nothing was changed",
    "expired": "found nobody who decided in time: nothing was changed",
    "outcome_unknown": "was approved, but nobody knows yet whether it was done: an operator has to find out",
}


def waits(tool: str, arguments: Mapping[str, Any], answer: Mapping[str, Any], about: str = "") -> str:
    """Return the answer for a call that became a proposal; ``about`` is said beside it."""
    beside = f" ({about})" if about else ""
    return (
        f"I have proposed {_what(tool, arguments)}{beside}. Nothing has changed yet: "
        f"it waits for an operator's approval, as proposal {answer['proposal_id']}. "
        "Ask me later what happened to it."
    )


def endings(asked: Question) -> Play:
    """Say what has become of this conversation's proposals."""
    lines = list(_lines(asked))
    return "\n".join(lines[-_NEWEST:]) if lines else "I have proposed nothing in this conversation."
    yield  # a play is a generator, and this one calls nothing


def cents(asked: Question) -> int | None:
    """Return the amount of money that is named."""
    found = re.search(rf"(?:€|\beur)\s*{_AMOUNT}|{_AMOUNT}\s*(?:€|eur\b|euros?\b)", asked.words)
    return round(100 * float((found[1] or found[2]).replace(",", "."))) if found else None


def reason(asked: Question) -> str:
    """Return why, in the person's words."""
    found = re.search(r"\b(?:because|since|due to|reason:?)\s+(.{3,150})", asked.text, re.IGNORECASE)
    return found[1].strip(" .!") if found else "no reason was given"


def _lines(asked: Question) -> Iterator[str]:
    seen = set()
    for outcome in asked.past:
        number = outcome.value.get("proposal_id") if isinstance(outcome.value, Mapping) else None
        if number is not None and number not in seen:
            seen.add(number)
            yield f"• {_capital(_what(outcome.tool, outcome.arguments))} {_end(asked.endings.get(number))}."
    for number, ending in asked.endings.items():
        if number not in seen:
            yield f"• {ending.get('summary', number)} {_end(ending)}."


def _end(ending: Mapping[str, Any] | None) -> str:
    if ending is None:
        return "still waits for an operator's approval; nothing has changed yet"
    note = f" (“{ending['note']}”)" if ending.get("note") else ""
    return _ENDS.get(ending["state"], "has ended") + note


def _what(tool: str, arguments: Mapping[str, Any]) -> str:
    return _WHATS[tool](arguments) if tool in _WHATS else tool.replace("_", " ")


def _prices(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"{len(rows)} new prices" if len(rows) > 1 else "one new price"


def _purchase(lines: Sequence[Mapping[str, Any]]) -> str:
    pieces = sum(line["quantity"] for line in lines)
    of = f" of {lines[0]['sku']}" if len(lines) == 1 else ""
    return f"an order of {pieces} pieces{of} to the supplier"


def _hold(arguments: Mapping[str, Any]) -> str:
    end = "" if arguments["hold"] else "the end of "
    return f"{end}{'the' if end else 'a'} hold on order {arguments['order_number']}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_AMOUNT = r"(\d+(?:[.,]\d{1,2})?)(?!\d)"
_CHANGE = r"(?:proposals?|refund|price change|change|request|hold|correction|collection|note|draft)"

ENDINGS = Skill(
    tool=None,
    asks=(
        rf"what (?:has |have )?(?:happened|became|become)(?: to| with| of)?"
        rf"(?: (?:the|my|that|your) {_CHANGE}| it| that)?$",
        r"(?:was|is|were|are|has|have|did) (?:it|that|they|this|(?:the|my|your)(?: \w+){1,3})(?: been)?"
        r"(?: yet)? (?:approved|dismissed|decided|declined|go(?:ne)? through|went through|happen|done)",
        rf"(?:what about|how about|status of|state of|news (?:on|about)) (?:the|my|that|your) {_CHANGE}",
        r"(?:any )?(?:news|decisions?)(?: yet)?$|(?:is|are) .*\b(?:still )?(?:waiting|open|pending)(?: proposals?)$",
    ),
    play=endings,
    example="",
)
