"""Questions about what lies on the shelves, and what does not."""

from __future__ import annotations

from flask_litro_agent import call

from ..._shared.script import referents, words
from ..._shared.script.brain import Play
from ..._shared.script.products import counted, not_sold
from ..._shared.script.question import Question

__all__ = ["low_stock", "stock_levels"]


def low_stock(asked: Question) -> Play:
    """Say what should be ordered."""
    city = words.city(asked)
    (found,) = yield [call("low_stock", **({"city": city} if city else {}))]
    if not found["levels"]:
        return f"Nothing is at its reorder level{f' in {city}' if city else ''}."
    lines = [
        f"• {level['city']}: {level['product']} – {level['quantity']} left "
        f"(reorder at {level['reorder_level']}), order {level['order']}"
        for level in found["levels"]
    ]
    more = found["total"] - len(found["levels"])
    rest = [f"… and {more} more."] if more > 0 else []
    return "\n".join(
        [f"{counted(found['total'], 'entry', 'entries')} at or below the reorder level:", *lines, *rest]
    )


def stock_levels(asked: Question) -> Play:
    """Say where a product lies."""
    name = referents.product(asked, beside=r"each|per|levels?|lying|do we have|in stock|inventory")
    if not name:
        return "The stock of which product?"
    if words.is_a_kind(name):
        return (yield from _levels_of_a_kind(asked))
    (found,) = yield [call("stock_levels", product=name)]
    if not found["found"]:
        return not_sold(found)
    lines = [
        f"• {place['city']} ({place['kind']}): {place['quantity']}"
        + (", at its reorder level" if place["quantity"] <= place["reorder_level"] else "")
        for place in found["places"]
    ]
    return "\n".join([f"{found['product']}, {found['total']} in all:", *lines])


def _levels_of_a_kind(asked: Question) -> Play:
    """Count every product of a category, in one place or in all."""
    (found,) = yield [call("find_products", category=words.category(asked), limit=20)]
    counts = yield [
        call("stock_levels", product=f"{product['name']}, {product['colour']}")
        for product in found["products"]
    ]
    city = words.city(asked)
    lying = {
        levels["product"]: sum(
            place["quantity"] for place in levels["places"] if city in (None, place["city"])
        )
        for levels in counts
    }
    lines = [f"• {product}: {quantity}" for product, quantity in lying.items()]
    return "\n".join([f"{sum(lying.values())} pieces {f'in {city}' if city else 'in all'}:", *lines])
