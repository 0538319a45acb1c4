"""Questions that would write something: a note, an e-mail's draft, a collection."""

from __future__ import annotations

import re

from flask_litro_agent import call

from ..._shared.script import proposals, words
from ..._shared.script.brain import Play
from ..._shared.script.question import Question
from .people import person

__all__ = ["add_customer_note", "body", "collection_name", "draft_email", "save_collection"]

_MOST = 6


def add_customer_note(asked: Question) -> Play:
    """Propose a note about a customer."""
    name, text = person(asked, "(?:on|about|for|to|of|customer)"), body(asked)
    if not name or not text:
        return "A note about whom, and what shall it say? “Add a note about Anna Berg: prefers e-mail”."
    (found,) = yield [call("find_customers", name=name)]
    if not found["customers"]:
        return f"No customer is called “{name}”."
    who = found["customers"][0]
    wanted = {"customer_id": who["customer_id"], "text": text}
    (answer,) = yield [call("add_customer_note", **wanted)]
    return proposals.waits("add_customer_note", wanted, answer, f"about {who['name']}")


def draft_email(asked: Question) -> Play:
    """Propose an e-mail's draft."""
    name, text = person(asked, "(?:to|for|customer)"), body(asked)
    if not name or not text:
        return "To whom, and what shall it say? “Draft an e-mail to Anna Berg: your parcel is late”."
    (found,) = yield [call("find_customers", name=name)]
    if not found["customers"]:
        return f"No customer is called “{name}”."
    who = found["customers"][0]
    wanted = {
        "customer_id": who["customer_id"],
        "subject": _subject(asked) or "Your order at Birch & Cairn",
        "text": f"Dear {who['name']},\n\n{text[:1].upper()}{text[1:]}.",
    }
    (answer,) = yield [call("draft_email", **wanted)]
    return proposals.waits("draft_email", wanted, answer, f"to {who['email']}; nothing is sent by it")


def save_collection(asked: Question) -> Play:
    """Propose a collection of what fits the words."""
    name = collection_name(asked)
    if not name:
        return "What shall the collection be called? “Make a collection called Wet days with waterproof jackets”."
    rest = Question(text=asked.text.replace(name, " "))
    wish = {
        "category": words.category(rest),
        "colour": words.colour(rest),
        "max_price": words.max_price(rest),
        "waterproof": True if rest.says("waterproof|rain ?proof") else None,
    }
    given = {key: value for key, value in wish.items() if value is not None}
    if not given:
        return "Which products shall be in it? Name a category, a colour or a price."
    (found,) = yield [call("find_products", **given, limit=_MOST)]
    if not found["products"]:
        return "Nothing on our shelves fits that."
    wanted = {
        "name": name,
        "skus": [product["sku"] for product in found["products"]],
        "published": asked.says("publish|published|online|live"),
    }
    (answer,) = yield [call("save_collection", **wanted)]
    about = ", ".join(f"{product['name']}, {product['colour']}" for product in found["products"])
    return proposals.waits("save_collection", wanted, answer, about)


def body(asked: Question) -> str | None:
    """Return what stands after a colon, or after "that" or "saying"."""
    found = re.search(r":\s*(.{2,900})$|\b(?:that|saying)\s+(.{2,900})$", asked.text.strip(), re.DOTALL)
    return (found[1] or found[2]).strip(' ."“”') if found else None


def _subject(asked: Question) -> str | None:
    found = re.search(r"\babout (?:the |his |her |their )?([^:]{3,100}):", asked.text)
    return found[1].strip().capitalize() if found else None


def collection_name(asked: Question) -> str | None:
    """Return the name in quotation marks, or after "called"."""
    found = re.search(r"[“\"]([^”\"]{2,60})[”\"]", asked.text) or re.search(
        r"\b(?:called|named) ([\w &'-]{2,60}?)(?= (?:with|of|from|out)\b|[.,:;?!]|$)", asked.text
    )
    return found[1].strip() if found else None
