"""What the concierge's script understands; the modules beside this one say how it answers."""

from __future__ import annotations

from ..._shared.script.brain import Brain, Skill
from ..._shared.script.deliveries import ADDRESS_ASKS, HOLD_ASKS, change_my_address, hold_my_order
from ..._shared.script.products import DETAILS, FIND, IN_STOCK, NAMED
from ..._shared.script.proposals import ENDINGS
from .goods import compare_products, list_categories, plan_kit, product_reviews, stock_for
from .parcels import my_orders, track_order
from .promises import opening_hours, return_policy, shipping_cost

__all__ = ["SUGGESTIONS", "script"]

SUGGESTIONS = (
    "Show me tents for two under 350 euros",
    "Compare the Trek 50 and the Trek 65",
    "Is the Squall rain jacket in stock in Berlin?",
    "What do two people need for autumn under 1200 euros?",
    "What does shipping to Austria cost?",
    "Where is my parcel?",
)


def _refused(tool: str) -> str:
    return (
        "Orders are personal: please sign in with your customer account (top right of the page) and ask me again. "
        "Our conversation comes along."
    )


_SKILLS = (
    ENDINGS,
    Skill(
        tool="change_my_address",
        needs=("my_orders",),
        asks=ADDRESS_ASKS,
        play=change_my_address,
        example="Change the address of my order to Am Markt 1, 07743 Jena, Germany",
        opening="I'll ask for that.",
        changes=True,
    ),
    Skill(
        tool="hold_my_order",
        needs=("my_orders",),
        asks=HOLD_ASKS,
        play=hold_my_order,
        example="Hold my order",
        opening="I'll ask for that.",
        changes=True,
    ),
    Skill(
        tool="track_order",
        needs=("my_orders",),
        asks=(
            r"track|status of (?:my|the) (?:last )?order|(?:my )?(?:last|latest|newest) order",
            r"where(?:'s| is| are) (?:my|the) (?:order|parcel|package|delivery|stuff)",
            r"(?:when|will|has) .*(?:order|parcel|package|delivery)\b.*(?:arrive|come|delivered|shipped|here)",
            r"(?:order|parcel|package) (?:number |no |nr )?#?\d{3,6}",
            r"(?:is|has|was) it (?:\w+ )?(?:delivered|shipped|sent|arrived|here)|on its way",
            r"where is (?:it|that order)|what(?:'s| is) in (?:it|that order)",
        ),
        play=track_order,
        example="Where is my parcel?",
        opening="I'll ask the carrier's desk.",
    ),
    Skill(
        tool="my_orders",
        asks=(
            r"my (?:\w+ )?(?:orders|purchases|order history)",
            r"(?:what|which) (?:\w+ )?(?:have|did) i (?:order|buy|bought|ordered)|what i ordered",
        ),
        play=my_orders,
        example="Show my orders",
        opening="I'll open your orders.",
    ),
    Skill(
        tool="return_policy",
        asks=(
            r"returns?|refunds?|exchange|money back|take back",
            r"(?:send|bring|give) (?:\w+ )*back",
            r"warranty|guarantee|repairs?",
        ),
        play=return_policy,
        example="Can I return boots that I have worn?",
        opening="I'll look into our rules.",
    ),
    Skill(
        tool="opening_hours",
        asks=(
            r"open(?:ing)?(?: hours| times)?|clos(?:e|ed|ing)|hours|what time",
            r"address(?:es)?|where (?:is|are) (?:your|the) (?:\w+ )?(?:stores?|shops?)",
        ),
        play=opening_hours,
        example="When are you open on Saturday in Berlin?",
        opening="I'll look at the door.",
    ),
    Skill(
        tool="shipping_cost",
        asks=(r"shipping|postage|ship|deliver(?:y)?|express", r"send (?:it |this |that )?to"),
        play=shipping_cost,
        example="What does shipping to Austria cost?",
    ),
    Skill(
        tool="compare_products",
        needs=("find_products",),
        asks=(
            r"compare|comparison|difference between|differ|versus|vs|side by side",
            r"(?:which|what) (?:one )?(?:is|of)\b.*(?:lighter|cheaper|better|warmer|heavier)",
        ),
        play=compare_products,
        example="Compare the Trek 50 and the Trek 65",
        opening="I'll put them side by side.",
    ),
    Skill(
        tool="plan_kit",
        asks=(
            r"what (?:do|would|should|will) (?:i|we|you|\w+ (?:people|persons|of us)) (?:need|pack|take|bring)",
            r"pack(?:ing)? list|equip|full kit|kit for|gear for (?:\w+ )?(?:trip|nights?|people|persons|hike)",
            r"everything (?:i|we) need|whole set",
        ),
        play=plan_kit,
        example="What do two people need for autumn under 1200 euros?",
        opening="I'll put a kit together.",
    ),
    Skill(
        tool="product_reviews",
        needs=("find_products",),
        asks=(
            r"reviews?|ratings?|opinions?|stars|is .* any good",
            r"what do (?:people|buyers|customers|others) (?:say|think)",
        ),
        play=product_reviews,
        example="What do people say about the Lumen 400?",
        opening="I'll read what buyers wrote.",
    ),
    IN_STOCK,
    Skill(
        tool="stock_for",
        asks=(
            r"in stock|available|availability|sold out|how many .*(?:have|there|left)",
            r"pick (?:\w+ )*up|collect",
            r"(?:have|got|is|are|get) .*(?:berlin|hamburg|munich|münchen|leipzig|rotterdam)",
        ),
        play=stock_for,
        example="Is the Squall rain jacket in stock in Berlin?",
        opening="I'll ask the warehouse.",
    ),
    Skill(
        tool="list_categories",
        asks=(
            r"what (?:do|can|all) (?:\w+ )*(?:sell|have|buy|offer|get)(?: here)?$",
            r"categor(?:y|ies)|assortment|product range|what kinds? of",
        ),
        play=list_categories,
        example="What do you sell?",
    ),
    DETAILS,
    FIND,
    NAMED,
)

script = Brain(
    skills=_SKILLS,
    greeting="Hello! I'm the concierge of Birch & Cairn.",
    refused=_refused,
    limits={
        r"(?:cancel|change|delete) (?:my|the|an|this|that)? ?order|cancel|place an order|checkout|pay|buy it for me": (
            "I can only look things up, and propose to hold an order or to send it elsewhere: I cannot place, cancel "
            "or otherwise change orders. Our support can."
        ),
    },
)
