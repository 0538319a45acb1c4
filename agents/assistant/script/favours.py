"""Questions that would do a customer a favour: credit as goodwill, taken back as well, and a reply to a review."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from flask_litro_agent import call
from flask_litro_agent.contracts import ToolCallEvent

from ..._shared.script import proposals, referents
from ..._shared.script.brain import Play
from ..._shared.script.question import Question
from .people import person
from .writing import body

__all__ = ["goodwill_credit", "reply_to_review", "withdraw_credit"]

_BEFORE_NAMES = "(?:[Gg]ive|[Gg]rant|[Cc]redit|[Oo]ffer|[Ff]rom|to|for|of|customer)"
_AUTHOR = (
    r"\b(?:of|by|from|to) ([A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ])?)\b\.?|\b([A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ]\.?)?)'s review"
)
_REPLYING = r"reply|replies|answer|respond|publicly|review|saying|write"


def goodwill_credit(asked: Question) -> Play:
    """Propose credit for a customer."""
    name, amount = person(asked, _BEFORE_NAMES), proposals.cents(asked)
    if not name or not amount:
        return (
            "Credit for whom, and how much? “Give Anna Berg 15 euros of credit because the parcel was late”."
        )
    who = yield from _customer(name)
    if who is None:
        return f"No customer is called “{name}”."
    wanted = {
        "customer_id": who["customer_id"],
        "amount_cents": amount,
        "reason": proposals.reason(asked),
    }
    (answer,) = yield [call("goodwill_credit", **wanted)]
    return proposals.waits("goodwill_credit", wanted, answer, f"for {who['name']}")


def withdraw_credit(asked: Question) -> Play:
    """Propose to take a credit back: that of this number, or the newest of a customer."""
    named = re.search(r"\bcredit (?:number |no |nr )?#?(\d{1,7})\b", asked.words)
    name = person(asked, _BEFORE_NAMES)
    number = int(named[1]) if named else None
    if number is None and name:
        who = yield from _customer(name)
        if who is None:
            return f"No customer is called “{name}”."
        (details,) = yield [call("customer_details", customer_id=who["customer_id"])]
        number = next((credit["credit"] for credit in details["credits"]), None)
        if number is None:
            return f"{who['name']} has no credit with us."
    if number is None:
        return "Which credit? Tell me its number, or whose it is."
    wanted = {"credit": number, "reason": proposals.reason(asked)}
    (answer,) = yield [call("withdraw_credit", **wanted)]
    return proposals.waits("withdraw_credit", wanted, answer)


def reply_to_review(asked: Question) -> Play:
    """Propose a reply to the newest review of an author, about a product when one is named."""
    text, before = body(asked), asked.text.partition(":")[0]
    found = re.search(_AUTHOR, before)
    author = (found[1] or found[2]).rstrip(".") if found else None
    if not text or not author:
        return "A reply to whose review, and what shall it say? “Reply to the review by Jonas V.: thank you”."
    (digest,) = yield [call("reviews_digest", period="last_12_months", most_stars=5, author=author, limit=50)]
    about = Question(text=before.replace(found[0], " ") if found else before)
    wanted_product = referents.product(about, beside=_REPLYING)
    review = _review(digest["quotes"], wanted_product or "")
    if review is None:
        return f"I found no review by {author} in the last 12 months."
    wanted = {"review_id": review["review_id"], "text": f"{text[:1].upper()}{text[1:]}."}
    (answer,) = yield [call("reply_to_review", **wanted)]
    said = f"{review['author']} about the {review['product']}: “{review['text']}”"
    return proposals.waits("reply_to_review", wanted, answer, said)


def _customer(
    name: str,
) -> Generator[Sequence[ToolCallEvent], Sequence[Any], Mapping[str, Any] | None]:
    (found,) = yield [call("find_customers", name=name)]
    return next(iter(found["customers"]), None)


def _review(quotes: Sequence[Mapping[str, Any]], product: str) -> Mapping[str, Any] | None:
    """Return the newest review, about the product when one is named."""
    named = set(product.split())
    exact = [quote for quote in quotes if named & set(quote["product"].casefold().split(",")[0].split())]
    fitting = exact if named else quotes
    return max(fitting, key=lambda quote: quote["written_on"], default=None)
