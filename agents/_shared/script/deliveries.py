"""Questions that would hold an order back or send it elsewhere; staff names the order, a customer has a newest one."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

from flask_litro_agent import call
from flask_litro_agent.contracts import ToolCallEvent

from . import proposals, referents, words
from .brain import Play
from .question import Question

__all__ = ["ADDRESS_ASKS", "HOLD_ASKS", "change_address", "change_my_address", "hold_my_order", "hold_order"]

_RELEASE = r"release|unhold|resume|continue|lift|go on|go ahead|let .*\bgo|off hold"
HOLD_ASKS = (
    r"(?:hold|pause|stop|block|keep back|release|unhold|resume|continue|lift the hold (?:on|of)) "
    r"(?:back )?(?:my |the |this |that )?(?:\w+ )?order",
    r"order.*\b(?:on|off) hold|let (?:my |the )?order .*go(?: on)?",
    r"(?:do not|don't) (?:ship|send) (?:my |the |this |that )?(?:\w+ )?order",
)
ADDRESS_ASKS = (
    r"(?:change|update|correct|fix|set) .*address",
    r"(?:send|deliver|ship|redirect) (?:my |the )?(?:order|parcel)(?: #?\d+)? to .*\d.*",
)


def hold_order(asked: Question) -> Play:
    """Propose to hold an order back, or to let it go."""
    return (yield from _hold(asked, "hold_order", _named(asked)))


def hold_my_order(asked: Question) -> Play:
    """Propose the same for the customer's own order."""
    number = yield from _own(asked)
    return (yield from _hold(asked, "hold_my_order", number))


def change_address(asked: Question) -> Play:
    """Propose another address for an order."""
    return (yield from _redirect(asked, "change_address", _named(asked)))


def change_my_address(asked: Question) -> Play:
    """Propose the same for the customer's own order."""
    if _address(asked) is None:
        return _WHICH_ADDRESS
    number = yield from _own(asked)
    return (yield from _redirect(asked, "change_my_address", number))


def _hold(asked: Question, tool: str, number: int | None) -> Play:
    if number is None:
        return _WHICH_ORDER
    wanted = {"order_number": number, "hold": not asked.says(_RELEASE)}
    (answer,) = yield [call(tool, **wanted)]
    return proposals.waits(tool, wanted, answer)


def _redirect(asked: Question, tool: str, number: int | None) -> Play:
    address = _address(asked)
    if address is None:
        return _WHICH_ADDRESS
    if number is None:
        return _WHICH_ORDER
    wanted = {"order_number": number, "address": address}
    (answer,) = yield [call(tool, **wanted)]
    return proposals.waits(tool, wanted, answer)


def _named(asked: Question) -> int | None:
    """Return the order that is named before an address, or that was shown last."""
    before = re.split(r"\bto:? ", asked.text, maxsplit=1)[0]
    named = words.order_number(Question(text=before)) or _by_word(asked)
    return named or referents.shown_order(asked.past)


def _by_word(asked: Question) -> int | None:
    found = re.search(r"\border (?:number |no\.? ?)?#?(\d{4,6})\b", asked.words)
    return int(found[1]) if found else None


def _own(asked: Question) -> Generator[Sequence[ToolCallEvent], Sequence[Any], int | None]:
    number = _named(asked)
    if number is None:
        (mine,) = yield [call("my_orders", limit=1)]
        number = mine["orders"][0]["number"] if mine["orders"] else None
    return number


def _address(asked: Question) -> str | None:
    found = re.search(r"\bto:? (.{8,200})$", asked.text.strip(" .?!"))
    return found[1].strip() if found and re.search(r"\d", found[1]) else None


_WHICH_ORDER = "Which order? Tell me its number."
_WHICH_ADDRESS = "What is the new address? Tell me all of it: “… to Am Markt 1, 07743 Jena, Germany”."
