"""Questions that would change what visitors read: which collections they see, and the text about a product."""

from __future__ import annotations

import re

from flask_litro_agent import call

from ..._shared.script import proposals, referents
from ..._shared.script.brain import Play
from ..._shared.script.products import not_sold
from ..._shared.script.question import Question
from .writing import body, collection_name

__all__ = ["change_product_text", "publish_collection", "unpublish_collection"]


def publish_collection(asked: Question) -> Play:
    """Propose to show a collection that is kept."""
    return (yield from _show(asked, "publish_collection"))


def unpublish_collection(asked: Question) -> Play:
    """Propose to hide one."""
    return (yield from _show(asked, "unpublish_collection"))


def _show(asked: Question, tool: str) -> Play:
    name = collection_name(asked) or _between(asked)
    if not name:
        return "Which collection? “Publish the collection Wet days”."
    wanted = {"name": name}
    (answer,) = yield [call(tool, **wanted)]
    return proposals.waits(tool, wanted, answer)


def change_product_text(asked: Question) -> Play:
    """Propose the words after the colon as the description of a product."""
    text = body(asked)
    about = Question(text=asked.text.partition(":")[0], past=asked.past)
    name = referents.product(about, beside=_WRITING)
    if not name or not text:
        return "The text of which product, and what shall it say? “Change the text of the Trek 65: A pack for weeks.”"
    (found,) = yield [call("product_details", product=name)]
    if not found["found"]:
        return not_sold(found)
    wanted = {"sku": found["sku"], "text": f"{text[:1].upper()}{text[1:]}."}
    (answer,) = yield [call("change_product_text", **wanted)]
    return proposals.waits("change_product_text", wanted, answer, f"{found['name']}, {found['colour']}")


def _between(asked: Question) -> str | None:
    """Return the name in "the Wet days collection" or "the collection Wet days"."""
    said = asked.text.strip(" .!?")
    found = re.search(r"\b(?:the|our|that|this|my) ([\w &'-]{2,60}?) collection\b", said) or re.search(
        r"\bcollection (?!of\b|with\b)([\w &'-]{2,60})$", said
    )
    name = found[1].strip() if found else ""
    return re.sub(r" (?:again|please|now|off.*|from .*|on the .*)$", "", name) or None


_WRITING = r"change|rewrite|replace|update|set|edit|write|new|text|description|copy|to|should|be"
