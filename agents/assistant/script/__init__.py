"""What the assistant's script understands; the modules beside this one say how it answers."""

from __future__ import annotations

from ..._shared.script.brain import Brain, Skill
from ..._shared.script.products import DETAILS, FIND, NAMED
from ..._shared.script.proposals import ENDINGS
from ..._shared.script.words import GOODS
from .changes import CHANGES
from .figures import best_sellers, compare_sales, returns_overview, sales_report
from .lookups import LOOKUPS
from .orders import find_orders, late_shipments, order_details
from .people import customer_details, find_customers
from .shelves import low_stock, stock_levels

__all__ = ["script"]


def _refused(tool: str) -> str:
    what = tool.replace("_", " ")
    verb = "use" if tool in _CHANGING else "see the"
    return (
        f"Your account may not {verb} {what}: that is for the operator. Sign in as operator to ask me again."
    )


_LIMIT = (
    "That I cannot do: I can only look things up, and propose changes of money, prices, stock, orders and texts to an "
    "operator, where your account may."
)

_CHANGING = frozenset(skill.tool for skill in CHANGES)
_SKILLS = (
    ENDINGS,
    *CHANGES,
    *LOOKUPS,
    Skill(
        tool="sales_report",
        asks=(
            r"compare .*(?:sales|turnover|revenue|months?|weeks?)",
            r"(?:sales|turnover|revenue).*(?:compared|versus|vs|against)",
        ),
        play=compare_sales,
        example="Compare sales this month with last month",
        opening="I'll run both reports.",
    ),
    Skill(
        tool="best_sellers",
        asks=(
            r"best ?-?sell(?:ers?|ing)|sells? (?:the )?(?:best|most)|sold (?:the )?(?:best|most)|most popular",
            r"top (?:\d+ )?(?:products?|sellers?|articles)",
        ),
        play=best_sellers,
        example="What sold best this year?",
        opening="I'll count.",
    ),
    Skill(
        tool="returns_overview",
        asks=(r"returns?|returned|refunds?|sent back|c[oa]me back",),
        play=returns_overview,
        example="Why do goods come back?",
    ),
    Skill(
        tool="sales_report",
        asks=(
            r"sales|turnover|revenue|figures",
            r"how much (?:did|have) we (?:sell|sold|make|made|earn|earned)|how did we do|how(?:'s| is) business",
        ),
        play=sales_report,
        example="How were sales last month?",
        opening="I'll run the report.",
    ),
    Skill(
        tool="low_stock",
        asks=(
            r"(?:running|run|runs|is|are|getting) (?:out|low|short)|low (?:on |in )?stock|low|shortages?",
            r"re-?order|restock|need to order|should (?:we|i) order",
        ),
        play=low_stock,
        example="What is running low in Leipzig?",
        opening="I'll walk through the warehouses.",
    ),
    Skill(
        tool="late_shipments",
        asks=(r"late|overdue|delayed|delays?|stuck|missing (?:parcels?|packages?)|should have arrived",),
        play=late_shipments,
        example="Which parcels are late?",
        opening="I'll check with the carriers.",
    ),
    Skill(
        tool="order_details",
        asks=(r"order (?:number |no |nr )?#?\d{3,6}|#\d{3,6}|\d{4,6}$", r"(?:that|this) order|where is it"),
        play=order_details,
        example="What is in order 1111, and where is it?",
        opening="I'll open it.",
    ),
    Skill(
        tool="customer_details",
        needs=("find_customers",),
        asks=(
            r"what (?:has|have|did|does) .*(?:bought|buy|purchased?|order(?:ed)?|spent|spend)",
            r"(?:who is|tell me about) (?:the )?customer|(?:purchase )?history of|purchase history",
        ),
        play=customer_details,
        example="What has Anna Berg bought?",
        opening="I'll look up the customer.",
    ),
    Skill(
        tool="find_orders",
        asks=(r"orders",),
        play=find_orders,
        example="Which orders are waiting to be shipped?",
        opening="I'll go through the orders.",
    ),
    Skill(
        tool="find_customers",
        asks=(r"customers?|clients?|e-?mail (?:address )?of|who (?:lives|is)",),
        play=find_customers,
        example="Find customers from Munich",
    ),
    Skill(
        tool="stock_levels",
        needs=("find_products",),
        asks=(
            r"stock|inventory|warehouses?",
            rf"where (?:is|are) .*(?:{GOODS})",
            r"how many .*(?:have|left|are there|lie|each|every)",
        ),
        play=stock_levels,
        example="How many Fjell 2 are in each warehouse?",
        opening="I'll count the shelves.",
    ),
    DETAILS,
    FIND,
    NAMED,
)

script = Brain(
    skills=_SKILLS,
    greeting="Hello! I'm the assistant of Birch & Cairn's staff.",
    refused=_refused,
    limits={
        r"^(?:please |can you |could you )?(?:cancel|refund|change|delete|update|ship|set|reorder|pay)": _LIMIT,
        r"(?:cancel|refund) (?:the |this |that )?(?:order|return)|give .*refund": _LIMIT,
    },
)
