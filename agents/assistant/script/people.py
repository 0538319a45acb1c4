"""Questions about customers, and the names in a question."""

from __future__ import annotations

import re

from flask_litro_agent import call

from ..._shared.script import words
from ..._shared.script.brain import Play
from ..._shared.script.products import counted
from ..._shared.script.question import Question

__all__ = ["customer_details", "find_customers", "first_name", "person"]


def find_customers(asked: Question) -> Play:
    """List the customers that fit."""
    city = re.search(r"\b(?:from|in) ([A-ZÄÖÜ][\w-]+)", asked.text)
    name = "" if city else words.subject(asked, beside=_CUSTOMER_WORDS)
    wanted = {"city": city[1] if city else None, "name": name or None}
    (found,) = yield [call("find_customers", **{key: value for key, value in wanted.items() if value})]
    if not found["customers"]:
        return "No customer fits that."
    lines = [
        f"• {who['name']} ({who['email']}), {who['city']}, {who['country']}: "
        f"{counted(who['orders'], 'order')}, {who['spent']}"
        for who in found["customers"]
    ]
    return "\n".join([f"{counted(len(lines), 'customer')}:", *lines])


def customer_details(asked: Question) -> Play:
    """Find a customer by name and say what he bought."""
    named = person(asked, "(?:has|did|does|about|of|customer|is)")
    name = named or words.subject(asked, beside=_BUYING_WORDS)
    if not name:
        return "Which customer? Tell me the name."
    (found,) = yield [call("find_customers", name=name)]
    if not found["customers"]:
        return f"No customer is called “{name}”."
    (who,) = yield [call("customer_details", customer_id=found["customers"][0]["customer_id"])]
    lines = [
        f"• {order['placed_on']}, order {order['number']} ({order['status']}): "
        + ", ".join(f"{line['quantity']} × {line['product']}" for line in order["lines"])
        for order in who["orders"]
    ]
    head = (
        f"{who['name']} ({who['email']}, {who['city']}), customer since {who['member_since']}, "
        f"has spent {who['spent']} and has {who['credit']} of credit with us:"
    )
    return "\n".join([head, *lines])


def person(asked: Question, before: str) -> str | None:
    """Return the first and last name that stand after a word, such as Thijs de Wit."""
    found = re.search(rf"\b{before} ({_CAPITAL}(?: (?:de|van|von|der))* {_CAPITAL})", asked.text)
    return found[1].removesuffix("'s") if found else None


def first_name(asked: Question) -> str | None:
    """Return the one name in "orders of Anna" or "Anna's orders"."""
    found = re.search(rf"\b(?:of|by) ({_CAPITAL})\b(?! {_CAPITAL})|\b({_CAPITAL})'s\b", asked.text)
    return (found[1] or found[2]).removesuffix("'s") if found else None


_CUSTOMER_WORDS = r"customers?|clients?|named|called|e-?mail|address|search|account|best|who|top"
_BUYING_WORDS = r"bought|customer|purchased?|history|buys?|spent|ordered|far|so"
_CAPITAL = r"[A-ZÄÖÜ][\w'-]+"
